"""Committed results speak of the sources as they are."""

import pytest

from benchmarks.record import RESULTS, code_of, digest, kept
from benchmarks.rows import ROWS

SOURCE = '''"""Says nothing."""

x = "# no comment"  # a comment


def f():
    """Nor does this."""
    return f"{x}#"
'''


def test_the_code_of_a_source_has_no_comments_docstrings_or_empty_lines():
    assert code_of(SOURCE) == 'x = "# no comment"\ndef f():\n    return f"{x}#"'


def test_every_row_has_results():
    assert {path.stem for path in RESULTS.glob("*.json")} == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_results_are_of_the_sources_as_they_are(row):
    """When this fails: `make bench ARGS=ROW`, look at the figures, commit them."""
    result = kept(row)
    assert result["sources"] == sorted(ROWS[row][0])
    assert result["digest"] == digest(result["sources"]), f"run `make bench ARGS={row}`"
    assert result["machine"]["cores"] >= 1
    assert result["date"] > "2026"
