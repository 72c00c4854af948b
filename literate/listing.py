"""Source code as a reader sees it: coloured, a number at each line, tags that lead to equations."""

import ast
import re
from collections.abc import Iterator
from html import escape
from keyword import kwlist
from xml.etree import ElementTree

from literate.ties import File, Index, source_page
from literate.tree import UNSEARCHED, append_text, element, link

# What is coloured, by the names that themes know: strings, comments, decorators, functions and
# classes where they are defined, keywords. More kinds would cost a page more than they tell.
_KINDS = re.compile(
    rf"""
      (?P<s> (?:\b[rbfuRBFU]{{1,2}})? (?P<quote>["]{{3}}|[']{{3}}|["]|['])
             (?:\\.|(?!(?P=quote)).)* (?P=quote) )
    | (?P<c> \#[^\n]* )
    | (?P<nd> ^[ ]*@[\w.]+ )
    | (?<=\bdef[ ]) (?P<nf> \w+ )
    | (?<=\bclass[ ]) (?P<nc> \w+ )
    | (?P<k> \b(?:{"|".join(kwlist)})\b )
    """,
    re.X | re.M | re.S,
)


def coloured(text: str) -> list[list[tuple[str, str]]]:
    """For each line its stretches of text, each with the name of its kind, or none.

    >>> coloured("x = None  # of\\nthe rest")
    [[('', 'x = '), ('k', 'None'), ('', '  '), ('c', '# of')], [('', 'the rest')]]
    """
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, stretch in _stretches(text):
        first, *rest = stretch.split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, part)] for part in rest]
    return [[(kind, part) for kind, part in line if part] for line in lines]


def _stretches(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    for found in _KINDS.finditer(text):
        yield "", text[end : found.start()]
        yield found.lastgroup, found[0]
        end = found.end()
    yield "", text[end:]


def listing(
    index: Index, file: File, lines: list[int], up: str, *, anchors: bool = False
) -> ElementTree.Element:
    """The lines of a file, each number a link; with `anchors` it is the page they lead to."""
    page = "" if anchors else source_page(file.path)
    pre = element("pre", class_="listing", **UNSEARCHED)
    stretches = coloured(file.text)
    width = len(str(max(lines, default=1)))
    for number in lines:
        row = element("span", **({"id": f"L{number}"} if anchors else {}))
        row.append(element("a", f"{number:>{width}}", href=f"{page}#L{number}"))
        tags = [name for name, _ in file.tags.get(number, ())]
        for style, text in stretches[number - 1]:
            tagged = tags and style == "c"
            if style:
                parts = _tagged(index, text, tags, up) if tagged else [text]
                row.append(element("span", *parts, class_=style))
            else:
                append_text(row, text)
        append_text(row, "\n")
        pre.append(row)
    return element("div", pre, class_="highlight")


def fence(source: str, *_: object, **__: object) -> str:
    """A fence of Python on a page, as the Markdown extension `superfences` asks for it.

    >>> fence("x = None", "python")
    '<div class="highlight"><pre><code>x = <span class="k">None</span></code></pre></div>'
    """
    lines = (
        "".join(
            f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text)
            for kind, text in line
        )
        for line in coloured(source)
    )
    return f'<div class="highlight"><pre><code>{chr(10).join(lines)}</code></pre></div>'


def _tagged(
    index: Index, comment: str, tags: list[str], up: str
) -> list[ElementTree.Element | str]:
    """A comment in which the names of equations are links to them."""
    head, _, tail = comment.rpartition("eq:")
    names = "|".join(re.escape(tag) for tag in tags)
    pieces = re.split(rf"\b({names})(?=,| \(|$)", tail)
    return [
        head + "eq:" + pieces[0],
        *(
            link(piece, f"{up}{index.equations[piece].page}#eq-{piece}") if n % 2 else piece
            for n, piece in enumerate(pieces[1:], 1)
        ),
    ]


def without_docstrings(index: Index, name: str) -> list[int]:
    """The numbers of the lines of a symbol, docstrings left out."""
    symbol = index.symbol(name)
    left_out: set[int] = set()
    lines = index.files[symbol.path].lines
    for node in ast.walk(symbol.node):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            last = text.end_lineno
            while len(node.body) > 1 and not lines[last].strip():  # the blank lines after it
                last += 1
            left_out.update(range(text.lineno, last + 1))
    return [n for n in range(symbol.line, symbol.last + 1) if n not in left_out]
