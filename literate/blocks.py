"""The blocks that a page can hold."""

import importlib
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar
from xml.etree import ElementTree

from pymdownx.blocks.block import Block, type_string

from literate import ties
from literate.listing import listing, without_docstrings
from literate.maths import formula
from literate.ties import Call, Index, Tie, source_page
from literate.tree import UNSEARCHED, SiteError, code, element, joined, link, parsed, table

WIDEST = 96  # characters of a statement in a table; its link leads to the rest


def registered(module: str, registry: str, name: str) -> Any:
    """What the function of that name in `literate.module.REGISTRY` gives."""
    known = getattr(importlib.import_module(f"literate.{module}"), registry)
    return ties.known(name, known, registry.lower().removesuffix("s"))()


def line_link(path: str, line: int) -> ElementTree.Element:
    """A link to a line of a source page, named `data.py:74`."""
    return link(f"{path.removeprefix('tests/')}:{line}", f"{source_page(path)}#L{line}")


class LiterateBlock(Block):
    """A block with a name after the bar and nothing in it."""

    ARGUMENT = True

    def on_init(self) -> None:
        """Keep what is written in the block apart from what it shows."""
        self.text = ElementTree.Element("pre")

    def on_create(self, parent: ElementTree.Element) -> ElementTree.Element:
        """Make the element, with what the block shows."""
        made = self.make()
        parent.append(made)
        return made

    def on_end(self, block: ElementTree.Element) -> None:
        """Refuse text where none is shown."""
        if self.body:
            raise SiteError(f"block {self.NAME} | {self.argument} shows no text: {self.body!r}")

    def on_add(self, block: ElementTree.Element) -> ElementTree.Element:
        """The text goes there."""
        return self.text

    def on_markdown(self) -> str:
        """Leave the text as it is."""
        return "raw"

    @property
    def body(self) -> str:
        """What is written in the block."""
        return (self.text.text or "").strip()

    @property
    def index(self) -> Index:
        """The ties of the project."""
        return self.config["project"].index

    @abstractmethod
    def make(self) -> ElementTree.Element:
        """What the block shows."""


class Stated(LiterateBlock):
    """`/// stated | chain-rule`: a formula that nothing computes."""

    NAME = "stated"
    OPTIONS: ClassVar = {"title": ("", type_string)}

    def make(self) -> ElementTree.Element:
        """The card, with its anchor; the formula comes when the text is known."""
        title = element("p", self.options["title"] or self.argument, class_="title")
        return element("div", title, class_="equation", id=f"eq-{self.argument}")

    def on_end(self, block: ElementTree.Element) -> None:
        """Set the formula, and say what it is tied to."""
        if not self.body:
            raise SiteError(f"block {self.NAME} | {self.argument} holds no formula")
        shown = formula(self.body, display=True)
        block.append(element("div", shown, class_="formula", tabindex="0", **UNSEARCHED))
        block.append(self.tied())

    def tied(self) -> ElementTree.Element:
        """That nothing computes it."""
        return element("p", "stated, not computed", class_="stated")


class Equation(Stated):
    """`/// equation | cut`: a formula, the lines that compute it and those that prove it."""

    NAME = "equation"

    def tied(self) -> ElementTree.Element:
        """The table *Role | Place | Code*."""
        index, name = self.index, self.argument
        computes = index.computes(name)
        owners = dict.fromkeys(tie.symbol for tie in computes)
        calls = [call for owner in owners for call in index.callers(owner)]
        places = {
            "Computes it": [t for t in computes if not t.inline],
            "Calls it": [index.tie(name, call) for call in calls],
            "Written inline": [t for t in computes if t.inline],
            "Tests it": index.proves(name),
        }
        rows = [row for role, found in places.items() for row in self.rows(role, found)]
        made = table(["Role", "Place", "Code"], rows)
        made.attrib |= UNSEARCHED
        return made

    def rows(self, role: str, found: list[Tie]) -> Iterator[list[ElementTree.Element]]:
        """The rows of one role, which is named once."""
        for number, tie in enumerate(found):
            span = {"rowspan": str(len(found))} if len(found) > 1 else {}
            first = [] if number else [element("td", role, **span)]
            place = element("td", line_link(tie.path, tie.line))
            text = tie.code if len(tie.code) <= WIDEST else f"{tie.code[:WIDEST].rstrip()} …"
            yield [*first, place, element("td", code(text))]


class Code(LiterateBlock):
    """`/// code | data.split_ids`: the live source of a symbol."""

    NAME = "code"

    def make(self) -> ElementTree.Element:
        """The lines, docstring left out."""
        symbol = self.index.symbol(self.argument)
        lines = without_docstrings(self.index, self.argument)
        return listing(self.index, self.index.file(symbol.path), lines, "")


class Source(LiterateBlock):
    """`/// source | data.py`: a whole file."""

    NAME = "source"

    def make(self) -> ElementTree.Element:
        """Every line, with an anchor each."""
        file = self.index.file(self.argument)
        lines = list(range(1, len(file.lines) + 1))
        up = "../" * (1 + self.argument.count("/"))
        return listing(self.index, file, lines, up, anchors=True)


class Used(LiterateBlock):
    """`/// used | data.split_ids`: who calls it, which tests call it."""

    NAME = "used"

    def make(self) -> ElementTree.Element:
        """Two lists."""
        symbol = self.index.symbol(self.argument).name
        callers = self.index.callers(symbol)
        tests = self.index.callers(symbol, tests=True)
        made = element("div", class_="used")
        made.append(self.sentence("Called by", [self.caller(call) for call in callers]))
        made.append(self.sentence("Tested by", [self.test(call) for call in tests]))
        return made

    def sentence(self, start: str, places: list[ElementTree.Element]) -> ElementTree.Element:
        """`Called by a, b, c.`"""
        return element("p", f"{start} ", *(joined(places) or ["nothing directly"]), ".")

    def caller(self, call: Call) -> ElementTree.Element:
        """A link to the first call in a function."""
        return element("a", code(call.caller), href=f"{source_page(call.path)}#L{call.line}")

    def test(self, call: Call) -> ElementTree.Element:
        """A link to the first call in a test, named by its sentence."""
        sentence = call.caller.rpartition(".")[2].removeprefix("test_").replace("_", " ")
        return link(sentence, f"{source_page(call.path)}#L{call.line}")


class Captioned(LiterateBlock):
    """A block whose text is the caption, in Markdown."""

    def make(self) -> ElementTree.Element:
        """The thing shown, and room for its caption."""
        self.caption = element("figcaption")
        return element("figure", self.shown(), self.caption, class_=self.NAME)

    @abstractmethod
    def shown(self) -> ElementTree.Element:
        """The thing shown."""

    def on_add(self, block: ElementTree.Element) -> ElementTree.Element:
        """The text goes into the caption."""
        return self.caption

    def on_markdown(self) -> str:
        """The caption is read as Markdown."""
        return "block"

    def on_end(self, block: ElementTree.Element) -> None:
        """Refuse a figure that nothing explains."""
        if not len(self.caption):
            raise SiteError(f"block {self.NAME} | {self.argument} needs a caption")


class Figure(Captioned):
    """`/// figure | windows`: a drawing made by the real functions."""

    NAME = "figure"

    def shown(self) -> ElementTree.Element:
        """The SVG."""
        drawing = parsed(registered("figures", "FIGURES", self.argument))
        drawing.attrib |= UNSEARCHED
        return drawing


class Table(Captioned):
    """`/// table | hand-windows`: a table made by the real functions."""

    NAME = "table"

    def shown(self) -> ElementTree.Element:
        """Headings and rows; a cell is Markdown."""
        return table(*registered("tables", "TABLES", self.argument))


class Widget(LiterateBlock):
    """`/// widget | windows`: something to try."""

    NAME = "widget"

    def make(self) -> ElementTree.Element:
        """The HTML, with its first result."""
        html = registered("widgets", "WIDGETS", self.argument)
        return element("div", self.md.htmlStash.store(html), **UNSEARCHED)


class List(LiterateBlock):
    """A block without a name: a list of everything."""

    ARGUMENT = False


class Equations(List):
    """`/// equations`: every equation, with its lines and tests."""

    NAME = "equations"

    def make(self) -> ElementTree.Element:
        """One row an equation, in the order of the road."""
        made = [self.row(equation) for equation in self.index.equations.values()]
        headings = ["Equation", "Computed at", "Proved at"]
        return element("div", table(headings, made), class_="equations", **UNSEARCHED)

    def row(self, equation: ties.Equation) -> list[ElementTree.Element | str]:
        """Title and formula, lines, tests."""
        title = element("p", link(equation.title, f"{equation.page}#eq-{equation.name}"))
        cell = element("td", title, formula(equation.latex, display=True))
        if equation.kind == "stated":
            return [cell, "stated, not computed", ""]
        index, name = self.index, equation.name
        return [cell, self.places(index.computes(name)), self.places(index.proves(name))]

    def places(self, found: list[Tie]) -> ElementTree.Element:
        """Links to the lines."""
        return element("td", *joined([line_link(tie.path, tie.line) for tie in found]))


class Symbols(List):
    """`/// symbols`: every public symbol of each module of the pipeline."""

    NAME = "symbols"

    def make(self) -> ElementTree.Element:
        """A heading and a table for each module."""
        made = element("div")
        for file in self.index.files.values():
            if "/" not in file.path:
                head = element("h2", link(file.path, source_page(file.path)), id=file.module)
                rows = [
                    self.row(symbol)
                    for symbol in self.index.symbols.values()
                    if symbol.path == file.path and symbol.is_public
                ]
                made.extend([head, table(["Symbol", "Lines", "Explained on"], rows)])
        return made

    def row(self, symbol: ties.Symbol) -> list[ElementTree.Element]:
        """Symbol, lines, page."""
        name = symbol.name.partition(".")[2]
        lines = link(f"{symbol.line}–{symbol.last}", f"{source_page(symbol.path)}#L{symbol.line}")
        page = self.index.shown.get(symbol.name)
        where = link(self.index.title(page), page) if page else link("API", f"api.md#{symbol.name}")
        return [element("td", part) for part in (code(name), lines, where)]


class Sources(List):
    """`/// sources`: every source file, with the first line of what it says of itself."""

    NAME = "sources"

    def make(self) -> ElementTree.Element:
        """One row a file."""
        return table(["File", "In one line"], [self.row(f) for f in self.index.files.values()])

    def row(self, file: ties.File) -> list[ElementTree.Element | str]:
        """A link, and a line, which is Markdown."""
        target = source_page(file.path).removeprefix("source/")
        return [element("td", link(file.path, target)), file.summary]


BLOCKS = [Equation, Stated, Code, Used, Source, Figure, Table, Widget, Equations, Symbols, Sources]
