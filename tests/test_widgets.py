"""The editable examples: each engine gives what the Python code gives, and the page shows it."""

import json
import re
import shutil
from dataclasses import asdict

import pytest
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from data import split_ids
from literate import widgets, widgets_places
from windows import count_batches

ASSETS = ROOT / "docs" / "assets"
SCRIPT = (ASSETS / "widgets.js").read_text(encoding="utf-8")
ENGINES = SCRIPT[: SCRIPT.index("})();") + len("})();")]
DIGITS = "a whole number of at most 15 digits"
DECIMAL = "a decimal with a point, such as 0.3"

POLICY = ("best-fit", "fragment", "pad")

# What only a text can get wrong, or has to get right: there is no Python code to compare it with.
REFUSED = [
    ("windows", ("3 1 x", "1", "1"), f"each id must be {DIGITS}, got x", ["ids"]),
    ("windows", ("3 -1", "1", "1"), "each id must be 0 or more, got -1", ["ids"]),
    ("windows", ("3 1", "", "1"), f"seq_len must be {DIGITS}, got nothing", ["seq_len"]),
    ("windows", ("3 1", "1", "1.5"), f"stride must be {DIGITS}, got 1.5", ["stride"]),
    ("windows", ("3 1", "0x1", "1"), f"seq_len must be {DIGITS}, got 0x1", ["seq_len"]),
    ("cut", ("1" * 16, "0.3", "4"), f"N must be {DIGITS}, got {'1' * 16}", ["N"]),
    ("cut", ("-1", "0.3", "4"), "N must be 0 or more, got -1", ["N"]),
    ("cut", ("90", "0,3", "4"), f"val_fraction must be {DECIMAL}, got 0,3", ["val_fraction"]),
    ("cut", ("90", " ", "4"), f"val_fraction must be {DECIMAL}, got nothing", ["val_fraction"]),
    ("cut", ("90", ".", "4"), f"val_fraction must be {DECIMAL}, got .", ["val_fraction"]),
    ("cut", ("90", "3e", "4"), f"val_fraction must be {DECIMAL}, got 3e", ["val_fraction"]),
    ("cut", ("90", "nan", "4"), f"val_fraction must be {DECIMAL}, got nan", ["val_fraction"]),
    (
        "cut",
        ("9", "1e-1000", "4"),
        f"val_fraction must be {DECIMAL}, got 1e-1000",
        ["val_fraction"],
    ),
    ("batches", ("-1", "4"), "n_windows must be 0 or more, got -1", ["n_windows"]),
    ("batches", ("ten", "4"), f"n_windows must be {DIGITS}, got ten", ["n_windows"]),
    ("packing", ("3 x", "7", *POLICY), f"each length must be {DIGITS}, got x", ["lengths"]),
    ("packing", ("3", "", *POLICY), f"seq_len must be {DIGITS}, got nothing", ["seq_len"]),
    ("evaluation", ("a", "5", "2"), f"N must be {DIGITS}, got a", ["N"]),
    ("evaluation", ("12", "b", "2"), f"seq_len must be {DIGITS}, got b", ["seq_len"]),
    ("evaluation", ("12", "5", "c"), f"stride must be {DIGITS}, got c", ["stride"]),
]
# Which fields a refusal that the Python code makes as well belongs to.
BLAMED = [
    ("windows", ("3 1", "0", "1"), ["seq_len"]),
    ("windows", ("3 1", "1", "0"), ["stride"]),
    ("windows", ("3 1", "2", "1"), ["ids", "seq_len"]),
    ("cut", ("90", "1", "4"), ["val_fraction"]),
    ("cut", ("90", "-0.1", "4"), ["val_fraction"]),
    ("cut", ("90", "0.3", "0"), ["seq_len"]),
    ("batches", ("10", "0"), ["batch_size"]),
    ("packing", ("3 0 2", "7", *POLICY), ["lengths"]),
    ("packing", ("", "7", *POLICY), ["lengths"]),
    ("packing", ("1 " * 27, "7", *POLICY), ["lengths"]),
    ("packing", ("1001", "7", *POLICY), ["lengths"]),
    ("packing", ("3", "0", *POLICY), ["seq_len"]),
    ("packing", ("3", "7", "best-fit", "fragment", "drop"), ["order", "tail"]),
    ("packing", ("9", "7", "best-fit", "drop", "pad"), ["lengths", "seq_len", "long_doc"]),
    ("packing", ("7", "7", "sequential", "fragment", "drop"), ["lengths", "seq_len", "tail"]),
    ("evaluation", ("100001", "5", "2"), ["N"]),
    ("evaluation", ("1", "5", "2"), ["N"]),
    ("evaluation", ("12", "0", "2"), ["seq_len"]),
    ("evaluation", ("12", "5", "0"), ["stride"]),
    ("evaluation", ("12", "5", "6"), ["seq_len", "stride"]),
]
# Where an engine has its corners; the mutants are compared here.
CORNERS = [
    *(("windows", (range(n), T, k)) for n, T, k in [
        (1, 1, 1), (5, 4, 1), (5, 5, 1), (5, 4, 0), (5, 0, 1), (5, -1, -1), (21, 4, 1), (21, 5, 1),
        (30, 16, 3), (30, 17, 3), (30, 4, 10**15 - 1), (1100, 1050, 1), (1100, 4, 65),
    ]),
    *(("cut", (n, rho, T)) for n, T in [(0, 1), (1, 1), (20, 3), (90, 16), (90, 0), (2200, 1040)]
      for rho in ["0", "-0", "0.25", ".3", "3.e-1", "30E-2", "+0.001e2", "0.999", "1e-999", "0e99",
                  "0.0", "1", "1.0", "0.1e1", "10", "1e2", "-0.1", "0.9999999999999999999999"]),
    *(("cut", (90, "0.3", T)) for T in (25, 26, 27, 62, 63, 89, 90)),
    *(("batches", (W, B)) for W in (0, 1, 4, 16, 17, 1200) for B in (-1, 0, 1, 4, 1100)),
    *(("packing", (lengths, T, order, long_doc, tail))
      for lengths, T in [
          ([], 7), ([3, 0, 2], 7), ([-1], 7), ([3, 2, 9, 4], 7), ([3, 2, 9, 4], 0), ([5], 4),
          ([5], 5), ([6, 7], 4), ([5, 11, 3, 6, 2], 7), ([1] * 26, 1), ([1] * 27, 1), ([1000], 31),
          ([1001], 31), ([1000], 32), ([40, 3], 1100), ([4, 4, 3, 3, 3, 1, 5, 2, 2, 1, 5], 6),
          ([100, 1, 2, 2, 1, 3, 4, 2, 1, 1, 2, 6, 5, 3, 2, 2, 1, 7], 8), ([1, 2, 3] * 8, 11)]
      for order in ("best-fit", "sequential") for long_doc in ("fragment", "truncate", "drop")
      for tail in ("pad", "drop")),
    *(("evaluation", case) for case in [
        (12, 5, 2), (11, 5, 2), (23, 8, 3), (2, 1, 1), (3, 5, 2), (6, 5, 2), (7, 5, 5), (1, 5, 2),
        (0, 0, 0), (-1, 5, 2), (12, 0, 2), (12, 5, 0), (12, 5, 5), (12, 5, 6), (33, 16, 16),
        (34, 16, 1), (33, 32, 1), (2000, 1000, 1000), (2000, 1990, 1), (100_000, 9000, 4500),
        (100_001, 64, 32), (90_000, 10**15 - 1, 5000), (9, 3, 1)]),
]  # fmt: skip


@pytest.fixture(scope="module")
def v8():
    """One V8; left open, it can keep the process from ending."""
    with MiniRacer() as context:
        yield context


def results(v8, cases, source=ENGINES):
    """What the engines of a script give for each case, or the words of its crash."""
    call = "(source, cases) => { const engines = new Function(source + '; return TextToBatches')();"
    call += "return JSON.stringify(cases.map(([name, texts]) => engines[name](...texts))); }"
    return json.loads(v8.eval(f"({call})({json.dumps(source)}, {json.dumps(cases)})"))


def typed(name, values):
    """The texts that a reader types for these values."""
    first, *others = values
    first = " ".join(map(str, first)) if name in ("windows", "packing") else str(first)
    return name, [first, *map(str, others)]


def expected(name, values):
    """What the Python code gives; a refusal names ρ as it was typed, not as Decimal writes it."""
    module = widgets_places if name in ("packing", "evaluation") else widgets
    try:
        return asdict(getattr(module, name)(*values))
    except ValueError as refusal:
        words, got, value = str(refusal).rpartition("got ")
        return words + got + (values[1] if words.startswith("val_fraction") else value)


def given_by(v8, name, values):
    (result,) = results(v8, [typed(name, values)])
    return result.get("error", result)


sizes = st.integers(-1, 24)
decimals = st.one_of(
    st.decimals(0, 1, places=3).map(str),
    st.from_regex(
        r"-?(0?\.[0-9]{1,25}|[0-9]{1,3}\.?|[0-9]\.[0-9])([eE]-?[0-9]{1,2})?", fullmatch=True
    ).filter(str.isascii),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 999_999), max_size=40), sizes, sizes)
@example(list(range(40)), 4, 1)
def test_windows_in_the_page_are_those_of_make_windows(v8, ids, seq_len, stride):
    assert given_by(v8, "windows", (ids, seq_len, stride)) == expected(
        "windows", (ids, seq_len, stride)
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 3000), decimals, sizes)
@example(90, "0.3", 4)
def test_the_cut_in_the_page_is_that_of_split_ids(v8, n, val_fraction, seq_len):
    assert given_by(v8, "cut", (n, val_fraction, seq_len)) == expected(
        "cut", (n, val_fraction, seq_len)
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 300), sizes)
def test_batches_in_the_page_are_those_of_iterate_batches(v8, n_windows, batch_size):
    assert given_by(v8, "batches", (n_windows, batch_size)) == expected(
        "batches", (n_windows, batch_size)
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 30), max_size=26),
    st.integers(1, 40),
    st.sampled_from(["best-fit", "sequential"]),
    st.sampled_from(["fragment", "truncate", "drop"]),
    st.sampled_from(["pad", "drop"]),
)
def test_packed_rows_in_the_page_are_those_of_pack(v8, lengths, seq_len, order, long_doc, tail):
    """In their order, with every part at its place; refusals word for word."""
    values = lengths, seq_len, order, long_doc, tail
    assert given_by(v8, "packing", values) == expected("packing", values)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=8, max_size=26), st.integers(1, 11))
def test_many_documents_of_few_lengths_share_rows_as_pack_has_them(v8, lengths, seq_len):
    """Many rows are then equally full, and which of them a part goes to is a rule of its own."""
    values = lengths, seq_len, *POLICY
    assert given_by(v8, "packing", values) == expected("packing", values)


@settings(max_examples=100, deadline=None)
@given(st.integers(-1, 300), sizes, sizes)
@example(12, 5, 2)
def test_scored_targets_in_the_page_are_those_of_eval_windows(v8, n, seq_len, stride):
    values = n, seq_len, stride
    assert given_by(v8, "evaluation", values) == expected("evaluation", values)


def test_four_documents_lie_in_the_rows_that_were_worked_by_hand():
    """3, 2, 9 and 4 ids in rows of 8: 9 is 8 + 1. C's 8 fill a row; 4 begins one, 3 fits beside it
    and leaves 1; 2 begins a third; C's last goes where 1 is left. 18 of 24 places."""
    result = widgets_places.packing([3, 2, 9, 4], 7)
    (table,) = result.tables
    assert [" ".join(row) for row in table.rows] == [
        "0 A0 A1 A2 C8 D0 D1 D2 D3",
        "1 B0 B1 pad pad pad pad pad pad",
        "2 C0 C1 C2 C3 C4 C5 C6 C7",
    ]
    assert "= 3. Fill: 18 / 24 = 0.7500. Padding: 6. Dropped: 0." in result.summary
    assert table.tones[0] == [1, 1, 1, 3, 4, 4, 4, 4]
    assert table.tones[1] == [2, 2, 0, 0, 0, 0, 0, 0]


def test_the_evaluation_that_the_page_begins_with_is_that_worked_by_hand():
    """9 ids, T = 4, s = 3: windows from 0, 3 and, pushed back, 4; loss_from 0, 1 and 3.
    Contexts 1, 2, 3, 4, 2, 3, 4, 4 are 23 for 8 targets, and there are 12 predictions."""
    result = widgets_places.evaluation(9, 4, 3)
    assert result.summary.endswith(" = 3. Passes: 3 × 4 / 8 = 1.5000. Mean context: 2.8750.")
    (table,) = result.tables
    assert [" ".join(text or "_" for text in row) for row in [*table.rows, *table.feet]] == [
        "0 0 1 2 3 4 _ _ _ _",
        "3 1 _ _ _ (1) 2 3 4 _",
        "4 3 _ _ _ _ (1) (2) (3) 4",
        "predicted _ 1 1 1 2 2 2 2 1",
        "counted _ 1 1 1 1 1 1 1 1",
    ]


@pytest.mark.parametrize("written", ["0.3", ".3", "3e-1", "+0.30", " 0.3 "])
def test_the_cut_is_exact_however_its_decimal_is_written(v8, written):
    """(1 − 0.3) · 90 = 63, where binary floats give 62.999…; split_ids says the same of a float."""
    assert len(split_ids(range(90), float(written))[0]) == 63
    (result,) = results(v8, [("cut", ["90", written, "4"])])
    assert result["summary"].startswith(f"cut = ⌊(1 − {written.strip()}) × 90⌋ = 63.")


def test_ten_million_ids_and_more_are_counted_and_not_listed(v8):
    """0.9 · 10⁷ = 9,000,000. Of 64 windows that would cross 16 are listed: 48 more."""
    (result,) = results(v8, [("cut", ["10000000", "0.1", "64"])])
    assert "= 9,000,000. Windows: 8,999,936 + 999,936 = 9,999,872." in result["summary"]
    assert len(result["tables"][1]["rows"]) == 16
    assert result["tables"][1]["more"] == 48


@given(st.integers(0, 10**15 - 1), st.integers(1, 10**15 - 1))
def test_batches_are_counted_exactly_up_to_the_largest_number_taken(v8, n_windows, batch_size):
    (result,) = results(v8, [typed("batches", (n_windows, batch_size))])
    count = int(re.search(r"= ([\d,]+)\.", result["summary"])[1].replace(",", ""))
    assert count == count_batches(n_windows, batch_size)


@pytest.mark.parametrize("name, texts, error, fields", REFUSED)
def test_a_text_that_is_no_such_number_is_refused(v8, name, texts, error, fields):
    assert results(v8, [(name, texts)]) == [{"error": error, "fields": fields}]


@pytest.mark.parametrize("name, texts, fields", BLAMED)
def test_a_refusal_names_the_fields_it_belongs_to(v8, name, texts, fields):
    assert results(v8, [(name, texts)])[0]["fields"] == fields


def mutants():
    """The engines with one piece changed, comments aside: what, where, and the whole text."""
    changes = [
        (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" === ", " !== "),
        (r" \+ ", " - "), (" - ", " + "), (r" \* ", " + "), (" / ", " * "), (r"\(-", "("),
        ("!", ""), (" && ", " || "), (r" \|\| ", " && "),
        ("ceil", "floor"), ("max", "min"), ("min", "max"),
        (r"\d+", lambda found: str(int(found[0]) + 1)),
        (r"\d+", lambda found: str(abs(int(found[0]) - 1))),
    ]  # fmt: skip
    code = re.sub("//.*", "", ENGINES)
    for pattern, change in changes:
        for found in re.finditer(pattern, code):
            head, tail = code[: found.start()], code[found.end() :]
            piece = change(found) if callable(change) else change
            yield f"{found[0]} → {piece}, line {head.count(chr(10)) + 1}", head + piece + tail


def test_every_mutant_of_the_engines_is_caught(v8):
    """A changed operator, comparison, rounding or number shows in some corner, or crashes."""
    cases = [typed(name, values) for name, values in CORNERS]
    cases += [(name, texts) for name, texts, *_ in [*REFUSED, *BLAMED]]
    right = results(v8, cases)
    for (name, values), result in zip(CORNERS, right, strict=False):
        assert result.get("error", result) == expected(name, values), (name, values)
    v8.eval(
        f"const cases = {json.dumps(cases)}, right = {json.dumps(right)}.map(JSON.stringify);"
        "const survives = (source) => { try {"
        "  const engines = new Function(source + '; return TextToBatches')();"
        "  const same = ([name, texts], i) => JSON.stringify(engines[name](...texts)) === right[i];"
        "  return cases.every(same);"
        "} catch (crash) { return false; } };"
    )
    found = list(mutants())
    assert len(found) > 100
    assert v8.eval(f"survives({json.dumps(ENGINES)})")
    assert not [change for change, text in found if v8.eval(f"survives({json.dumps(text)})")]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with the widgets and nothing else, opened as a file."""
    folder = tmp_path_factory.mktemp("page")
    for name in ("widgets.js", "widgets.css"):
        shutil.copy(ASSETS / name, folder)
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Widgets</title>'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="stylesheet" href="widgets.css"><body class="md-typeset">'
        f'{"".join(widget() for widget in widgets.WIDGETS.values())}<script src="widgets.js">'
        "</script></body></html>",
        encoding="utf-8",
    )
    return (folder / "index.html").as_uri()


@pytest.fixture
def page(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(5000)
    page.goto(address)
    yield page
    page.close()


def rows(widget):
    return [line.split("\t") for line in widget.locator("tbody tr").all_inner_texts()]


def test_typing_another_length_shows_its_windows(page):
    """Ten ids, T = 8, k = 1: ⌈2 / 1⌉ = 2 windows."""
    widget = page.locator("[data-widget=windows]")
    widget.get_by_label("seq_len").fill("8")
    assert widget.get_by_role("status").inner_text() == "N = 10, W = ⌈(10 − 8) / 1⌉ = 2"
    assert rows(widget) == [
        ["0", "3, 1, 4, 1, 5, 2, 6, 5", "1, 4, 1, 5, 2, 6, 5, 3"],
        ["1", "1, 4, 1, 5, 2, 6, 5, 3", "4, 1, 5, 2, 6, 5, 3, 5"],
    ]


def test_a_refusal_is_said_and_its_field_is_marked_until_it_is_mended(page):
    widget = page.locator("[data-widget=cut]")
    field, result = widget.get_by_label("val_fraction"), widget.locator(".widget-result")
    field.fill("1.5")
    words = "val_fraction must be at least 0 and below 1, got 1.5"
    assert widget.get_by_role("alert").inner_text() == words
    assert field.get_attribute("aria-invalid") == "true"
    assert widget.get_by_label("seq_len").get_attribute("aria-invalid") is None
    assert result.is_hidden()
    assert widget.locator("[role=status]").inner_text() == ""
    field.fill("0.5")
    assert field.get_attribute("aria-invalid") is None
    assert widget.locator("[role=alert]").inner_text() == ""
    assert result.is_visible()


def test_the_tab_key_goes_from_field_to_field(page):
    names = []
    for _ in range(17):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
    assert names[:3] == ["ids", "seq_len", "stride"]
    assert names[3:6] == ["N", "val_fraction", "seq_len"]
    assert names[6:8] == ["n_windows", "batch_size"]
    assert names[8:14] == ["lengths", "seq_len", "order", "long_doc", "tail", "TABLE"]
    assert names[14:] == ["N", "seq_len", "stride"]


@pytest.mark.parametrize("name", widgets.WIDGETS)
def test_the_page_draws_the_first_result_as_the_build_did(page, name):
    widget = page.locator(f"[data-widget={name}]")
    built = widget.inner_html()
    widget.locator("input").first.dispatch_event("input")
    assert widget.inner_html() == built


def test_the_page_draws_a_capped_table_as_the_build_would(page):
    """40 ids, T = 4, k = 1: 36 windows, of which 16 are shown."""
    widget = page.locator("[data-widget=windows]")
    widget.get_by_label("token ids").fill(" ".join(map(str, range(40))))
    (table,) = widgets.windows(range(40), 4, 1).tables
    assert table.more == 20
    result = widget.locator(".widget-result")
    shown = result.inner_html()
    result.evaluate("(part, html) => { part.innerHTML = html; }", widgets.drawn(table))
    assert shown == result.inner_html()


def test_choosing_a_policy_lays_the_rows_out_anew(page):
    """In order: 3, 2 and 3 of 9 fill a row, then 6 of 9 and 2 of 4; the last 2 do not fill one."""
    widget = page.locator("[data-widget=packing]")
    widget.get_by_label("lengths").fill("3 2 9 4")
    widget.get_by_label("seq_len").fill("7")
    widget.get_by_label("order").select_option("sequential")
    assert [" ".join(row) for row in rows(widget)] == [
        "0 A0 A1 A2 B0 B1 C0 C1 C2",
        "1 C3 C4 C5 C6 C7 C8 D0 D1",
        "2 D2 D3 pad pad pad pad pad pad",
    ]
    assert widget.locator("td.t3").all_inner_texts() == [f"C{at}" for at in range(9)]
    widget.get_by_label("tail").select_option("drop")
    assert len(rows(widget)) == 2
    assert widget.get_by_role("status").inner_text().endswith("Padding: 0. Dropped: 2.")


def test_policies_that_do_not_go_together_are_marked_both(page):
    widget = page.locator("[data-widget=packing]")
    widget.get_by_label("tail").select_option("drop")
    assert widget.get_by_role("alert").inner_text().startswith("tail='drop' leaves out")
    for name in ("order", "long_doc", "tail"):
        marked = None if name == "long_doc" else "true"
        assert widget.get_by_label(name).get_attribute("aria-invalid") == marked


def test_a_target_that_does_not_count_is_in_brackets_and_without_colour(page):
    """4 ids, T = 2, s = 1: windows from 0 and 1; target 2 is in both, and counts in the first."""
    widget = page.locator("[data-widget=evaluation]")
    widget.get_by_label("seq_len").fill("2")
    widget.get_by_label("stride").fill("1")
    widget.get_by_label("Ids in the stream").fill("4")
    assert rows(widget) == [
        ["0", "0", "1", "2", ""],
        ["1", "1", "", "(1)", "2"],
        ["predicted", "", "1", "2", "1"],
        ["counted", "", "1", "1", "1"],
    ]
    assert widget.locator("td.t1").all_inner_texts() == ["1", "2", "2"]


def test_a_long_row_moves_in_itself_and_can_be_reached_without_a_mouse(page):
    """40 ids in rows of 40: 32 places are shown, more than a phone is wide."""
    widget = page.locator("[data-widget=packing]")
    widget.get_by_label("lengths").fill("40")
    widget.get_by_label("seq_len").fill("39")
    result = widget.locator(".widget-result")
    assert "(the first 32 of 40 places)" in result.inner_text()
    assert result.evaluate("part => part.scrollWidth > part.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    widget.get_by_role("table").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("part => part.scrollLeft > 0", arg=result.element_handle())


def test_the_stored_orders_are_shown_for_their_windows_and_batches_alone(page):
    widget = page.locator("[data-widget=batches]")
    stored = widget.get_by_role("table", name="Stored order of two epochs")
    assert stored.is_visible()
    widget.get_by_label("n_windows").fill("11")
    assert stored.is_hidden()
    widget.get_by_label("n_windows").fill("10")
    assert stored.is_visible()


def test_the_largest_inputs_are_answered_and_stay_within_a_phone(page):
    page.get_by_label("token ids").fill("999999999999999 " * 3000)
    page.locator("[data-widget=windows]").get_by_label("seq_len").fill("1500")
    page.locator("[data-widget=cut]").get_by_label("Ids in the stream").fill("10000000")
    page.get_by_label("n_windows").fill("9" * 15)
    page.locator("[data-widget=packing]").get_by_label("lengths").fill("39 37 " * 13)
    page.locator("[data-widget=evaluation]").get_by_label("Ids in the stream").fill("100000")
    assert page.get_by_text("… and 1,484 more").count() == 32 + 1
    assert "= 250,000,000,000,000." in page.get_by_role("status").nth(2).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_typed_is_never_read_as_html(page):
    page.get_by_label("token ids").fill("<b>7</b>")
    assert page.get_by_role("alert").first.inner_text().endswith("got <b>7</b>")


def test_without_javascript_the_first_result_stands(browser, address):
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    assert page.locator("noscript p").first.is_visible()
    assert len(rows(page.locator("[data-widget=windows]"))) == 6
    page.close()


def test_the_stored_orders_are_those_that_pandas_gives_the_pipeline():
    """Seed 42, as in the docstring of iterate_batches; the second epoch goes on from there."""
    first, second = widgets.stored_orders(10, 4).rows
    assert first == ["0", "2, 9, 1, 6", "3, 8, 5, 7", "4, 0"]
    drawn = sorted(int(window) for batch in second[1:] for window in batch.split(", "))
    assert drawn == list(range(10))
