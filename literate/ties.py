"""The index of ties: which line computes an equation, who calls it, which test proves it.

A line carries the tag `eq: cut` in a comment, a test also the marker `@pytest.mark.eq("cut")`, and
a page the equation itself. `read` finds all three and refuses what does not fit together.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from literate.calls import Call, Symbol, calls, symbols
from literate.sources import File, source_page
from literate.tree import SiteError

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1 *$", re.M | re.S)
_HEAD = re.compile(r"^/{3,} *(\w+) *\| *(\S+) *\n((?: {4}.*\n)*)", re.M)
_END = re.compile(r"^/{3,} *$", re.M)


@dataclass(frozen=True)
class Tie:
    """A statement that carries the tag of an equation."""

    equation: str
    path: str
    line: int
    last: int
    code: str
    symbol: str
    inline: bool = False


@dataclass(frozen=True)
class Equation:
    """An equation as a page holds it; `kind` is `equation` or `stated`."""

    name: str
    kind: str
    page: str
    title: str
    latex: str


@dataclass
class Index:
    """Files, ties, equations, symbols and calls of one state of the project."""

    root: Path
    files: dict[str, File]
    pages: dict[str, str]
    equations: dict[str, Equation] = field(default_factory=dict)
    ties: list[Tie] = field(default_factory=list)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)

    def file(self, path: str) -> File:
        """The file of that path, or a refusal."""
        return known(path, self.files, "file")

    def symbol(self, name: str) -> Symbol:
        """The symbol of that name, or a refusal."""
        return known(name, self.symbols, "symbol")

    def title(self, page: str) -> str:
        """The heading of a page."""
        heading = re.search(r"^# (.+)", self.pages[page], re.M)
        return heading[1].strip() if heading else page

    def computes(self, equation: str) -> list[Tie]:
        """The statements of modules that carry its tag."""
        ties = [tie for tie in self.ties if tie.equation == equation]
        return [tie for tie in ties if not self.files[tie.path].is_test]

    def proves(self, equation: str) -> list[Tie]:
        """The statements of tests that carry its tag."""
        ties = [tie for tie in self.ties if tie.equation == equation]
        return [tie for tie in ties if self.files[tie.path].is_test]

    def tie(self, equation: str, call: Call) -> Tie:
        """The statement of a call."""
        return Tie(equation, call.path, *self.file(call.path).statement(call.line), call.caller)

    def callers(self, symbol: str, *, tests: bool = False) -> list[Call]:
        """Who calls the symbol: functions of modules, or tests; each once, by its first call."""
        first: dict[str, Call] = {}
        for call in self.calls:
            is_test = ".test_" in call.caller
            wanted = is_test if tests else not self.files[call.path].is_test
            if wanted and call.target == symbol:
                first.setdefault(call.caller, call)
        return list(first.values())


def known(name: str, names: dict[str, Any], kind: str) -> Any:
    """What stands under that name, or a refusal."""
    if name not in names:
        near = get_close_matches(name, names, 1)
        raise SiteError(f"there is no {kind} {name}" + (f"; is it {near[0]}?" if near else ""))
    return names[name]


def read(root: Path = ROOT) -> Index:
    """The index of the project at `root`; it is made anew only when a file has changed."""
    globs = ("mkdocs.yml", "*.py", "literate/*.py", "tests/*.py", "docs/**/*.md")
    found = [path for glob in globs for path in sorted(root.glob(glob))]
    stamp = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in found)
    return _read(root, stamp)


@lru_cache(maxsize=2)
def _read(root: Path, stamp: tuple[tuple[Path, int, int], ...]) -> Index:
    texts = {path: path.read_text(encoding="utf-8") for path, _, _ in stamp}
    sources = {p.relative_to(root).as_posix(): t for p, t in texts.items() if p.suffix == ".py"}
    docs = root / "docs"
    pages = {p.relative_to(docs).as_posix(): t for p, t in texts.items() if p.suffix == ".md"}
    order = {
        page: n for n, page in enumerate(re.findall(r"[\w/-]+\.md", texts[root / "mkdocs.yml"]))
    }
    pages = dict(sorted(pages.items(), key=lambda item: order.get(item[0], len(order))))
    index = Index(root, {path: File(path, text) for path, text in sources.items()}, pages)
    wrong = [*_read_pages(index), *_read_tags(index)]
    for file in index.files.values():
        index.symbols |= symbols(file.module, file.path, file.tree)
    callers = [file for file in index.files.values() if file.is_test or "/" not in file.path]
    modules = {file.module: (file.path, file.tree) for file in callers}
    index.calls = calls(modules, index.symbols)
    wrong += [*_check_equations(index), *_check_tests(index), *_check_sources(index)]
    if wrong:
        raise SiteError("\n".join(wrong))
    return index


def blocks(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Kind, argument, options and body of each block in the text of a page, fences left out."""
    text = _FENCE.sub("", text)
    for head in _HEAD.finditer(text):
        end = _END.search(text, head.end())
        yield head[1], head[2], head[3], text[head.end() : end.start() if end else None]


def _read_pages(index: Index) -> Iterable[str]:
    for page, text in index.pages.items():
        for kind, name, options, body in blocks(text):
            if kind == "code" and page.count("/") == 0:
                index.shown.setdefault(name, page)
            elif kind in ("equation", "stated"):
                if name in index.equations:
                    yield f"{page}: equation {name} stands on {index.equations[name].page} already"
                title = re.search(r"^ *title: *(.+)", options, re.M)
                index.equations[name] = Equation(
                    name, kind, page, title[1].strip(" \"'") if title else name, body.strip()
                )


def _read_tags(index: Index) -> Iterable[str]:
    for file in index.files.values():
        if not file.tags:
            continue
        owners = [n for n in ast.walk(file.tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        for line, names in file.tags.items():
            place = file.statement(line)
            if place is None:
                yield f"{file.path}:{line}: this tag stands at no statement"
                continue
            around = [o for o in owners if o.lineno <= place[0] <= o.end_lineno]
            around.sort(key=lambda o: o.lineno)
            symbol = ".".join([file.module, *(o.name for o in around)])
            index.ties += [Tie(name, file.path, *place, symbol, inline) for name, inline in names]


def _check_equations(index: Index) -> Iterable[str]:
    for name, equation in index.equations.items():
        computes, proves = index.computes(name), index.proves(name)
        if equation.kind == "stated":
            for tie in computes + proves:
                yield f"{tie.path}:{tie.line}: {name} is stated on {equation.page}, not computed"
            continue
        if not any(not tie.inline for tie in computes):
            yield f"equation {name} ({equation.page}) has no line: tag the one that computes it"
        if not proves:
            yield f"equation {name} ({equation.page}) has no test: tag the line that proves it"
    for tie in index.ties:
        if tie.equation not in index.equations:
            near = get_close_matches(tie.equation, index.equations, 1)
            hint = f"; is it {near[0]}?" if near else ""
            yield f"{tie.path}:{tie.line}: no page has the equation {tie.equation}{hint}"


def _check_tests(index: Index) -> Iterable[str]:
    for file in index.files.values():
        if not file.is_test:
            continue
        inside = set()
        for test, marks in file.tests():
            lines = range(test.lineno, test.end_lineno + 1)
            tags = {name for n in lines for name, _ in file.tags.get(n, ())}
            inside.update(lines)
            for name in sorted(marks - tags):
                yield f"{file.path}:{test.lineno}: marked {name}, but no line of it is tagged so"
            for name in sorted(tags - marks):
                yield f"{file.path}:{test.lineno}: a line is tagged {name}, but there is no marker"
        for line in sorted(set(file.tags) - inside):
            yield f"{file.path}:{line}: this tag stands in no test"


def _check_sources(index: Index) -> Iterable[str]:
    shown = Counter()
    for page, text in index.pages.items():
        for kind, path, _, _ in blocks(text):
            if kind == "source":
                shown[path] += 1
                if page != source_page(path):
                    yield f"{page} shows {path}, whose page is {source_page(path)}"
    for path in index.files:
        if not shown[path]:
            yield f"{path} has no page: {source_page(path)} with a block `source | {path}`"
