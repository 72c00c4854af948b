"""Every check of `python lab.py` holds, and fails when what it speaks of is broken."""

from pathlib import Path

import numpy as np
import pytest
import torch

import checks
import lab
from checks import TOKENS, WINDOWS, look
from files import write_text
from lab import Tokens, Windows


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """What the checks of both runs look at."""
    folder = tmp_path_factory.mktemp("lab")
    return {"tokens": lab.token_lab(Tokens(), folder), "windows": lab.window_lab(Windows(), folder)}


@pytest.fixture
def found(labs):
    """What a check finds, by name, and whether it holds."""

    def found(check) -> dict:
        row = look(check, labs["tokens" if check in TOKENS else "windows"])
        return row["found"] | {"ok": row["ok"]}

    return found


@pytest.mark.parametrize("check", dict.fromkeys(TOKENS + WINDOWS), ids=lambda check: check.__name__)
def test_every_check_holds_and_says_what_it_proves_and_what_not(check, labs):
    run = labs["tokens" if check in TOKENS else "windows"]
    if check is checks.random_state_untouched:  # other tests may have drawn since
        run = checks.Lab(**vars(run) | {"random_before": checks.random_state()})
    row = look(check, run)
    assert row["ok"], row["found"]
    assert any(value is True for value in row["found"].values())
    assert row["proves"].endswith(".") and row["does_not_prove"].endswith(".")
    assert not row["does_not_prove"].startswith("Not")


def without_shift(tokens, T, B, generator):
    x, _ = REAL["get_batch"](tokens, T, B, generator)
    return x, x


def from_elsewhere(tokens, T, B, generator):
    x, y = REAL["get_batch"](tokens, T, B, generator)
    return x + 1, y + 1


def floats(tokens, T, B, generator):
    x, y = REAL["get_batch"](tokens, T, B, generator)
    return x.double(), y.double()


def drawn_globally(tokens, T, B, generator):
    return REAL["get_batch"](tokens, T, B, torch.default_generator)


def from_the_start(tokens, T, B, seed, start_step=0):
    return REAL["make_train_loader"](tokens, T, B, seed)


def of_one_seed(tokens, T, B, seed, start_step=0):
    return REAL["make_train_loader"](tokens, T, B, 1, start_step)


def wrapping(ids, path):
    REAL["save_uint16"](np.asarray(ids).astype(np.uint16), path)


def big_endian(ids, path):
    Path(path).write_bytes(np.asarray(ids).astype(">u2").tobytes())


def careless(ids, path):
    write_text(path, "")
    REAL["save_uint16"](ids, path)


def copied_rows(ids, T):
    return REAL["rows_view"](ids, T).clone()


class Holes(checks.SequentialEvalDataset):
    def __init__(self, tokens, T, stride):
        super().__init__(tokens, T, stride)
        self.starts, self.loss_from = self.starts[:-1], self.loss_from[:-1]


class Twice(checks.SequentialEvalDataset):
    def __init__(self, tokens, T, stride):
        super().__init__(tokens, T, stride)
        self.loss_from = self.loss_from * 0


class NoContext(checks.SequentialEvalDataset):
    """Each target once, but always in windows that begin right before what they score."""

    def __init__(self, tokens, T, stride):
        super().__init__(tokens, T, T)


class Unshifted(checks.SlidingWindowDataset):
    def _gather(self, i):
        x, _ = super()._gather(i)
        return x, x


class OneLess(checks.SlidingWindowDataset):
    def __len__(self):
        return super().__len__() - 1


class NothingUnused(checks.SlidingWindowDataset):
    def __init__(self, ids, T, stride=None):
        super().__init__(ids, T, stride)
        self.unused = 0


def one_order(dataset, B, base_seed=0, epoch=0, **options):
    return REAL["make_dataloader"](dataset, B, base_seed=base_seed, epoch=0, **options)


def stuck(dataset, B, **options):
    return [*REAL["make_dataloader"](dataset, B, **options)]  # a list is the same each time


def unseeded(dataset, B, base_seed=0, epoch=0, drop_last=True, **options):
    return torch.utils.data.DataLoader(dataset, B, shuffle=True, drop_last=drop_last)


def dropping(dataset, B, drop_last=True, **options):
    return REAL["make_dataloader"](dataset, B, drop_last=True, **options)


def keeping(dataset, B, drop_last=True, **options):
    return REAL["make_dataloader"](dataset, 2 * B, drop_last=True, **options)


def shared(tok, documents):
    return SHARED.setdefault(tok, REAL["encode_all_splits"](tok, documents))


REAL = {name: getattr(checks, name) for name in dir(checks)}
SHARED: dict = {}

BROKEN = [
    (checks.splits, "join_with_eot", "".join, "read back"),
    (checks.splits, "CORPUS_SHA256", "of other stories", "known stories"),
    (checks.copies, "encode_all_splits", shared, "encoded again, as before"),
    (checks.files, "load_uint16", lambda path: torch.zeros(3), "read back"),
    (checks.files, "save_uint16", big_endian, "NumPy reads the same"),
    (checks.uint16_guard, "save_uint16", wrapping, "70,000 refused"),
    (checks.uint16_guard, "save_uint16", wrapping, "old file untouched"),
    (checks.uint16_guard, "save_uint16", careless, "old file untouched"),
    (checks.uint16_guard, "load_uint16", lambda path: torch.zeros(3), "0, 511, 65,535 kept"),
    (checks.one_view, "rows_view", copied_rows, "strides (1, 1)"),
    (checks.one_view, "rows_view", copied_rows, "same storage"),
    (checks.shift, "get_batch", without_shift, "y[:, :-1] is x[:, 1:]"),
    (checks.shift, "get_batch", from_elsewhere, "rows are in the stream"),
    (checks.shift, "get_batch", floats, "int64, contiguous"),
    (checks.end_of_texts, "boundary_windows", lambda *sizes: 9 * 129, "formula agrees"),
    (checks.scored_once, "SequentialEvalDataset", Holes, "each target once"),
    (checks.scored_once, "SequentialEvalDataset", Twice, "each target once"),
    (checks.scored_once, "SequentialEvalDataset", NoContext, "T - s + 1 ids or more"),
    (checks.resumed, "make_train_loader", from_the_start, "batches 7 to 11 the same"),
    (checks.resumed, "make_train_loader", of_one_seed, "seed 1338 gives others"),
    (checks.windows_an_epoch, "SlidingWindowDataset", OneLess, "Dataset agrees"),
    (checks.windows_an_epoch, "count_windows", lambda n, T, k: (n - T) // k, "Dataset agrees"),
    (checks.batch_of_windows, "SlidingWindowDataset", Unshifted, "y[:, :-1] is x[:, 1:]"),
    (checks.batch_of_windows, "SlidingWindowDataset", Unshifted, "items as in the text"),
    (checks.batch_of_windows, "make_dataloader", keeping, "(4, T), int64"),
    (checks.order_of_an_epoch, "make_dataloader", one_order, "next epoch, another"),
    (checks.order_of_an_epoch, "make_dataloader", stuck, "iterated again as fresh"),
    (checks.order_of_an_epoch, "make_dataloader", unseeded, "same seed, same order"),
    (checks.order_of_an_epoch, "make_dataloader", dropping, "each window once"),
    (checks.dropped_tail, "SlidingWindowDataset", NothingUnused, "counted one by one"),
    (checks.dropped_tail, "make_dataloader", lambda data, B: [], "less than a batch"),
]


@pytest.mark.parametrize(
    ("check", "name", "broken", "told"),
    BROKEN,
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_check_fails_when_what_it_speaks_of_is_broken(
    check, name, broken, told, found, monkeypatch
):
    assert found(check)[told] is True
    monkeypatch.setattr(checks, name, broken)
    after = found(check)
    assert (after[told], after["ok"]) == (False, False)


def test_every_yes_of_every_check_is_broken_above_or_below(labs):
    below = {"no text on two sides", "Python as before", "NumPy as before", "torch as before"}
    answers = {
        name
        for check in {*TOKENS, *WINDOWS}
        for name, value in look(check, labs["tokens" if check in TOKENS else "windows"])[
            "found"
        ].items()
        if isinstance(value, bool)
    }
    assert {told for *_, told in BROKEN} | below == answers


def test_a_text_on_two_sides_is_found(labs):
    """The first story once more, for validation."""
    run = labs["tokens"]
    twice = run.documents.iloc[[0]].assign(split="val")
    documents = checks.pd.concat([run.documents, twice])
    documents.attrs = run.documents.attrs
    leaking = checks.Lab(**vars(run) | {"documents": documents})
    assert look(checks.splits, leaking)["found"]["no text on two sides"] is False


@pytest.mark.parametrize("kind", ["Python", "NumPy", "torch"])
def test_a_draw_from_the_global_random_state_is_found(kind, labs):
    draw = {
        "Python": checks.random.random,
        "NumPy": lambda: np.random.random(),  # noqa: NPY002
        "torch": lambda: torch.rand(1),
    }[kind]
    before = checks.random_state()
    draw()
    run = checks.Lab(**vars(labs["tokens"]) | {"random_before": before})
    told = look(checks.random_state_untouched, run)["found"]
    assert told == {f"{name} as before": name != kind for name in ("Python", "NumPy", "torch")}
