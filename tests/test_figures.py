"""Figures, tables and values: well-formed, and with the numbers of the real functions."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch
from conftest import ROOT
from test_floors import NO_TORCH, imports

from config import Config
from literate import ties
from literate.figures import FIGURES, WIDTH, road_stops
from literate.tables import TABLES
from literate.values import VALUES, default_run
from model import GPT
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
    assert set(FIGURES) == {"road", "tokens", "cut", "windows", "strides", "orders"}
    assert set(TABLES) == {
        "rows-to-text",
        "split-windows",
        "window-counts",
        "eval-windows",
        "batch-sizes",
        "trace",
        "contexts",
        "leaks",
        "settings",
    }


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
    assert len(source.encode()) < 6 * 1024
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


# ---- the road


def test_the_road_is_the_calls_of_main_in_the_order_in_which_they_are_made():
    stops = [(stop.symbol, stop.gives) for stop in road_stops()]
    assert stops == [
        ("training.choose_device", ""),
        ("data.load_corpus", "text"),
        ("data.build_tokenizer", "tok"),
        ("data.encode_corpus", "ids"),
        ("data.split_ids", "train_ids, val_ids"),
        ("plan.check_sides", ""),
        ("data.make_windows", "inputs, targets"),
        ("model.GPT", "model"),
        ("plan.Plan", ""),
        ("stream.text_stream", ""),
        ("stream.cut_stream", "train, val"),
        ("plan.leaks", ""),
        ("training.Trainer", "trainer"),
        ("data.iterate_batches", "xb, yb"),
        ("training.interrupts", ""),
        ("training.Trainer.train_on", "loss"),
        ("scoring.evaluate", "receipt"),
    ]


def test_the_road_follows_the_code(monkeypatch):
    """With windows made before the split, the figure shows it."""
    index = ties.read()
    lines = index.file("train.py").text.splitlines(keepends=True)
    windows = next(i for i, line in enumerate(lines) if "= make_windows(" in line)
    split = next(i for i, line in enumerate(lines) if "= split_ids(" in line)
    lines.insert(split, lines.pop(windows))
    changed = ties.File("train.py", "".join(lines))
    index = replace(index, files={**index.files, "train.py": changed})
    monkeypatch.setattr(ties, "read", lambda: index)
    order = [stop.symbol for stop in road_stops()]
    assert order.index("data.make_windows") + 1 == order.index("data.split_ids")


def test_each_step_of_the_road_links_to_its_lesson_and_each_module_to_its_source():
    links = {node[1].text.split()[0]: node.get("href") for node in drawn("road").iter("a")}
    assert links["split_ids"] == "split.md"
    assert links["make_windows"] == "windows.md"
    assert links["GPT"] == "model.md"
    assert links["iterate_batches"] == "batches.md"
    assert links["evaluate"] == "run.md"
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


# ---- values


def test_the_numbers_of_the_default_run_are_those_of_its_plan():
    """The weights are counted here by the model itself."""
    run = default_run()
    config = run.config
    model = GPT(run.tok.vocab_size, config.n_layer, config.n_head, config.d_model)
    planned = make_plan(
        config, run.text.documents, run.tok, len(run.ids), len(run.train_ids), model
    )
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
