"""LaTeX → MathML, when the site is built: no script, no request, and no formula half understood."""

import html
import re
from functools import cache
from xml.etree import ElementTree

import math_core
from markdown.inlinepatterns import InlineProcessor

from literate.tree import SiteError, parsed

_CONVERTER = math_core.LatexToMathML(fancy_error=False)


@cache
def mathml(latex: str, display: bool = False) -> str:
    """The MathML of a formula.

    >>> mathml("T + 1")
    '<math><mi>T</mi><mo>+</mo><mn>1</mn></math>'
    """
    try:
        made = _CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except math_core.LatexError as error:
        raise SiteError(f"this is not LaTeX that can be set: {latex.strip()}\n{error}") from None
    return re.sub(r"&(?!amp;|lt;|gt;|#)\w+;", lambda entity: html.unescape(entity[0]), made)


def formula(latex: str, display: bool = False) -> ElementTree.Element:
    """The formula as an element."""
    return parsed(mathml(latex.strip(), display))


class InlineMaths(InlineProcessor):
    """`$T + 1$` in a sentence. A dollar sign that is meant is written with a backslash."""

    PATTERN = r"(?<!\\)\$(?=\S)([^$\n]+?)(?<=\S)\$"

    def handleMatch(self, m, data):  # noqa: ANN001, ANN201, N802, named by Markdown
        """The formula, and the stretch of text that it takes the place of."""
        return formula(m[1]), m.start(0), m.end(0)
