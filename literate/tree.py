"""Elements of a page. They go into the tree, so that MkDocs itself checks every link in them."""

from xml.etree import ElementTree

import click
from markdown.util import AtomicString

UNSEARCHED = {"data-search-exclude": ""}  # in the page, not in what search finds


class SiteError(click.ClickException, ValueError):
    """Something on a page or in a tie is wrong: the build ends with this message alone."""


def element(
    tag: str, *children: "ElementTree.Element | str | None", **attributes: str
) -> ElementTree.Element:
    """An element. Text in it is final: no Markdown is read in it.

    >>> link = element("a", "line 3", href="source/data.md#L3", class_="line")
    >>> ElementTree.tostring(link, encoding="unicode")
    '<a href="source/data.md#L3" class="line">line 3</a>'
    """
    made = ElementTree.Element(tag, {name.rstrip("_"): value for name, value in attributes.items()})
    made.text = AtomicString("")
    for child in children:
        if isinstance(child, str):
            append_text(made, child)
        elif child is not None:
            child.tail = AtomicString(child.tail or "")
            made.append(child)
    return made


def append_text(parent: ElementTree.Element, text: str) -> None:
    """Text after everything that `parent` holds."""
    if len(parent):
        parent[-1].tail = AtomicString((parent[-1].tail or "") + text)
    else:
        parent.text = AtomicString((parent.text or "") + text)


def link(text: str, target: str) -> ElementTree.Element:
    """A link to a page of the site, written as from a page in `docs/`."""
    return element("a", text, href=target)


def code(text: str) -> ElementTree.Element:
    """A piece of code in a sentence."""
    return element("code", text)


def joined(
    parts: list[ElementTree.Element], between: str = ", "
) -> list[ElementTree.Element | str]:
    """The parts with a text between each two."""
    return [piece for part in parts for piece in (between, part)][1:]


def table(
    headings: list[str], rows: list[list["ElementTree.Element | str"]]
) -> ElementTree.Element:
    """A table with a row of headings; a cell is a `td`, or a string of Markdown."""
    head = element("tr", *(_cell("th", text, scope="col") for text in headings))
    body = [element("tr", *(_cell("td", cell) for cell in row)) for row in rows]
    return element("table", element("thead", head), element("tbody", *body))


def _cell(tag: str, content: "ElementTree.Element | str", **attributes: str) -> ElementTree.Element:
    if isinstance(content, ElementTree.Element):
        return content
    cell = ElementTree.Element(tag, attributes)
    cell.text = content
    return cell


def parsed(xml: str) -> ElementTree.Element:
    """An element from its text, without namespaces (HTML knows `svg` and `math` by name)."""
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise SiteError(f"this is not well-formed: {error}\n{xml[:200]}") from None
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.text, node.tail = AtomicString(node.text or ""), AtomicString(node.tail or "")
    return root
