"""A site of two pages, one function and one test, to break in every way."""

import logging
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

FILES = {
    "mkdocs.yml": """\
site_name: Small
theme:
  name: null
  custom_dir: theme
plugins: []
validation:
  links: {anchors: warn}
markdown_extensions:
  - tables
  - literate:
      root: ROOT
  - pymdownx.blocks.details
  - pymdownx.superfences
nav:
  - index.md
  - split.md
not_in_nav: source/
""",
    "theme/main.html": "<title>{{ page.title }}</title>{{ page.content }}",
    "data.py": '''\
"""The one step."""


def split_ids(ids, fraction):
    """Both sides."""

    cut = int((1 - fraction) * len(ids))  # eq: cut
    return ids[:cut], ids[cut:]
''',
    "train.py": '''\
"""The one run."""

from data import split_ids


def main(ids):
    """Split."""
    return split_ids(ids, 0.25)
''',
    "tests/test_data.py": '''\
"""The one test."""

import pytest

from data import split_ids


@pytest.mark.eq("cut")
def test_a_quarter_of_eight_is_two():
    train, val = split_ids("abcdefgh", 0.25)
    assert (
        len(train),
        len(val),
    ) == (6, 2)  # eq: cut
''',
    "docs/index.md": """\
# Home

Begin with [the split](split.md).
Its [equation](split.md#eq-cut) is at [one line](source/data.md#L7).

/// stated | chain-rule
    title: The chain rule
p(a, b) = p(a)\\, p(b \\mid a)
///
""",
    "docs/split.md": """\
# The split

A fraction $\\rho$ is kept back.

/// equation | cut
    title: Where the stream is cut
\\text{cut} = \\lfloor (1 - \\rho)\\, N \\rfloor
///

/// code | data.split_ids
///

/// used | data.split_ids
///
""",
}
SOURCES = ["data.py", "train.py", "tests/test_data.py"]


class SmallSite:
    """The files in a folder, and what becomes of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in FILES.items():
            self.write(path, text.replace("ROOT", root.as_posix()))
        for path in SOURCES:
            stub = f"# `{path}`\n\n/// source | {path}\n///\n"
            self.write(f"docs/source/{path.removesuffix('.py')}.md", stub)

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def change(self, path: str, old: str, new: str) -> None:
        """Change a text in a file, which must be there."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def add(self, text: str) -> None:
        """Write something at the end of the page of the split."""
        self.change("docs/split.md", "# The split\n", f"# The split\n\n{text}\n")

    def build(self) -> None:
        """Build the site, strictly, or raise."""
        logging.getLogger("mkdocs").setLevel(logging.WARNING)
        build(load_config(str(self.root / "mkdocs.yml"), strict=True))

    def html(self, page: str = "split") -> str:
        """A page, built."""
        self.build()
        return (self.root / "site" / page / "index.html").read_text(encoding="utf-8")
