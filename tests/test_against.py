"""Grading: right functions pass, stubs are not written yet, and each mistake fails by its name."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from tasks import LESSONS, OWNERS, load, tasks_of

import loaders
import stream
from data import make_windows
from literate.figures_exercises import files
from packing import pack
from scoring import evaluate, score_windows
from tokenizer import EOT
from windows import eval_windows, rows_view, sliding_windows, window_order

TESTS = ROOT / "tests"
STUBS = sorted((ROOT / "exercises").glob("*.py"))
NOT_WRITTEN = "not written yet"


# ---- wrong solutions: what somebody may well write, and the test that names the mistake


def one_too_few(ids, seq_len, stride=1):
    rows = rows_view(ids, seq_len)[:-1:stride]
    return pd.DataFrame(rows[:, :-1]), pd.DataFrame(rows[:, 1:])


def side_by_side(ids, seq_len, stride=1):
    rows = rows_view(ids, seq_len)[:: seq_len + 1]
    return pd.DataFrame(rows[:, :-1]), pd.DataFrame(rows[:, 1:])


def targets_not_moved(ids, seq_len, stride=1):
    rows = rows_view(ids, seq_len)[::stride]
    return pd.DataFrame(rows[:, :-1]), pd.DataFrame(rows[:, :-1])


def windows_that_are_copies(ids, seq_len, stride=1):
    return tuple(frame.copy() for frame in make_windows(ids, seq_len, stride))


def windows_over_the_cut(ids, val_fraction):
    cut = int((1 - val_fraction) * len(ids))
    return ids[: cut + 3], ids[cut:]  # so that no window is lost


def cut_rounded_to_the_nearest(ids, val_fraction):
    cut = round((1 - val_fraction) * len(ids))
    return ids[:cut], ids[cut:]


def cut_in_floats(ids, val_fraction):
    if not 0 <= val_fraction < 1:
        raise ValueError(val_fraction)
    cut = int((1 - val_fraction) * len(ids))
    return ids[:cut], ids[cut:]


def blank_rows_kept(path, column="text", max_rows=None, *, encoding="utf-8", group_column=None):
    rows = pd.read_parquet(path)[column].fillna("")
    return "".join(row.strip() + "\n" for row in rows[:max_rows])


def written_marks_become_ends(text, tok):
    return np.array(tok.encode(text, allowed_special={EOT}))


def batches_of(x, y, batch_size):
    return ((x[i : i + batch_size], y[i : i + batch_size]) for i in range(0, len(x), batch_size))


def drops_the_short_last_batch(inputs, targets, batch_size, rng, shuffle=True, *, start=0):
    whole = len(inputs) // batch_size * batch_size
    order = window_order(len(inputs), rng)[:whole]
    return batches_of(inputs.to_numpy()[order], targets.to_numpy()[order], batch_size)


def shuffles_inputs_and_targets_apart(inputs, targets, batch_size, rng, shuffle=True, *, start=0):
    x, y = (a.to_numpy()[window_order(len(a), rng)] for a in (inputs, targets))
    return batches_of(x, y, batch_size)


def a_generator_of_its_own(inputs, targets, batch_size, rng, shuffle=True, *, start=0):
    order = window_order(len(inputs), np.random.default_rng(42))  # the same in every epoch
    return batches_of(inputs.to_numpy()[order], targets.to_numpy()[order], batch_size)


def steps_of_all_epochs_at_once(n_windows, batch_size, epochs):
    return -(-n_windows * epochs // batch_size)


def targets_scored_again(n, seq_len, stride):
    return eval_windows(n, seq_len, stride).assign(loss_from=0)


def no_last_window(n, seq_len, stride):
    return sliding_windows(n, seq_len, stride)


def sees_the_future(segment_ids):
    seg = np.asarray(segment_ids)
    return seg[..., :, None] == seg[..., None, :]


def crossing_targets_count(seg_x, seg_y, boundaries):
    return seg_y != 0


def positions_of_the_row(spans, n):
    return np.arange(n)


def one_end_too_many(texts):
    return "".join(text + EOT for text in texts)


def an_end_after_the_last_too(documents, tok, final_eot=True):
    return stream.encode_documents(documents, tok)


def ends_belong_to_the_next_document(documents, tok, final_eot=True):
    right = stream.encode_documents(documents, tok, final_eot)
    spans = right.spans.assign(stop=right.spans["stop"] - 1)
    spans["start"] = np.maximum(spans["start"] - 1, 0)
    return replace(right, spans=spans)


def sides_by_row_number(documents, val_fraction, test_fraction=0.0, seed=0):
    place = np.random.default_rng(seed).permutation(len(documents)) / max(1, len(documents))
    side = np.select([place < val_fraction, place >= 1 - test_fraction], ["val", "test"], "train")
    return documents.assign(split=side)


def truncates_without_a_word(stream, seq_len, pad_id, long_doc="fragment", **how):
    return pack(stream, seq_len, pad_id, "truncate" if long_doc == "fragment" else long_doc, **how)


def padding_by_its_id(stream, seq_len, pad_id, long_doc="fragment", **how):
    packed = pack(stream, seq_len, pad_id, long_doc, **how)
    looks_padded = packed.ids[packed.spans["stop"] - 1] == pad_id
    return replace(packed, spans=packed.spans.assign(stop=packed.spans["stop"] - looks_padded))


def documents_by_the_id_of_their_end(stream, seq_len, pad_id, long_doc="fragment", **how):
    ends = np.flatnonzero(stream.ids == 9) + 1
    starts = np.append(0, ends[:-1])
    spans = pd.DataFrame({"start": starts, "stop": ends, "doc_id": range(len(ends))})
    cut = replace(stream, ids=stream.ids[: ends[-1]], spans=spans.assign(doc_start=0))
    return pack(cut, seq_len, pad_id, long_doc, **how)


def casts_and_hopes(ids, path):
    np.asarray(ids).astype("<u2").tofile(path)


def misses_the_last_window(tokens, block_size, batch_size, generator):
    starts = torch.randint(0, len(tokens) - block_size - 1 or 1, (batch_size,), generator=generator)
    rows = rows_view(torch.as_tensor(tokens), block_size)[starts]
    return rows[:, :-1], rows[:, 1:]


class Moving:
    """One generator, seeded once: what it has given is not in its seed."""

    def __init__(self, tokens, block_size, batch_size, seed, start_step=0, *, rank=0, world_size=1):
        self.rows, self.batch_size = rows_view(tokens, block_size), batch_size // world_size
        self.generator = torch.Generator().manual_seed(seed + rank)

    def __iter__(self):
        return self

    def __next__(self):
        return self.batch_at(None)

    def batch_at(self, step):
        size = (self.batch_size,)
        rows = self.rows[torch.randint(0, len(self.rows), size, generator=self.generator)]
        return rows[:, :-1], rows[:, 1:]


class NeverDrawsAnew(loaders.RandomWindowDataset):
    def set_epoch(self, epoch):
        super().set_epoch(0)


class WindowsOfTPlusOne(loaders.SlidingWindowDataset):
    def __init__(self, ids, context_length, stride=None):
        super().__init__(ids, context_length, stride or context_length + 1)


def the_same_epoch_again(dataset, batch_size, shuffle=True, base_seed=0, epoch=0, *options):
    class Again(loaders.EpochLoader):
        def __iter__(self):
            self.epoch = epoch
            return super().__iter__()

    return Again(dataset, base_seed, epoch, batch_size=batch_size, shuffle=shuffle, drop_last=True)


def mean_of_the_means(model, stream, tok, seq_len, stride=None, *, batch_size=None, **how):
    right = evaluate(model, stream, tok, seq_len, stride, batch_size=batch_size, **how)
    windows, means = eval_windows(len(stream), seq_len, right.stride), []
    for first in range(0, len(windows), batch_size or 64):
        some = windows.iloc[first : first + (batch_size or 64)]
        units, count, _ = score_windows(model, stream, tok, some, 64, right.boundaries)
        means.append(units / count)
    return replace(right, units=round(np.mean(means) * right.count))


BY_HAND = [
    (one_too_few, "make_windows", "the_number_of_windows_is_that_of_the_hand_table"),
    (side_by_side, "make_windows", "windows_start_at_every_kth_id_whose_last_target_exists"),
    (targets_not_moved, "make_windows", "targets_are_inputs_moved_one_place_left"),
    (
        windows_over_the_cut,
        "split_ids",
        "splitting_first_costs_the_windows_that_would_cross_the_cut",
    ),
    (cut_rounded_to_the_nearest, "split_ids", "the_cut_is_the_floor_of_one_minus_rho_times_n"),
    (
        blank_rows_kept,
        "load_corpus",
        "rows_are_stripped_and_joined_with_newlines_and_one_final_newline",
    ),
    (
        written_marks_become_ends,
        "encode_corpus",
        "ids_are_int64_and_a_literal_end_of_text_is_ordinary_text",
    ),
    (drops_the_short_last_batch, "iterate_batches", "46_windows_in_batches_of_16_are_16_16_and_14"),
    (shuffles_inputs_and_targets_apart, "iterate_batches", "every_row_keeps_its_target"),
    (
        a_generator_of_its_own,
        "iterate_batches",
        "two_epochs_of_ten_windows_come_in_the_stored_orders",
    ),
    (
        steps_of_all_epochs_at_once,
        "count_steps",
        "three_epochs_of_46_windows_in_batches_of_16_are_nine_steps",
    ),
    (no_last_window, "eval_windows", "evaluation_starts_every_s_ids_and_ends_with_the_stream"),
    (sees_the_future, "attention_mask", "who_may_attend_is_decided_by_place_and_span"),
    (crossing_targets_count, "counts", "arrays_and_tensors_have_one_rule_for_what_counts"),
    (
        positions_of_the_row,
        "position_ids",
        "positions_begin_again_in_each_span_and_are_zero_at_padding",
    ),
    (one_end_too_many, "join_with_eot", "nine_end_of_texts_stand_among_ten_texts"),
    (
        an_end_after_the_last_too,
        "encode_documents",
        "without_a_final_end_of_text_nine_stand_among_ten_documents",
    ),
    (
        ends_belong_to_the_next_document,
        "encode_documents",
        "an_end_of_text_belongs_to_the_document_that_it_ends",
    ),
    (
        documents_by_the_id_of_their_end,
        "pack",
        "a_document_that_holds_the_end_of_text_inside_is_one_document",
    ),
    (
        casts_and_hopes,
        "save_uint16",
        "ids_that_two_bytes_cannot_hold_are_refused_by_number_and_index",
    ),
    (
        Moving,
        "make_train_loader",
        "batches_5_to_9_of_a_loader_started_at_5_are_those_of_one_never_stopped",
    ),
    (Moving, "make_train_loader", "any_number_of_ranks_shares_out_the_same_batch"),
    (NeverDrawsAnew, "RandomWindowDataset", "an_epoch_draws_anew_and_the_first_one_comes_back"),
    (WindowsOfTPlusOne, "SlidingWindowDataset", "without_a_stride_windows_move_by_their_length"),
    (the_same_epoch_again, "make_dataloader", "the_next_epoch_has_another_order"),
    (mean_of_the_means, "evaluate", "an_evaluation_is_no_mean_of_the_means_of_its_batches"),
]
BY_A_LAW = [
    (targets_scored_again, "eval_windows", "every_target_is_scored_exactly_once"),
    (sides_by_row_number, "assign_splits", "a_side_is_a_function_of_group_and_seed_alone"),
    (truncates_without_a_word, "pack", "kept_and_dropped_are_what_was_read_document_by_document"),
    (
        padding_by_its_id,
        "pack",
        "padding_is_known_by_place_so_any_pad_id_gives_the_same_spans_and_masks",
    ),
    (misses_the_last_window, "get_batch", "a_batch_is_what_slices_at_the_drawn_starts_give"),
]
QUALITY = [
    (
        cut_in_floats,
        "split_ids",
        "rho_is_the_decimal_that_is_written_where_binary_floats_cut_one_too_early",
    ),
    (
        windows_that_are_copies,
        "make_windows",
        "windows_are_views_of_the_stream_and_share_one_index",
    ),
]


# ---- runs inside this one


class Watch:
    """What each test did to each function, and what the grader says of it in the end."""

    def __init__(self):
        self.ends, self.states = {}, {}

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.partition("::test_")[2].partition("[")[0]
        if report.when == "call" or report.failed:
            name = dict(report.user_properties)["function"]
            self.ends.setdefault((name, test), set()).add(report.outcome)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        grader = session.config.pluginmanager.get_plugin("grader")
        self.states = {name: grader.state(name) for name in grader.ends}


def run(against: str, *options: str) -> tuple[int, Watch]:
    """pytest in this process: its exit status, and what was seen."""
    paths, watch = [*sys.path], Watch()
    usual = [f"-c{ROOT / 'pyproject.toml'}", "-pno:cacheprovider", "-pno:xdist", "--color=no"]
    try:
        status = pytest.main([*usual, f"--against={against}", *options], [watch])
    finally:
        sys.path[:] = paths
    return int(status), watch


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file where the run stands, and give its name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "mine.py") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


def place_of(test: str) -> str:
    """The test as it is named on the command line."""
    for path in TESTS.glob("test_*.py"):
        if f"\ndef test_{test}(" in path.read_text(encoding="utf-8"):
            return f"{path}::test_{test}"
    raise LookupError(test)


def mistakes(folder: Path, rows: list[tuple]) -> dict[tuple, tuple[set, str]]:
    """How the named test ended for each mistake; as many functions as can be in one file."""
    found, left = {}, [*rows]
    while left:
        now = {name: (wrong, name, test) for wrong, name, test in left}
        lines = [f"{name} = test_against.{row[0].__name__}" for name, row in now.items()]
        file = folder / "wrong.py"
        file.write_text("\n".join(["import test_against", *lines]), encoding="utf-8")
        places = [place_of(row[2]) for row in now.values()]
        status, watch = run(str(file), *places, "--tb=no")
        assert status == 1
        found |= {row: (watch.ends.get(row[1:]), watch.states[row[1]]) for row in now.values()}
        left = [row for row in left if row not in found]
    return found


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    return mistakes(tmp_path_factory.mktemp("wrong"), BY_HAND)


@pytest.fixture(scope="module")
def by_a_law(tmp_path_factory):
    return mistakes(tmp_path_factory.mktemp("wrong"), BY_A_LAW)


def check_mistake(row: tuple, ends: set[str], state: str) -> None:
    assert ends and "failed" in ends
    assert state == f"wrong: {row[2].replace('_', ' ')}"


@pytest.mark.parametrize("row", BY_HAND, ids=lambda row: row[0].__name__)
def test_a_mistake_fails_in_the_test_that_names_it(by_hand, row):
    check_mistake(row, *by_hand[row])


@pytest.mark.slow
@pytest.mark.parametrize("row", BY_A_LAW, ids=lambda row: row[0].__name__)
def test_a_mistake_fails_in_the_law_that_names_it(by_a_law, row):
    check_mistake(row, *by_a_law[row])


@pytest.mark.slow
def test_what_only_lacks_quality_fulfils_the_contract(write):
    """Both files of tests are run whole: of each function one test fails, and it is no contract."""
    lines = [f"{name} = test_against.{wrong.__name__}" for wrong, name, _ in QUALITY]
    file = write("\n".join(["import test_against", *lines]))
    states = run(file, str(TESTS / "test_data.py"))[1].states
    assert {states[name] for _, name, _ in QUALITY} == {"written"}
    status, watch = run(file, str(TESTS / "test_data.py"), "--quality", "--tb=no")
    assert status == 1
    for _, name, test in QUALITY:
        assert watch.states[name] == f"wrong: {test.replace('_', ' ')}"


MIXED = """
import warnings
import numpy as np
import pandas as pd
from data import load_corpus, make_windows as ours


def split_ids(ids, val_fraction):
    warnings.warn("slow but right")
    if not 0 <= val_fraction < 1:
        raise ValueError("no")
    cut = int((1 - val_fraction) * len(ids))
    return ids[:cut], ids[cut:]


def make_windows(ids, seq_len, stride=1):
    inputs, targets = ours(ids, seq_len, stride)
    return inputs, inputs


def iterate_batches(inputs, targets, batch_size, rng, shuffle=True, *, start=0):
    raise NotImplementedError
    yield


def encode_corpus(text, tok):
    return np.array(tok.encode(text), dtype=np.int64)
"""
SUMMARY = """
load_corpus      not written yet
build_tokenizer  not written yet
encode_corpus    written
split_ids        written
make_windows     wrong: ten ids in windows of four give the six rows of the hand table
iterate_batches  not written yet
2 of 6 done, next: load_corpus
"""


def test_the_summary_says_of_each_function_how_far_it_is(write, capsys):
    """Two missing, two right, one wrong, one begun; each alone, so split_ids is not blamed for it.

    A warning is no fault, and the words of a refusal are none either.
    """
    status, watch = run(write(MIXED), str(TESTS / "test_data.py"), "--junitxml=told.xml")
    told = capsys.readouterr().out
    assert status == 1
    assert SUMMARY in told
    crossing = "splitting_first_costs_the_windows_that_would_cross_the_cut"
    assert watch.ends["split_ids", crossing] == {"passed"}
    assert watch.ends["make_windows", crossing] == {"failed"}
    came = "At index 0 diff: [3, 1, 4, 1] != [1, 4, 1, 5]\n"  # and the hand figure
    assert came in told
    assert told.index("short test summary") < told.index(SUMMARY)
    page = (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
    assert f"```text{SUMMARY}```\n" in page and f"```text\n{came}```\n" in page
    cases = ElementTree.parse("told.xml").iter("testcase")
    noted = [(c.find(".//property").get("value"), c.find("skipped")) for c in cases]
    unwritten = {name for name, skipped in noted if skipped is not None}
    assert unwritten == {"iterate_batches"}
    assert {name for name, _ in noted} == {*SUMMARY.split()} & {*OWNERS} - {
        *["load_corpus", "build_tokenizer"]
    }


@pytest.mark.slow
def test_with_quality_the_words_of_a_refusal_count(write):
    file = write(MIXED) + "::split_ids"
    place = place_of("a_fraction_outside_0_to_1_is_refused")
    assert run(file, place)[1].states == {"split_ids": "written"}
    status, watch = run(file, place, "--quality", "--tb=no")
    assert (status, watch.states) == (
        1,
        {"split_ids": "wrong: a fraction outside 0 to 1 is refused"},
    )


@pytest.mark.slow
def test_one_function_can_be_asked_for_alone_and_may_be_missing(write):
    file = write(MIXED)
    status, watch = run(f"{file}::encode_corpus")
    assert (status, watch.states) == (0, {"encode_corpus": "written"})
    status, watch = run(f"{file}::load_corpus")
    assert (status, watch.states) == (1, {"load_corpus": NOT_WRITTEN})


@pytest.mark.slow
def test_what_a_library_does_not_implement_is_a_mistake_of_the_caller(write):
    """torch raises NotImplementedError too, for a sum of such numbers."""
    text = "import torch\ndef id_dtype(v): return torch.arange(9).to(torch.uint16).max()\n"
    status, watch = run(write(text) + "::id_dtype", "--tb=no")
    assert status == 1
    assert watch.states["id_dtype"].startswith("wrong: ")


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (None, "other.py", "other.py: No such file or directory"),
        (None, ".", "Is a directory"),
        ("x = (", "mine.py", "mine.py, line 1: '(' was never closed"),
        ("x = '\0'", "mine.py", "null bytes"),
        ("y = 1\nx = z", "mine.py", "mine.py, line 2: NameError: name 'z' is not defined, when it"),
        ("import sys\nsys.exit(3)", "mine.py", "mine.py, line 2: SystemExit: 3, when it was run"),
        (
            "from data import make_windows",
            "mine.py",
            "mine.py defines none of the functions that are graded; begin with a file of exer",
        ),
        (
            "def make_windows(): ...",
            "mine.py::make_window",
            "mine.py: no test grades make_window; is it make_windows?",
        ),
    ],
)
def test_a_file_that_cannot_be_graded_is_refused_in_one_line(write, capsys, text, name, told):
    if text is not None:
        write(text)
    status = pytest.main([f"-c{ROOT / 'pyproject.toml'}", "-pno:xdist", f"--against={name}"])
    shown = capsys.readouterr()
    lines = [line for line in (shown.out + shown.err).splitlines() if line]
    assert status == pytest.ExitCode.USAGE_ERROR
    assert len(lines) == 1
    assert lines[0].startswith("ERROR: ")
    assert told in lines[0]


def test_quality_without_a_file_is_refused(capsys):
    assert pytest.main([f"-c{ROOT / 'pyproject.toml'}", "-pno:xdist", "--quality"]) == 4
    assert "--quality goes with --against FILE" in capsys.readouterr().err


# ---- markers and exercises


def marked() -> dict[str, set[str]]:
    """The functions that tests are marked for, by the kind of the mark."""
    found = {"contract": set(), "quality": set()}
    for path in TESTS.glob("test_*.py"):
        if path.name != "test_against.py":
            for kind, names in re.findall(
                r"pytest\.mark\.(contract|quality)\(([^)]*)\)", path.read_text(encoding="utf-8")
            ):
                found[kind].update(re.findall(r'"(\w+)"', names))
    return found


def test_every_function_that_can_be_graded_has_a_contract_and_no_mark_names_another():
    marks = marked()
    assert marks["contract"] >= {*OWNERS}
    assert marks["contract"] | marks["quality"] == {*OWNERS}


def test_there_is_a_file_of_exercises_for_each_lesson():
    assert {path.stem for path in STUBS} == {*LESSONS}
    for lesson in LESSONS:
        assert (ROOT / "docs" / f"{lesson.replace('_', '-')}.md").is_file()


def test_the_page_lists_the_files_in_the_order_of_the_road_with_what_they_ask_for():
    """The iterator that `make_train_loader` gives is in its file too."""
    shown = [
        [*re.findall(r"/(\w+)\.py", row[0]), *re.findall(r"\w+", row[1])] for row in files()[1]
    ]
    asked = [[lesson, *tasks_of(lesson)] for lesson in LESSONS]
    assert [[n for n in row if n != "TrainBatchIterator"] for row in shown] == asked


# What a page shows and nobody is asked to write, and why.
NOT_GRADED = {
    "plan.leaks": "what it gives are sentences",
    "feed.epoch_order": "a part of the command line",
    "train.epochs": "a part of the command line",
    "model.Block.forward": "a network of your own has other weights",
    "model.GPT": "a network of your own has other weights",
    "attention.choose_attention": "a choice by time, of which the result tells nothing",
    "scoring.score_windows": "a part of evaluate",
    "ledger.fates": "a part of ledger",
    "batches.gather_rows": "a part of get_batch",
    "checkpoint.save": "only our load reads its files",
}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_asks_for_every_function_that_its_page_shows(lesson):
    page = (ROOT / "docs" / f"{lesson.replace('_', '-')}.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^/// (?:code|used) \| ([\w.]+)", page, re.M))
    parts = {".".join(name.split(".")[:2]) for name in shown - {*NOT_GRADED}} - {*NOT_GRADED}
    standing_for = {"batches.TrainBatchIterator": "batches.make_train_loader"}
    standing_for |= {"loaders.EpochLoader": "loaders.make_dataloader"}
    asked = {f"{module}.{name}" for name, module in OWNERS.items()}
    assert {standing_for.get(part, part) for part in parts} <= asked


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_stub_has_the_signature_and_the_description_of_ours(lesson):
    """Of a class, each method that it has; a constructor that ours has from dataclass is none."""
    stub = load(ROOT / "exercises" / f"{lesson}.py", lesson)
    assert [name for name in stub if name in OWNERS] == tasks_of(lesson)
    for name in tasks_of(lesson):
        ours = getattr(importlib.import_module(OWNERS[name]), name)
        assert inspect.getdoc(stub[name]) == inspect.getdoc(ours)
        assert header(stub[name]) == header(ours)
        for method in vars(stub[name]) if inspect.isclass(ours) else ():
            if method in vars(ours) and inspect.isroutine(getattr(ours, method)):
                assert header(getattr(stub[name], method)) == header(getattr(ours, method))


def header(function) -> list[tuple]:
    """Names, kinds and defaults of what it takes, in order."""
    taken = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in taken]


# ---- whole runs, as from the command line


def pytest_run(*words: str, cwd: Path = ROOT) -> tuple[int, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_a_stub_is_not_written_yet_as_a_whole_and_no_test_of_it_passes(stub):
    """So every marked test does call the function that it is marked for."""
    whole = "raise NotImplementedError" in stub.read_text(encoding="utf-8")
    if not whole and not os.environ.get("CI"):
        pytest.skip("here are your own solutions")
    status, watch = run(str(stub), "--quality")
    assert status == 1
    assert watch.states == dict.fromkeys(tasks_of(stub.stem), NOT_WRITTEN)
    assert set().union(*watch.ends.values()) == {"skipped"}


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(set(OWNERS.values())))
def test_our_own_modules_pass_with_quality_too(module):
    """In processes of their own: some of the tests look at memory, and at what was imported."""
    tasks = [name for name in OWNERS if OWNERS[name] == module]
    status, told = pytest_run("--against", f"{module}.py", "--quality")
    assert re.findall(r"^(\w+) +written$", told, re.M) == tasks
    assert f"{len(tasks)} of {len(tasks)} done\n" in told
    assert status == 0


@pytest.mark.slow
def test_a_path_is_relative_to_where_one_stands_and_the_summary_stays_when_all_is_quiet(tmp_path):
    here = pytest_run("--against", "run.py", "-qq", cwd=ROOT / "exercises")
    (tmp_path / "mine.py").write_text("from data import split_ids as s\nsplit_ids = s\n")
    there = pytest_run(str(TESTS), "--against", "mine.py::split_ids", "-qq", cwd=tmp_path)
    assert (here[0], there[0]) == (1, 0)
    assert "eval_windows  not written yet\n0 of 1 done, next: eval_windows\n" in here[1]
    assert "split_ids  written\n1 of 1 done\n" in there[1]


@pytest.mark.slow
def test_several_processes_tell_the_same(tmp_path):
    status, told = pytest_run("--against", "exercises/run.py", "-n", "2")
    assert status == 1
    assert "0 of 1 done, next: eval_windows\n" in told
