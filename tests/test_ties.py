"""Every equation has lines that compute it and tests that prove it, or the site is not built."""

import ast
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from small_site import SmallSite

from literate import ties
from literate.calls import calls, symbols
from literate.listing import listing, without_docstrings
from literate.tree import SiteError


@pytest.fixture
def small(tmp_path) -> SmallSite:
    return SmallSite(tmp_path)


@pytest.fixture(scope="module")
def index() -> ties.Index:
    return ties.read(ROOT)


# ---- this project


def test_the_tie_of_the_cut(index):
    """One line of `split_ids` computes it, `main` calls it, three tests prove it."""
    assert [tie.symbol for tie in index.computes("cut")] == ["data.split_ids"]
    assert [call.caller for call in index.callers("data.split_ids")] == ["train.main"]
    assert [tie.symbol for tie in index.proves("cut")] == [
        "test_data.test_the_cut_is_the_floor_of_one_minus_rho_times_n",
        "test_data.test_rho_is_the_decimal_that_is_written_where_binary_floats_cut_one_too_early",
        "test_data.test_the_cut_is_exact_for_every_fraction_of_four_decimals",
    ]


def test_only_tests_are_listed_as_tests(index):
    """`eval_windows` is called in tests, and also by test_pages as it is loaded."""
    callers = {call.caller for call in index.callers("windows.eval_windows", tests=True)}
    assert "test_windows.test_every_target_is_scored_exactly_once" in callers
    assert all(caller.partition(".")[2].startswith("test_") for caller in callers)


def test_properties_are_called_by_who_reads_them(index):
    """`Receipt.perplexity` reads `nats_per_token`, and a test reads the results of `evaluate`."""
    name = "scoring.Receipt.nats_per_token"
    assert "scoring.Receipt.perplexity" in [call.caller for call in index.callers(name)]
    tests = [call.caller for call in index.callers("scoring.Receipt.perplexity", tests=True)]
    assert any(name.startswith("test_scoring.test_") for name in tests)


# ---- a small site, whole and broken


def test_a_site_whose_ties_hold_is_built(small):
    """The tag stands at the end of a statement over five lines: the tie is the whole statement."""
    html = small.html()
    assert '<td><a href="../source/data/#L7">data.py:7</a></td>' in html
    assert "<code>cut = int((1 - fraction) * len(ids))</code>" in html
    assert '<td><a href="../source/train/#L8">train.py:8</a></td>' in html
    assert '<td><a href="../source/tests/test_data/#L11">test_data.py:11</a></td>' in html
    assert "<code>assert (len(train), len(val)) == (6, 2)</code>" in html
    assert "Tested by <a" in html and "a quarter of eight is two" in html


def test_the_tag_of_a_line_leads_back_to_its_equation(small):
    html = small.html("source/data")
    assert '<span class="c"># eq: <a href="../../split/#eq-cut">cut</a></span>' in html


def test_a_copy_of_a_formula_is_a_role_of_its_own(small):
    small.change(
        "train.py",
        "return split",
        "assert int(0.75 * 8) == 6  # eq: cut (inline)\n    return split",
    )
    html = small.html()
    assert '<td>Written inline</td>\n<td><a href="../source/train/#L8">train.py:8</a></td>' in html


BROKEN = {
    "an equation without a line": (
        ("data.py", "  # eq: cut", ""),
        "equation cut (split.md) has no line",
    ),
    "an equation whose only line is a copy": (
        ("data.py", "eq: cut", "eq: cut (inline)"),
        "equation cut (split.md) has no line",
    ),
    "an equation without a test": (
        ("tests/test_data.py", "  # eq: cut", ""),
        "equation cut (split.md) has no test",
    ),
    "a tag without an equation": (
        ("docs/split.md", "/// equation | cut", "/// equation | split"),
        "data.py:7: no page has the equation cut",
    ),
    "a tag misspelled": (("data.py", "eq: cut", "eq: cutt"), "cutt; is it cut?"),
    "a tag that cannot be read": (
        ("data.py", "eq: cut", "eq: the cut"),
        "data.py:7: this tag cannot be read: 'eq: the cut'",
    ),
    "a tag at no statement": (
        ("data.py", '"""Both sides."""', '"""Both sides."""\n    # eq: cut'),
        "data.py:6: this tag stands at no statement",
    ),
    "a tag in a test file outside a test": (
        ("tests/test_data.py", "import pytest", "import pytest  # eq: cut"),
        "tests/test_data.py:3: this tag stands in no test",
    ),
    "a marker without a line": (
        ("tests/test_data.py", '"cut"', '"cut", "other"'),
        "tests/test_data.py:9: marked other, but no line of it is tagged so",
    ),
    "a line without a marker": (
        ("tests/test_data.py", '@pytest.mark.eq("cut")\n', ""),
        "a line is tagged cut, but there is no marker",
    ),
    "a name on two pages": (
        ("docs/index.md", "/// stated | chain-rule", "/// equation | cut"),
        "split.md: equation cut stands on index.md already",
    ),
    "a stated formula that is computed": (
        ("docs/split.md", "/// equation | cut", "/// stated | cut"),
        "data.py:7: cut is stated on split.md, not computed",
    ),
    "unknown LaTeX in a block": (
        ("docs/split.md", "\\lfloor", "\\lfluor"),
        'Unknown command "\\lfluor"',
    ),
    "unknown LaTeX in a sentence": (("docs/split.md", "$\\rho$", "$\\rhoo$"), '"\\rhoo"'),
    "an equation without a formula": (
        ("docs/index.md", "p(a, b) = p(a)\\, p(b \\mid a)\n", ""),
        "block stated | chain-rule holds no formula",
    ),
    "an unknown symbol in a code block": (
        ("docs/split.md", "code | data.split_ids", "code | data.split_idz"),
        "there is no symbol data.split_idz; is it data.split_ids?",
    ),
    "an unknown symbol in a used block": (
        ("docs/split.md", "used | data.split_ids", "used | data.cut"),
        "there is no symbol data.cut",
    ),
    "an unknown file in a source block": (
        ("docs/source/data.md", "source | data.py", "source | date.py"),
        "data.py has no page",
    ),
    "a file without a page": (
        ("docs/source/train.md", "/// source | train.py\n///", ""),
        "train.py has no page: source/train.md with a block `source | train.py`",
    ),
    "a file on another page": (
        ("docs/source/train.md", "train.py", "data.py"),
        "source/train.md shows data.py, whose page is source/data.md",
    ),
    "a block of an unknown name": (
        ("docs/split.md", "/// used", "/// uesd"),
        "this block cannot be read (its name, its options, its end?): /// uesd | data.split_ids",
    ),
    "an option that no block has": (
        ("docs/index.md", "    title:", "    titel:"),
        "this block cannot be read (its name, its options, its end?): /// stated | chain-rule",
    ),
    "a block that is never closed": (
        ("docs/split.md", "/// used | data.split_ids\n///", "/// details | Answer\nText."),
        "block details | Answer is never closed",
    ),
    "text where a block shows none": (
        ("docs/split.md", "/// used | data.split_ids", "/// used | data.split_ids\nText."),
        "block used | data.split_ids shows no text: 'Text.'",
    ),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_tie_ends_the_build_by_its_name(small, change, message):
    small.change(*change)
    with pytest.raises(SiteError) as told:
        small.build()
    assert message in told.value.message


LINKS = {
    "a missing page": (
        "split.md)",
        "spilt.md)",
        "contains a link 'spilt.md', but the target is not found",
    ),
    "a missing line": ("data.md#L7", "data.md#L9", "does not contain an anchor '#L9'"),
    "a missing equation": ("#eq-cut", "#eq-cat", "does not contain an anchor '#eq-cat'"),
}


@pytest.mark.parametrize(("old", "new", "message"), LINKS.values(), ids=LINKS)
def test_mkdocs_refuses_a_link_that_leads_nowhere(small, caplog, old, new, message):
    small.change("docs/index.md", old, new)
    with pytest.raises(SystemExit):
        small.build()
    assert message in caplog.text


@pytest.mark.parametrize("kind", ["figure", "table", "widget"])
def test_what_no_registry_has_is_refused(small, kind):
    small.add(f"/// {kind} | nothing\nA caption.\n///")
    with pytest.raises(SiteError, match=f"there is no {kind} nothing"):
        small.build()


def test_an_unknown_value_is_refused(small):
    small.add("It has {{ corpus.idz }} ids.")
    with pytest.raises(SiteError, match=r"there is no value corpus.idz; is it corpus.ids\?"):
        small.build()


def test_all_that_is_wrong_is_told_at_once(small):
    small.change("data.py", "  # eq: cut", "")
    small.change("tests/test_data.py", '"cut"', '"cut", "other"')
    with pytest.raises(SiteError) as told:
        small.build()
    assert len(told.value.message.splitlines()) == 2


# ---- the same from the command line

ENVIRONMENT = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}


def mkdocs_build(small) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=small.root, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.slow
def test_a_whole_site_is_built_from_the_command_line(small):
    assert mkdocs_build(small).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_tie_is_told_without_a_traceback(small, change, message):
    small.change(*change)
    done = mkdocs_build(small)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "message"), LINKS.values(), ids=LINKS)
def test_a_broken_link_is_told_from_the_command_line(small, old, new, message):
    small.change("docs/index.md", old, new)
    done = mkdocs_build(small)
    assert done.returncode == 1
    assert message in done.stderr


# ---- the parts


def test_the_index_is_read_once_a_page_and_made_once_a_build(small, monkeypatch):
    """Two pages and three source pages, with eight blocks."""
    read, made = [], ties._read.cache_info().misses
    monkeypatch.setattr(ties, "read", lambda root, real=ties.read: read.append(root) or real(root))
    small.build()
    assert len(read) == 5
    assert ties._read.cache_info().misses == made + 1


def test_equations_are_in_the_order_of_the_navigation(index):
    """The split comes third in it, and twelfth in the alphabet of pages."""
    assert next(iter(index.equations)) == "cut"


def test_a_block_in_a_fence_is_an_example_of_one(small):
    small.add("```\n/// equation | cut\n1\n///\n```")
    assert "/// equation | cut" in small.html()


def test_a_changed_file_is_seen(small):
    """A change that leaves the size as it was."""
    before = ties.read(small.root)
    small.change("data.py", "Both sides", "Each sides")
    assert ties.read(small.root) is not before
    assert ties.read(small.root) is ties.read(small.root)


CALLER = """\
import scores
from data import Both, make, split as cut
def main(both: Both, other):
    made = make()
    made.first(), both.size, other.first()
    cut(1), scores.mean(2), made.make_again().size
    both.size()
"""
CALLED = """\
class Both:
    @property
    def size(self): return self.first()
    def first(self): ...
    def make_again(self) -> "Both": ...
def make() -> Both: return Both()
def split(n): ...
"""


def found_calls(path: str, **texts: str) -> set[tuple[str, int]]:
    """Target and line of each call in a file of a project of these modules."""
    modules = {name: (f"{name}.py", ast.parse(text)) for name, text in texts.items()}
    known = {}
    for name, (file, tree) in modules.items():
        known |= symbols(name, file, tree)
    return {(call.target, call.line) for call in calls(modules, known) if call.path == path}


def test_calls_are_found_by_imports_and_plain_types():
    """`other` has no known type, so its `first` is left out; to read a property is to call it."""
    found = found_calls("train.py", data=CALLED, scores="def mean(n): ...", train=CALLER)
    assert found == {
        ("data.make", 4),
        ("data.Both.first", 5),
        ("data.Both.size", 5),
        ("data.split", 6),
        ("scores.mean", 6),
        ("data.Both.make_again", 6),
        ("data.Both.size", 6),
        ("data.Both.size", 7),
    }


def test_a_fixture_gives_its_type_to_the_tests_that_ask_for_it():
    gives = "import pytest\nfrom data import Both\n@pytest.fixture\ndef both() -> Both: ..."
    asks = "def test_it(both):\n    assert both.first()"
    found = found_calls("test_data.py", data=CALLED, conftest=gives, test_data=asks)
    assert found == {("data.Both.first", 2)}


def test_a_listing_leaves_docstrings_out_and_keeps_the_numbers(small):
    """`split_ids` is lines 4 to 8; its docstring and the blank line after it are 5 and 6."""
    assert without_docstrings(ties.read(small.root), "data.split_ids") == [4, 7, 8]


def test_a_listing_has_the_text_of_the_file_and_one_anchor_a_line(index):
    file = index.file("data.py")
    lines = list(range(1, len(file.lines) + 1))
    rows = listing(index, file, lines, "../", anchors=True).findall("pre/span")
    assert [row.get("id") for row in rows] == [f"L{n}" for n in lines]
    texts = [
        "".join(row.itertext()).removeprefix(f"{n:>3}") for n, row in zip(lines, rows, strict=True)
    ]
    assert "".join(texts) == file.text
