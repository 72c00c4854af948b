"""The extension: what it adds to Markdown, and what it refuses."""

import re
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension
from pymdownx.util import escape_chars

from literate import ties
from literate.blocks import BLOCKS, registered
from literate.maths import InlineMaths
from literate.ties import Index
from literate.tree import SiteError, element


class Project:
    """The ties of the project, read once a page."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def index(self) -> Index:
        """The index as it is when the page is begun."""
        return ties.read(self.root)


class Value(InlineProcessor):
    """`{{ corpus.ids }}`: a number or a word that is computed when the site is built."""

    PATTERN = r"\{\{ *([^{}\n]*?) *\}\}"

    def handleMatch(self, m: re.Match, data: str) -> tuple[ElementTree.Element, int, int]:  # noqa: N802
        """The value, and the stretch of text that it takes the place of."""
        value = element("span", str(registered("values", "VALUES", m[1])))
        return value, m.start(0), m.end(0)


class Doctests(Preprocessor):
    """`>>>` starts an example, not three quotations: a fence is put around it."""

    def run(self, lines: list[str]) -> list[str]:
        """The lines, with the fences."""
        text = "\n".join(lines)
        return re.sub(r"(?m)^>>> (?:.+\n?)+", self.fenced, text).split("\n")

    def fenced(self, found: re.Match) -> str:
        """The example in a fence, unless it is in one."""
        opened = re.findall(r"(?m)^(?:```|~~~)", found.string[: found.start()])
        return found[0] if len(opened) % 2 else f"```pycon\n{found[0].rstrip()}\n```\n"


class CheckTies(Preprocessor):
    """No page is made while anything does not fit together."""

    def __init__(self, md: Markdown, project: "Project") -> None:
        super().__init__(md)
        self.project = project

    def run(self, lines: list[str]) -> list[str]:
        """Read the index, which refuses what is wrong."""
        assert self.project.index
        return lines


class CheckBlocks(Treeprocessor):
    """No block is left as text: Markdown prints one that it cannot read, without a word."""

    def run(self, root: ElementTree.Element) -> None:
        """Look at the text of the page, code left out."""
        if open_blocks := self.md.parser.blockprocessors["blocks"].stack:
            block = open_blocks[0].block
            raise SiteError(f"block {block.NAME} | {block.argument} is never closed")
        self.check(root)

    def check(self, node: ElementTree.Element) -> None:
        """Refuse what looks like a block in the text of an element."""
        if node.tag not in ("code", "pre"):
            if wrong := re.search(r"^ {0,3}/{3,}.*", node.text or "", re.M):
                raise SiteError(
                    f"this block cannot be read (its name, its options, its end?): {wrong[0]}"
                )
            for child in node:
                self.check(child)


class ReachableTables(Treeprocessor):
    """A table may be wider than a phone: without a mouse one must reach it to move it."""

    def run(self, root: ElementTree.Element) -> None:
        """Make tables without a link a stop of the tab key."""
        for found in root.iter("table"):
            if found.find(".//a") is None:
                found.set("tabindex", "0")


class LiterateExtension(BlocksExtension, Extension):
    """Everything above, as one extension of Markdown."""

    def __init__(self, **options: Any) -> None:
        self.config = {"root": [str(ties.ROOT), "the folder of the project"]}
        super().__init__(**options)

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: Any) -> None:  # noqa: N802
        """Register the blocks, the two kinds of inline text, and the checks."""
        project = Project(Path(self.getConfig("root")))
        for block in BLOCKS:
            block_mgr.register(block, {"project": project})
        escape_chars(md, ["$"])
        md.inlinePatterns.register(InlineMaths(InlineMaths.PATTERN, md), "literate-maths", 185)
        md.inlinePatterns.register(Value(Value.PATTERN, md), "literate-value", 184)
        md.preprocessors.register(CheckTies(md, project), "literate-ties", 100)
        md.preprocessors.register(Doctests(md), "literate-doctests", 90)
        md.treeprocessors.register(CheckBlocks(md), "literate-blocks", 15)
        md.treeprocessors.register(ReachableTables(md), "literate-tables", 14)
