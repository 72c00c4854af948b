"""Figures, tables and values: well-formed, and with the numbers of the real functions."""

import re
from dataclasses import fields, replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from conftest import ROOT
from test_floors import NO_TORCH, imports

from batches import make_train_loader
from config import Config
from feed import Prepared
from literate import ties
from literate.figures import FIGURES, WIDTH, road_stops
from literate.tables import TABLES
from literate.values import VALUES, default_run
from model import GPT
from stream import cut_stream, text_stream
from train import make_plan


def drawn(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(FIGURES[name]())


def texts(name: str) -> list[str]:
    return ["".join(node.itertext()) for node in drawn(name).iter("text")]


def boxes(name: str) -> list[tuple[float, float, float, float, str]]:
    """x, y, width, height and tone of each box, and of each cell of a row of them."""
    found = []
    for node in drawn(name).iter():
        tone = (node.get("class") or "").removeprefix("row").strip()
        if node.tag == "rect":
            sides = (float(node.get(side)) for side in ("x", "y", "width", "height"))
            found.append((*sides, tone))
        if row := re.fullmatch(r"M([\d.]+) ([\d.]+)h([\d.]+)", node.get("d") or ""):
            x, middle, length = map(float, row.groups())
            pitch = float(node.get("stroke-dasharray").removesuffix(" 2")) + 2
            cells = range(round((length + 2) / pitch))
            found += [(x + pitch * cell, middle - 12, pitch - 2, 24, tone) for cell in cells]
    return found


def rows(name: str) -> list[list[str]]:
    return TABLES[name]()[1]


# ---- every entry


def test_the_registries_hold_what_the_pages_ask_for():
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    asked = [(kind, name) for text in pages for kind, name, *_ in ties.blocks(text)]
    assert {name for kind, name in asked if kind == "figure"} == set(FIGURES)
    assert {name for kind, name in asked if kind == "table"} == set(TABLES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_in_words_what_it_shows_and_names_nothing_twice(name):
    svg = drawn(name)
    title, desc = svg[0], svg[1]
    assert (title.tag, desc.tag) == ("title", "desc")
    assert len(title.text) > 10
    assert len(desc.text) > 60
    ids = [node.get("id") for node in svg.iter() if node.get("id")]
    assert ids == [f"svg-{name}", f"svg-{name}-title", f"svg-{name}-desc"]
    assert [svg.get("aria-labelledby"), svg.get("aria-describedby")] == ids[1:]


@pytest.mark.parametrize("name", FIGURES)
def test_only_a_figure_without_links_is_an_image(name):
    """What is in an image is not read aloud, and so a link in one would be lost."""
    svg = drawn(name)
    assert svg.get("role") == ("group" if svg.find(".//a") is not None else "img")
    assert (svg.get("role") == "group") == (name == "road")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_small_and_styles_itself_alone(name):
    source = FIGURES[name]()
    assert len(source.encode()) < (8 if name == "road" else 6) * 1024
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", drawn(name).find("style").text)
    assert all(re.match(rf"#svg-{name}( |$)", rule) for rule in rules)
    assert "http" not in source


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_drawn_outside_a_figure_and_no_box_lies_on_another(name):
    """Text is measured with 8 units a letter, more than any font here takes."""
    svg = drawn(name)
    _, _, width, height = map(float, svg.get("viewBox").split())
    assert width == WIDTH
    for i, (x, y, w, h, _) in enumerate(boxes(name)):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for other_x, other_y, other_w, other_h, _ in boxes(name)[:i]:
            apart = x >= other_x + other_w or other_x >= x + w
            assert apart or y >= other_y + other_h or other_y >= y + h
    for node in svg.iter("text"):
        length = 8 * len("".join(node.itertext()))
        kind = node.get("class") or ""
        left = float(node.get("x")) - length * (0.5 if "c" in kind else "e" in kind)
        assert left > -8
        assert left + length < width + 8
        assert 10 < float(node.get("y")) < height


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_as_many_cells_in_each_row_as_headings(name):
    headings, body = TABLES[name]()
    assert body
    for row in body:
        assert len(row) == len(headings)
        assert all(isinstance(cell, str) for cell in row)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_a_short_text(name):
    assert re.fullmatch(r"[0-9.,]+", VALUES[name]())


# ---- figures


def test_the_cut_figure_shows_15_and_5_ids_12_and_2_windows_and_3_that_cross():
    """20 ids at 0.25 are cut at 15; windows of 4 ids that start at 12, 13 and 14 cross."""
    shown = texts("cut")
    assert {"cut = 15", "15 ids, 12 windows", "5 ids, 2 windows", "3 windows"} <= set(shown)
    assert [text for text in shown if text.startswith("window ")] == [
        "window 12",
        "window 13",
        "window 14",
    ]
    tones = {y: "" for _, y, *_ in boxes("cut")}
    for _, y, *_, tone in sorted(boxes("cut")):
        tones[y] += tone
    assert list(tones.values()) == [15 * "i" + 5 * "o", "iiio", "iioo", "iooo"]


def test_the_windows_figure_shows_three_windows_and_one_id_in_none():
    """Ten ids, T = 4, k = 2: starts 0, 2 and 4; the last target is at place 8."""
    svg = drawn("windows")
    places, *groups = [group for group in svg.iter("g") if group.get("class") == "c"]
    place = {node.get("x"): int(node.text) for node in places}
    lines = [{place[node.get("x")]: int(node.text) for node in group} for group in groups]
    assert lines == [
        dict(enumerate([3, 1, 4, 1, 5, 2, 6, 5, 3, 5])),
        dict(enumerate([3, 1, 4, 1], 0)),
        dict(enumerate([1, 4, 1, 5], 1)),
        dict(enumerate([4, 1, 5, 2], 2)),
        dict(enumerate([1, 5, 2, 6], 3)),
        dict(enumerate([5, 2, 6, 5], 4)),
        dict(enumerate([2, 6, 5, 3], 5)),
    ]
    assert [box[0] for box in boxes("windows") if box[-1] == "n"] == [76 + 9 * 32]
    assert texts("windows").count("k = 2") == 2


def test_the_tokens_figure_shows_merges_lone_bytes_and_their_ids():
    """ï was never learned and is two bytes, C3 AF: 195 and 175."""
    shown = texts("tokens")
    tokens = "N ell 's ␣cat ␣had ␣ 1 2 ␣n a C3 AF ve ␣i d e as ."
    ids = [78, 433, 471, 620, 331, 32, 49, 50, 295, 97, 195, 175, 354, 264, 100, 101, 646, 46]
    assert shown[0] == "Nell's cat had 12 naïve ideas."
    assert shown[1:37:2] == tokens.split()
    assert shown[2:37:2] == list(map(str, ids))
    assert shown[-1] == "30 characters, 31 bytes, 18 tokens; ␣ is a space"
    assert default_run().tok.decode(ids) == shown[0]
    assert "".join(tone or "-" for *_, tone in boxes("tokens")[:18]) == "-iiii---i---ii--i-"


def test_the_orders_figure_shows_the_stored_orders():
    numbers = [int(text) for text in texts("orders") if text.isdigit()]
    assert numbers[:10] == list(range(10))
    assert numbers[10:20] == [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    assert numbers[20:] == [5, 9, 6, 2, 0, 1, 7, 3, 4, 8]
    assert {"epoch 0", "epoch 1", "batch 0", "batch 2"} <= set(texts("orders"))


def test_the_strides_figure_shows_once_twice_and_about_64_times_as_many_windows():
    """149,735 ids and T = 64: ⌈149,671/64⌉ = 2,339, ⌈149,671/32⌉ = 4,678, and 149,671."""
    assert texts("strides")[1:] == [
        "k = T = 64",
        "2,339 (× 1.00)",
        "k = T/2 = 32",
        "4,678 (× 2.00)",
        "k = 1",
        "149,671 (× 63.99)",
    ]
    lengths = [width for _, _, width, *_ in boxes("strides")]
    assert lengths == pytest.approx([2.4988, 4.9977, 159.9], rel=1e-2)


def test_the_context_figure_shows_fixed_windows_side_by_side_and_random_ones_where_drawn():
    """21 ids, T = 4: five fixed windows; their targets with one id are 1, 5, 9, 13 and 17."""
    lines = {}
    for x, y, _, height, tone in boxes("context-places"):
        if height == 24:
            lines.setdefault(y, {})[round(x / 19)] = tone
    fixed, *drawn = lines.values()
    assert fixed == {place: "o" if place % 4 == 1 else "i" for place in range(1, 21)}
    firsts = [place for line in drawn for place, tone in line.items() if tone == "o"]
    starts = make_train_loader(torch.arange(21), 4, 3, 1337).batch_at(0)[0][:, 0]
    assert sorted(firsts) == sorted(starts + 1)


def test_the_killed_run_loses_steps_4_to_6_and_takes_them_again():
    """Three batches an epoch: epochs begin at steps 0, 3, 6 and 9."""
    shown = texts("killed-run")
    assert shown[shown.index("step") + 1 :][:4] == ["0", "1", "2", "3"]
    first, then = (
        [round((x - 66) / 27) for x, y, *_ in boxes("killed-run") if y == row] for row in (30, 90)
    )
    lost = [
        round((x - 66) / 27) for x, y, *_, tone in boxes("killed-run") if (y, tone) == (30, "n")
    ]
    assert (first, then, lost) == (list(range(7)), list(range(4, 12)), [4, 5, 6])


def test_the_token_file_figure_shows_the_bytes_of_three_ids_and_of_the_wrapped_one():
    """511 = 1 · 256 + 255: FF 01; 70,000 − 65,536 = 4,464 = 17 · 256 + 112: 70 11."""
    shown = texts("token-file")
    first = shown.index("bytes in the file")
    assert shown[:first] == ["ids", "0", "511", "65,535", "00", "00", "FF", "01", "FF", "FF"]
    assert shown[first + 1 :] == [
        "70,000 by a cast without a check",
        *("70,000", "− 65,536 →", "4,464", "70", "11", "another id"),
    ]


def test_the_context_figure_and_the_table_of_strides_show_what_was_measured():
    """At s = T = 16 the mean context is (16 + 1)/2; with less stride, more context, and passes."""
    shown, table = texts("context-loss"), rows("strides")
    assert table[0][:4] == ["16", "16", "1", "8.5"]
    assert table[3][:4] == ["16", "1", "16", "16.0"]
    assert [row[1] for row in table] == ["16", "8", "4", "1", "64", "32", "16", "1"]
    assert [row[4] for row in table[:2]] == ["1.00", "2.00"]
    for row in table[:4]:
        assert {f"s = {row[1]}", row[3], row[6]} <= set(shown)
    places = [float(node.get("cx")) for node in drawn("context-loss").iter("circle")]
    assert places == sorted(places)
    assert places[1] - places[0] == pytest.approx(330 * (12.5 - 8.5) / 7.5, rel=1e-2)


def test_the_table_of_savings_has_two_strides_for_each_length_that_was_measured():
    assert [row[0] for row in rows("savings")] == ["64", "128", "256"]
    assert all(
        re.fullmatch(r"\d+\.\d\d and \d+\.\d\d", cell) for r in rows("savings") for cell in r[1:]
    )


# ---- the road


def test_the_road_is_the_calls_of_main_in_the_order_in_which_they_are_made():
    stops = [(stop.symbol, stop.gives) for stop in road_stops()]
    assert stops == [
        ("data.load_corpus", "text"),
        ("data.build_tokenizer", "tok"),
        ("data.encode_corpus", "ids"),
        ("stream.text_stream", "stream"),
        ("stream.encode_documents", "stream"),
        ("data.split_ids", "train_ids"),
        ("stream.cut_stream", "train, val"),
        ("plan.check_sides", ""),
        ("data.make_windows", "inputs, targets"),
        ("model.count_weights", ""),
        ("plan.check_memory", ""),
        ("model.GPT", "model"),
        ("plan.Plan", ""),
        ("plan.leaks", ""),
        ("training.Trainer", "trainer"),
        ("data.iterate_batches", ""),
        ("stream.segments_at", ""),
        ("training.interrupts", ""),
        ("scoring.evaluate", ""),
        ("loop.train_steps", "receipt"),
    ]


def test_the_road_follows_the_code(monkeypatch):
    """With the model made before the windows, the figure shows it."""
    index = ties.read()
    lines = index.file("train.py").text.splitlines(keepends=True)
    model = next(i for i, line in enumerate(lines) if " model = GPT(" in line)
    windows = next(i for i, line in enumerate(lines) if "= make_windows(" in line)
    lines.insert(windows, lines.pop(model))
    changed = ties.File("train.py", "".join(lines))
    index = replace(index, files={**index.files, "train.py": changed})
    monkeypatch.setattr(ties, "read", lambda: index)
    order = [stop.symbol for stop in road_stops()]
    assert order.index("model.GPT") + 1 == order.index("data.make_windows")


def test_each_step_of_the_road_links_to_its_lesson_and_each_module_to_its_source():
    links = {node[1].text.split()[0]: node.get("href") for node in drawn("road").iter("a")}
    assert links["split_ids"] == "split.md"
    assert links["make_windows"] == "windows.md"
    assert links["GPT"] == "model.md"
    assert links["iterate_batches"] == "batches.md"
    assert links["evaluate"].startswith("source/scoring.md#L")
    assert links["data.py"] == "source/data.md"
    line = links["check_sides"].removeprefix("source/plan.md#L")
    assert (ROOT / "plan.py").read_text().splitlines()[int(line) - 1].startswith("def check_sides")
    for target in links.values():
        assert (ROOT / "docs" / target.partition("#")[0]).exists()


# ---- tables


def test_rows_become_one_text():
    assert rows("rows-to-text") == [
        ['`[" hello ", null, "world"]`', r'`"hello\nworld\n"`'],
        [r'`["one", " ", "two\nthree"]`', r'`"one\ntwo\nthree\n"`'],
        ['`["NA", "007"]`', r'`"NA\n007\n"`'],
    ]


def test_the_split_table_loses_t_windows_in_each_row():
    """20 at 0.25: 15 − 3 = 12 and 5 − 3 = 2 of 17, so 3 cross; 3,000 at 0.1: 2,684 and 284."""
    plain = [
        [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in rows("split-windows")
    ]
    assert plain == [
        ["20 · 0.25 · 3", "15", "12", "2", "3"],
        ["40 · 0.2 · 4", "32", "28", "4", "4"],
        ["3000 · 0.1 · 16", "2,700", "2,684", "284", "16"],
    ]


def test_the_nine_window_counts():
    """(10, 4, 3): ⌈6/3⌉ = 2 windows over 0 … 7, and 2 ids unused."""
    assert [" ".join(row) for row in rows("window-counts")] == [
        "10 4 1 6 6 0",
        "10 4 2 3 3 1",
        "10 4 3 2 2 2",
        "10 4 4 2 2 1",
        "10 4 6 1 1 5",
        "10 4 7 1 1 5",
        "5 4 1 1 1 0",
        "10 1 1 9 9 0",
        "40 16 1 24 24 0",
    ]


def test_the_evaluation_windows_score_the_targets_1_to_22_once():
    """The last window starts at 23 − 1 − 8 = 14, and 6 of its targets were scored before."""
    assert rows("eval-windows") == [
        ["0", "1–8", "0", "1–8"],
        ["3", "4–11", "5", "9–11"],
        ["6", "7–14", "5", "12–14"],
        ["9", "10–17", "5", "15–17"],
        ["12", "13–20", "5", "18–20"],
        ["14", "15–22", "6", "21–22"],
    ]


def test_batch_sizes_and_the_short_last_batch():
    """46 = 16 + 16 + 14, 49 = 3 × 16 + 1."""
    assert rows("batch-sizes") == [
        ["10", "4", "3", "4, 4, 2"],
        ["46", "16", "3", "16, 16, 14"],
        ["48", "16", "3", "16, 16, 16"],
        ["49", "16", "4", "16, 16, 16, 1"],
        ["1", "16", "1", "1"],
    ]


def test_one_window_is_eight_predictions():
    assert rows("contexts")[0] == ["0", "`3`", "`1`"]
    assert rows("contexts")[4] == ["4", "`3 1 4 1 5`", "`2`"]
    assert rows("contexts")[7] == ["7", "`3 1 4 1 5 2 6 5`", "`3`"]
    assert len(rows("contexts")) == 8


def test_the_trace_ends_with_the_shape_that_the_model_gives():
    """149,735 training ids give ⌈149,671/32⌉ = 4,678 windows."""
    here = {row[1]: row[2] for row in rows("trace")}
    assert here["ids `(N,)`"] == "166,373"
    assert here["training ids `(cut,)`"] == "149,735"
    assert here["validation ids `(N - cut,)`"] == "16,638"
    assert here["inputs `(W, T)`"] == here["targets `(W, T)`"] == "4,678 × 64"
    assert here["a batch `(B, T)`"] == "32 × 64"
    model = GPT(default_run().tok.vocab_size, n_layer=1, n_head=1, d_model=2)
    with torch.inference_mode():
        logits = model(torch.zeros(32, 64, dtype=torch.int64))
    assert here["logits `(B, T, V)`"] == " × ".join(f"{size:,}" for size in logits.shape)


def test_the_plan_names_two_leaks():
    tokenizer, cut = (row[0] for row in rows("leaks"))
    assert tokenizer == "the tokenizer was fitted on the validation text too, 54,070 bytes"
    assert re.fullmatch(r"the cut divides document 726: .*\b178\b.*\b1\b.*", cut)


def test_every_setting_has_its_flag_its_default_and_its_help():
    table = rows("settings")
    assert table[0][0] == "`--corpus-path`<br>data/corpus.csv"
    assert ["`--seq-len`<br>64", "Targets in one window (T)."] in table
    assert [
        "`--epochs`<br>None",
        "Times that each window is seen. Unless --steps is given: 3.",
    ] in table
    assert len(table) == len(Config.__dataclass_fields__)
    assert len({meaning for _, meaning in table}) == len(table)


def test_the_steps_from_a_checkpoint_on_have_their_places_and_windows():
    """Step 6 is batch 0 of epoch 2, whose order is that of seed 44."""
    table = rows("resumed-steps")
    assert [row[:4] for row in table] == [
        ["4", "1", "1", "43"],
        ["5", "1", "2", "43"],
        ["6", "2", "0", "44"],
        ["7", "2", "1", "44"],
    ]
    order = np.random.default_rng(44).choice(10, 10, replace=False)
    assert table[2][4] == f"`{' '.join(map(str, order[:4]))}`"


def test_every_flag_either_may_change_on_resume_or_is_refused():
    (may, those), (refused, others) = rows("may-change")
    assert (may, refused) == ("may change", "refused")
    assert "`--threads`" in those
    assert "`--lr`" in others
    flags = (those + ", " + others).split(", ")
    named = {f.name for f in fields(Config)} - {"resume", "plan"}
    assert sorted(flags) == sorted(f"`--{name.replace('_', '-')}`" for name in named)


def test_a_cast_keeps_another_id_where_save_uint16_refuses():
    assert rows("token-bytes") == [
        ["0", "0", "`00 00`"],
        ["511", "511", "`FF 01`"],
        ["65,535", "65,535", "`FF FF`"],
        ["65,536", "0", "refuses"],
        ["70,000", "4,464", "refuses"],
        ["−1", "65,535", "refuses"],
    ]


def test_what_drawing_with_repeats_costs_in_two_runs():
    """799 × 32 × 32 / 217,444 = 3.76; the default run has 441 steps of 32 windows."""
    assert rows("chances") == [
        ["seed 000", "217,444", "25,600", "5.7 %", "3.8"],
        ["default run", "149,671", "14,112", "4.6 %", "3.0"],
    ]


def test_the_hand_documents_fall_on_their_sides_and_a_cut_parts_two_of_them():
    """46 ids at 0.3 are cut at 32, inside melon; pear is before the cut and after it."""
    assert [" ".join(row[1:]) for row in rows("places")] == [
        "pear 0.372 train train",
        "quince 0.078 val train",
        "plum tart 0.618 train train",
        "lemon 0.278 val train",
        "melon 0.781 train train and val",
        "pear 0.372 train val",
        "cherry 0.758 train val",
    ]
    shown, tones = texts("one-side"), [tone for *_, tone in boxes("one-side")]
    assert "grape" in shown and shown.count("plum tart") == 2
    assert "".join(tones[:8]) == "iiiiiooo"
    assert "".join(tones[8:15]) == "ioioiii"
    assert "".join(tones[15:22]) == "oiooiii"


def test_what_leaks_buy_is_shown_as_it_was_measured():
    assert [row[:2] for row in rows("leak-orders")] == [
        ["text cut", "everything"],
        ["documents divided", "everything"],
        ["documents divided", "training text"],
    ]
    assert [row[0] for row in rows("each-story-twice")] == ["30", "60", "90", "120", "150"]


def test_what_each_layout_costs_is_shown_as_it_was_measured():
    """(145,648 − 257) // 256 + 1 = 568 windows over 568 · 256 + 1 ids leave 239 of `eot`.

    Of 703 documents, the first token of one is no target, and that of another is among the 239.
    """
    found = {row[0]: row[1:] for row in rows("layout-costs")}
    assert len(found) == 8
    assert found["`eot`"][:4] == ["568", "1.000", "239", "0"]
    assert found["`eot`, isolated"][:4] == ["568", "1.000", "239", "701"]
    assert found["best fit, `fragment`"][2] == "0"
    assert all(" / " in row[-1] for row in found.values())


def test_the_fates_figure_shows_each_token_of_two_documents_in_its_tone():
    """Windows at 0, 2 and 4; place 0 is context, 3 masked, 8 in no window."""
    tones = [tone or "-" for *_, tone in boxes("token-fates")]
    assert "".join(tones[:2]) == "--"
    assert "".join(tones[2:14]) == "-iio" + "-oii" + "-iii"
    assert "".join(tones[14:23]) == "-iioiiiin"
    shown = texts("token-fates")
    assert shown[shown.index("predictions") + 1 :][:9] == list("011012110")
    assert shown[-4:] == ["trained", "masked", "context only", "dropped"]


def test_the_ledger_of_the_figure_and_of_three_layouts():
    """The sums of each layout are its tokens; packed rows have more context and mask less."""
    assert rows("hand-ledger")[:6] == [
        ["read", "3", "6"],
        ["trained", "2", "4"],
        ["times", "2", "5"],
        ["context only", "1", "0"],
        ["masked", "0", "1"],
        ["dropped", "0", "1"],
    ]
    sums = {row[0]: [int(n.replace(",", "")) for n in row[1:]] for row in rows("ledger-totals")}
    parts = zip(*(sums[n] for n in ("trained", "context only", "masked", "dropped")), strict=True)
    assert [sum(four) for four in parts] == sums["tokens read"] == [149_735] * 3
    assert sums["context only"][1] < sums["context only"][2]
    assert sums["masked"][1] > sums["masked"][2]
    assert sums["predictions"][0] == 4678 * 64
    assert sums["predictions"][2] == sums["trained"][2]


def test_the_explained_window_is_over_the_end_of_the_first_story():
    table = rows("explained-window")
    assert len(table) == 9
    assert [row[4][:3] for row in table] == ["no:", *["yes"] * 4, "no:", *["yes"] * 3]
    assert table[5][4] == "no: its input is of another document"
    assert table[4][1] == "end-of-text"
    first = default_run().text.documents["text"].iloc[0]
    for _, token, record, characters, *_ in table[:4]:
        start, stop = map(int, characters.split("–"))
        assert f"`{first[start:stop].replace(' ', '␣')}`" == token
        assert record.startswith("0, ")


# ---- values


def test_the_numbers_of_the_default_run_are_those_of_its_plan():
    """The weights are counted here by the model itself."""
    run = default_run()
    config = run.config
    model = GPT(run.tok.vocab_size, config.n_layer, config.n_head, config.d_model)
    stream = text_stream(run.text.documents, run.ids, run.tok)
    train, val = cut_stream(stream, len(run.train_ids))
    had = Prepared(run.text.documents, run.tok, train, train, val, None, "")
    planned = make_plan(config, had, model)
    assert run.plan == planned
    assert VALUES["corpus.parameters"]() == "917,760"


def test_the_values_by_hand():
    """⌈0.9 × 166,373⌋ = 149,735; ⌈4,678/32⌉ = 147 batches; 3 × 147 = 441 steps."""
    assert VALUES["corpus.ids"]() == "166,373"
    assert VALUES["corpus.cut"]() == "149,735"
    assert VALUES["corpus.val_ids"]() == "16,638"
    assert VALUES["corpus.batches"]() == "147"
    assert VALUES["corpus.steps"]() == "441"
    assert VALUES["default.max_rows"]() == "2,000"
    assert VALUES["default.epochs"]() == "3"
    assert VALUES["default.eval_stride"]() == "32"
    assert VALUES["default.val_fraction"]() == "0.1"


@pytest.mark.parametrize("name", ["figures", "tables", "values"])
def test_what_the_build_computes_needs_no_torch(name):
    ours = {path.stem for path in ROOT.glob("*.py")}
    assert "torch" not in imports(f"literate/{name}")
    assert imports(f"literate/{name}") & ours <= NO_TORCH


def test_five_documents_lie_in_the_rows_that_were_worked_by_hand():
    """Rows of 8 for 5, 11, 3, 6 and 2 ids: by best fit, in order, and with B cut down to 8."""
    told = drawn("packed-rows")[1].text
    assert "best-fit, fragment: A 5, B 3; B 8; C 3, padding 5; D 6, E 2." in told
    assert "sequential, fragment: A 5, B 3; B 8; C 3, D 5; D 1, E 2, padding 5." in told
    assert "best-fit, truncate: A 5, C 3; B 8; D 6, E 2." in told
    tones = [tone for *_, tone in boxes("packed-rows")]
    assert tones.count("n") == 2


def test_the_policies_cost_what_the_table_says():
    """Each of 800 stories has over 65 ids but eleven, and so fills a row of 65 when truncated."""
    found = rows("packing-policies")
    counts = ["2,560", "2,560", "2,559", "800", "800", "11", "374", "325"]
    assert [row[2] for row in found] == counts
    assert found[6][3] == "800"


# ---- two masks


def test_two_masks_take_away_one_target_and_six_looks_back():
    """First document: 3 inputs, 2 targets twice, 1 + 2 + 3 looks; second: 2, 2 twice, 1 + 2.

    Dashed: 21 twice, and 3 looks of two places. One box of each tone is in the legend.
    """
    tones = [tone for *_, tone in boxes("two-masks")]
    assert {tone: tones.count(tone) for tone in set(tones)} == {"i": 14, "o": 10, "n": 9}
    told = drawn("two-masks")[1].text
    assert "Counted are 12 9 22 9; place 2 of y = 21 is not." in told
    assert "place 2 sees 11 12 9; place 3 sees 21; place 4 sees 21 22." in told
