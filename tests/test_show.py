"""Documents in colour."""

import io

import pandas as pd
import pytest
from rich.console import Console

import show
from lineage import explain
from packing import pack
from stream import encode_documents
from tokenizer import Tokenizer
from windows import sliding_windows

BYTES = Tokenizer([])
DOCUMENTS = pd.DataFrame({"text": ["hi", "[you]", "é"]})
PACKED = pack(encode_documents(DOCUMENTS, BYTES), 8, BYTES.eot_id)  # [you]∎é∎, then hi∎ and pads
ROWS = sliding_windows(len(PACKED), 8, 9)


def printed(boundaries: str) -> list[str]:
    console = Console(width=120, file=io.StringIO())
    console.print(show.rows_text(PACKED, ROWS, BYTES, boundaries))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_rows_are_shown_with_what_counts_under_them():
    r"""[you]∎ has 6 tokens and hi∎ 3: a row of 9. é∎ has 3, and 6 places are padding."""
    lines = printed("isolated")
    assert lines[:4] == [
        "window 0",
        "h i ∎ [ y o u ] ∎",
        "  ▔ ▔   ▔ ▔ ▔ ▔ ▔",  # the bracket is predicted from the end of another document
        "attention: places see only their own of 0–2, 3–7",
    ]
    assert lines[5:9] == [
        "window 1",
        r"\xc3 \xa9 ∎ · · · · · ·",
        "     ▔▔▔▔ ▔",
        "attention: places see only their own of 0–2",
    ]


def test_if_documents_are_not_kept_apart_only_padding_does_not_count():
    lines = printed("continuous")
    assert lines[2] == "  ▔ ▔ ▔ ▔ ▔ ▔ ▔ ▔"
    assert lines[7] == "     ▔▔▔▔ ▔"
    assert lines[3] == "attention: each place sees places 0 to itself, of 0 to 7"


def test_pieces_of_one_document_have_one_colour_and_neighbours_have_two():
    text = show.rows_text(PACKED, ROWS, BYTES, "continuous")
    styles = [span.style for span in text.spans if "#" in str(span.style)]
    assert len(set(styles)) == 3
    long = pack(encode_documents(pd.DataFrame({"text": ["abcdefghij"]}), BYTES), 4, 0)
    text = show.rows_text(long, sliding_windows(len(long), 4, 5), BYTES, "continuous")
    assert len({str(span.style) for span in text.spans if "#" in str(span.style)}) == 1


def test_a_picture_of_rows_is_written_whole(tmp_path):
    show.save_rows(tmp_path / "rows.png", PACKED, ROWS, "isolated")
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.png"]


def test_a_window_is_shown_place_by_place_and_the_same_as_a_page(tmp_path):
    frame = explain(PACKED, ROWS, 0, BYTES, "isolated", DOCUMENTS)
    console = Console(width=140, file=io.StringIO())
    show.show_window(frame, 0, console, str(tmp_path / "window.html"))
    table = console.file.getvalue()
    page = (tmp_path / "window.html").read_text(encoding="utf-8")
    for told in ("Window 0", "as a target", "counts", "end-of-text", "the first id of a window"):
        assert told in table
        assert told in page
    assert "#0072b2" in page
    assert page.startswith("<!DOCTYPE html>")


def test_a_bracket_is_no_style_and_padding_has_no_document():
    shown = []
    for window in (0, 1):
        console = Console(width=140, file=io.StringIO())
        frame = explain(PACKED, ROWS, window, BYTES, "isolated", DOCUMENTS)
        show.show_window(frame, window, console, None)
        shown.append(console.file.getvalue())
    assert "│ [ " in shown[0]
    assert shown[1].count("padding") >= 6


@pytest.mark.parametrize("boundaries", ["continuous", "isolated"])
def test_every_window_of_a_run_can_be_shown(boundaries):
    stream = encode_documents(DOCUMENTS, BYTES)
    windows = sliding_windows(len(stream), 3, 1)
    text = show.rows_text(stream, windows, BYTES, boundaries)
    assert text.plain.count("window ") == len(windows)
