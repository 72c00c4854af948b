"""The site as it is built: its blocks, its links, its weight, and how it does in a browser."""

import functools
import http.server
import io
import json
import os
import re
import subprocess
import sys
import threading
import tokenize
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from conftest import ROOT
from small_site import SmallSite

from literate import figures, tables, ties, values, widgets
from literate.listing import coloured
from literate.maths import mathml
from literate.tree import SiteError

LESSONS = [
    "text-to-ids",
    "split",
    "windows",
    "window-count",
    "batches",
    "next-token",
    "model",
    "run",
    "token-files",
    "random-windows",
    "loaders",
    "evaluation",
    "resume",
    "documents",
    "packing",
    "isolation",
    "lineage",
    "prepare",
    "bijection",
    "devices",
]
ENVIRONMENT = os.environ | {"NO_MKDOCS_2_WARNING": "1"}


@pytest.fixture
def small(tmp_path) -> SmallSite:
    return SmallSite(tmp_path)


# ---- blocks


def test_a_figure_is_drawn_in_the_page_with_its_links_checked(small, monkeypatch):
    box = '<a href="source/data.md#L7"><text>*</text></a>'
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{box}</svg>'
    monkeypatch.setitem(figures.FIGURES, "box", lambda: drawing)
    small.add("/// figure | box\nA box with $N$ ids.\n///")
    html = small.html()
    assert (
        '<svg data-search-exclude=""><a href="../source/data/#L7"><text>*</text></a></svg>' in html
    )
    assert "<figcaption>\n<p>A box with <math><mi>N</mi></math> ids.</p>" in html


def test_a_figure_that_is_no_xml_is_refused(small, monkeypatch):
    monkeypatch.setitem(figures.FIGURES, "box", lambda: "<svg><br></svg>")
    small.add("/// figure | box\nA box.\n///")
    with pytest.raises(SiteError, match="this is not well-formed"):
        small.build()


def test_a_figure_without_a_caption_is_refused(small, monkeypatch):
    monkeypatch.setitem(figures.FIGURES, "box", lambda: "<svg />")
    small.add("/// figure | box\n///")
    with pytest.raises(SiteError, match=r"block figure \| box needs a caption"):
        small.build()


def test_the_cells_of_a_table_are_markdown(small, monkeypatch):
    monkeypatch.setitem(tables.TABLES, "sizes", lambda: (["$T$", "Code"], [["4", "`a < b`"]]))
    small.add("/// table | sizes\nSizes.\n///")
    html = small.html()
    assert '<th scope="col"><math><mi>T</mi></math></th>' in re.sub(r"\s*\n\s*", "", html)
    assert "<td>4</td>\n<td><code>a &lt; b</code></td>" in html


def test_a_table_without_a_link_can_be_reached_by_keyboard(small):
    small.add("| T |\n|---|\n| 4 |")
    assert small.html().count('<table tabindex="0">') == 1


def test_a_widget_is_taken_as_it_is(small, monkeypatch):
    monkeypatch.setitem(widgets.WIDGETS, "try", lambda: "<input name='n'> & more")
    small.add("/// widget | try\n///")
    assert "<input name='n'> & more" in small.html()


def test_a_value_stands_in_the_sentence_and_code_is_left_alone(small, monkeypatch):
    monkeypatch.setitem(values.VALUES, "corpus.ids", lambda: "1,234")
    small.add("It has {{ corpus.ids }} ids, `{{ corpus.ids }}` says, and costs \\$5 ($5$).")
    html = small.html()
    assert "has <span>1,234</span> ids, <code>{{ corpus.ids }}</code> says" in html
    assert "costs $5 (<math><mn>5</mn></math>)." in html


def test_a_block_named_in_code_is_text(small):
    small.add("Begin with `/// equation | cut`.")
    assert "<code>/// equation | cut</code>" in small.html()


def test_an_example_in_a_docstring_gets_a_fence_once(small):
    small.add(">>> 1 + 1\n2\n\n```pycon\n>>> 2 + 2\n4\n```")
    html = small.html()
    assert html.count("<pre>") == 2
    assert "<blockquote>" not in html
    assert "```" not in html


def test_the_index_of_equations_has_lines_tests_and_what_is_only_stated(small):
    small.add("/// equations\n///")
    html = small.html()
    assert '<p><a href="../#eq-chain-rule">The chain rule</a></p>' in html
    assert "<td>stated, not computed</td>" in html
    assert '<td><a href="../source/data/#L7">data.py:7</a></td>' in html


def test_symbols_name_their_lines_and_their_page(small):
    small.add("/// symbols\n///")
    small.change("train.py", "def main", "def _hidden(): ...\n\n\ndef main")
    small.write("docs/api.md", '# API\n\n<a id="train.main"></a>')
    html = small.html()
    assert '<td><code>split_ids</code></td>\n<td><a href="../source/data/#L4">4–8</a></td>' in html
    assert '<a href="./">The split</a>' in html
    assert '<a href="../api/#train.main">API</a>' in html
    assert "_hidden" not in html


def test_the_list_of_sources_says_what_each_is(small):
    small.write("docs/source/index.md", "# Source\n\n/// sources\n///")
    html = small.html("source")
    assert '<a href="tests/test_data/">tests/test_data.py</a></td>\n<td>The one test.</td>' in html


def test_floor_brackets_stretch_and_no_entity_of_html_is_left():
    """`\\max(` gives an invisible ⁡, which the converter writes as an entity that XML has not."""
    made = mathml(r"\left\lfloor \max(1) \right\rfloor", display=True)
    assert made.startswith('<math display="block"><mrow><mo>⌊</mo>')
    assert "\N{FUNCTION APPLICATION}" in made
    assert "&" not in made


@pytest.mark.parametrize("path", ["tokenizer.py", "literate/listing.py", "tests/test_readers.py"])
def test_colours_lose_no_character_and_find_the_strings_and_comments_of_python(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = coloured(text)
    assert "\n".join("".join(part for _, part in line) for line in lines) == text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    wanted = [t.string for t in tokens if t.type in (tokenize.STRING, tokenize.COMMENT)]
    stretches = [part for line in lines for kind, part in line if kind in ("s", "c")]
    assert stretches == [part for string in wanted for part in string.split("\n") if part]


# ---- the whole site


@dataclass
class Page(HTMLParser):
    """What a page holds."""

    path: Path
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif "src" in found or "href" in found:
            self.loads.append(found.get("src") or found.get("href"))

    def targets(self) -> list[tuple[Path, str]]:
        """File and anchor of each link that stays on the site."""
        inside = [link for link in self.links if not urlsplit(link).scheme]
        parts = [urldefrag(link) for link in inside]
        return [
            ((self.path.parent / unquote(url)).resolve() if url else self.path, unquote(anchor))
            for url, anchor in parts
        ]


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The real site, built strictly."""
    folder = tmp_path_factory.mktemp("site").resolve()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site) -> dict[str, Page]:
    found = {path.relative_to(site).as_posix(): Page(path) for path in site.glob("**/*.html")}
    del found["404.html"]  # its links are for a server's root
    return found


def test_every_page_in_docs_is_on_the_site(pages):
    names = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").glob("**/*.md")}
    assert {name.with_suffix(".html").as_posix() for name in names} == set(pages)


def test_every_link_leads_to_a_page_and_an_anchor(pages):
    known = {page.path: set(page.ids) for page in pages.values()}
    for page in pages.values():
        for path, anchor in page.targets():
            assert path in known, f"{page.path.name} links to {path}"
            assert not anchor or anchor in known[path], f"{page.path.name}: {path.name}#{anchor}"


def test_no_anchor_stands_twice_on_a_page(pages):
    for page in pages.values():
        assert len(page.ids) == len(set(page.ids)), page.path.name


def test_nothing_is_loaded_from_outside(site, pages):
    for page in pages.values():
        assert [url for url in page.loads if urlsplit(url).netloc] == []
    for path in site.glob("**/*.css"):
        css = path.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", css) == [], path.name


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_under_40_kib_of_html(site, lesson):
    assert (site / f"{lesson}.html").stat().st_size < 40 * 1024


def test_a_source_page_has_an_anchor_a_line(pages):
    for path, file in ties.read(ROOT).files.items():
        ids = pages[ties.source_page(path).replace(".md", ".html")].ids
        lines = [name for name in ids if re.fullmatch(r"L\d+", name)]
        assert lines == [f"L{n}" for n in range(1, len(file.lines) + 1)], path


def test_each_tie_is_linked_in_both_directions(pages):
    index = ties.read(ROOT)
    for tie in index.ties:
        page = pages[index.equations[tie.equation].page.replace(".md", ".html")]
        source = pages[ties.source_page(tie.path).replace(".md", ".html")]
        assert (source.path, f"L{tie.line}") in page.targets()
        assert (page.path, f"eq-{tie.equation}") in source.targets()


def test_the_search_knows_the_lessons_and_not_the_sources(site):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {urldefrag(entry["location"])[0] for entry in index["docs"]}
    assert {f"{lesson}.html" for lesson in LESSONS} <= found
    assert [name for name in found if name.startswith("source/")] == []


# ---- in a browser

SIZES = {1280: 900, 390: 844}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def served(site):
    """The address of the site on this machine."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def tab(browser):
    """A page in a window as wide as a desk's, in light colours."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        yield context.new_page()


def test_no_request_leaves_the_machine(site, served, tab):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    for start in (served, f"{site.as_uri()}/"):
        tab.goto(f"{start}windows.html", wait_until="networkidle")
        tab.fill("[name=query]", "window")
    assert any(url.endswith("batches-math.woff2") for url in asked)
    assert [url for url in asked if not url.startswith((served, "file:", "data:", "blob:"))] == []


def test_the_first_view_is_under_450_kib(served, tab):
    """All that a page needs to be seen; the search loads its script and its index after that."""
    sizes = {}
    tab.on("response", lambda response: sizes.update({response.url: len(response.body())}))
    tab.goto(f"{served}windows.html", wait_until="networkidle")
    seen = [size for url, size in sizes.items() if "/search" not in url]
    assert len(seen) > 5
    assert sum(seen) < 450 * 1024


def test_search_finds_a_word_in_a_site_opened_as_a_file(site, tab):
    tab.goto(f"{site.as_uri()}/index.html")
    tab.click("[name=query]")
    tab.keyboard.type("perplexity")
    tab.wait_for_selector(".md-search-result__link[href*='model.html']")


def test_formulas_are_set_in_the_font_of_the_site(served, tab):
    """The brackets of the window count reach as high as its fraction: over 30 pixels."""
    tab.goto(f"{served}window-count.html", wait_until="networkidle")
    assert tab.evaluate("document.fonts.check('16px \"Batches Math\"')")
    brackets = tab.locator("#eq-window-count mo").all()
    assert max(bracket.bounding_box()["height"] for bracket in brackets) > 30


def violations(browser, address: str, names: list[str], width: int, colours: str) -> list[str]:
    """What axe finds on the pages, and pages that scroll sideways."""
    import axe_playwright_python

    axe = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    size = {"width": width, "height": SIZES[width]}
    found = []
    with browser.new_context(viewport=size, color_scheme=colours) as context:
        tab = context.new_page()
        for name in names:
            tab.goto(address + name)
            tab.evaluate(axe)
            told = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            found += [f"{name}: {v['id']}: {v['nodes'][0]['html'][:200]}" for v in told]
            if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{name}: scrolls sideways")
    return found


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (390, "dark")])
def test_two_pages_have_no_violation_and_do_not_scroll_sideways(browser, served, width, colours):
    names = ["windows.html", "source/files.html"]
    assert violations(browser, served, names, width, colours) == []


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_no_page_has_a_violation_or_scrolls_sideways(browser, served, pages, width, colours):
    assert violations(browser, served, sorted(pages), width, colours) == []
