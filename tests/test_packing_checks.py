"""Every check of `python lab.py packing` holds, and fails when what it speaks of is broken."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import attention
import lab
import packing_checks
from checks import look, random_state
from packing_checks import PACKING, hand_documents, rows_of, stream_of
from windows import gather


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """What the checks look at."""
    return lab.packing_lab(lab.Packing(), tmp_path_factory.mktemp("lab"))


@pytest.mark.parametrize("check", PACKING, ids=lambda check: check.__name__)
def test_every_check_holds_and_says_what_it_proves_and_what_not(check, packed):
    row = look(check, replace(packed, random_before=random_state()))  # other tests may have drawn
    assert row["ok"], row["found"]
    assert any(value is True for value in row["found"].values())
    assert row["proves"].endswith(".") and row["does_not_prove"].endswith(".")
    assert not row["does_not_prove"].startswith("Not")


def test_the_documents_made_by_hand_are_two_short_ones_and_one_three_ids_longer_than_a_row():
    """T = 8: 3 + 2 + 12 ids; rows of 9 hold the first 9 of the long one, and 3 + 2 + 3 and 1."""
    documents = hand_documents(8)
    assert documents == [[11, 12, 9], [21, 9], [31, 9, 33, 34, 35, 36, 37, 38, 39, 40, 41, 9]]
    laid = rows_of(stream_of(documents), 8, 0, ("best-fit", "fragment", "pad"))
    assert laid.ids.reshape(-1, 9).tolist() == [
        [11, 12, 9, 21, 9, 40, 41, 9, 0],
        [31, 9, 33, 34, 35, 36, 37, 38, 39],
    ]


# ---- what fails


def losing(source, T, pad_id, policy):
    """The last piece of a document is left out."""
    laid = REAL["rows_of"](source, T, pad_id, policy)
    return replace(laid, spans=laid.spans.iloc[:-1])


def repeating(source, T, pad_id, policy):
    """All rows stand there twice."""
    laid = REAL["rows_of"](source, T, pad_id, policy)
    again = laid.spans.assign(start=laid.spans["start"] + len(laid))
    again["stop"] += len(laid)
    spans = packing_checks.pd.concat([laid.spans, again], ignore_index=True)
    return replace(laid, ids=np.tile(laid.ids, 2), spans=spans)


def turned(source, T, pad_id, policy):
    """Each id stands one place further on than its span says."""
    laid = REAL["rows_of"](source, T, pad_id, policy)
    return replace(laid, ids=np.roll(laid.ids, 1))


def running_on(source, T, pad_id, policy):
    """Documents run on from row to row."""
    rest = np.full(-len(source) % (T + 1), pad_id)
    return replace(source, ids=np.append(source.ids, rest))


def always(**fixed):
    """Whatever is asked for, pack in another way."""

    def pack(stream, T, pad_id, long_doc, **options):
        settings = {"pad_id": pad_id, "long_doc": long_doc} | options | fixed
        return REAL["pack"](stream, T, **settings)

    return pack


def blind_to_padding(*args):
    frame = REAL["ledger"](*args)
    frame.attrs["padding"] = 0
    return frame


def one_further(windows, spans):
    lineage = REAL["window_lineage"](windows, spans)
    return lineage.assign(doc_start=lineage["doc_start"] + 1, doc_stop=lineage["doc_stop"] + 1)


def without_the_last(windows, spans):
    return REAL["window_lineage"](windows, spans).iloc[:-1]


def always_continuous(windows, segments, boundaries):
    return REAL["loss_mask"](windows, segments, "continuous")


def padding_too(windows, segments, boundaries):
    return REAL["loss_mask"](windows, segments, boundaries) | True


def unshifted(ids, windows):
    x, _ = gather(ids, windows)
    return x, x


def plain_causal(segments):
    return np.tril(np.ones((len(segments), len(segments)), dtype=bool))


def masks_by_id(laid, T):
    """What everyone does who pads with the end-of-text: no target that has its id counts."""
    y = gather(laid.ids, packing_checks.row_windows(laid, T))[1]
    pad_id = laid.ids[-1]
    return {name: (y != pad_id).astype(int).tolist() for name in ("continuous", "isolated")}


def open_to_all(segments):
    return attention.causal


def silent(vocab_size):
    """A fresh model, in which all logits are 0."""
    return packing_checks.GPT(vocab_size, 2, 2, 16).double()


REAL = {name: getattr(packing_checks, name) for name in dir(packing_checks)}
HERE = "packing_checks."

BROKEN = [
    ("nothing_lost", HERE + "rows_of", losing, "fragments keep all"),
    ("nothing_lost", HERE + "rows_of", repeating, "kept + dropped = read"),
    ("nothing_lost", HERE + "ledger", blind_to_padding, "the rest is padding"),
    *(
        ("read_back", HERE + "rows_of", broken, f"{name}, {order}")
        for broken in (losing, repeating, turned)
        for name in ("hand", "stories")
        for order in ("best-fit", "sequential")
    ),
    ("read_back", HERE + "rows_of", turned, "as text"),
    ("rows_and_lineage", HERE + "rows_of", running_on, "no span crosses"),
    ("rows_and_lineage", HERE + "window_lineage", one_further, "lineage finds the ids"),
    ("rows_and_lineage", HERE + "rows_of", turned, "lineage finds the ids"),
    ("rows_and_lineage", HERE + "window_lineage", without_the_last, "and all of them"),
    ("masks_by_hand", HERE + "gather", unshifted, "11 12 9 21 22 9, targets"),
    ("masks_by_hand", HERE + "loss_mask", always_continuous, "isolated 1 1 0 1 1"),
    ("masks_by_hand", HERE + "attention_mask", plain_causal, "attention in two triangles"),
    (
        *("masks_by_hand", HERE + "loss_mask", always_continuous),
        "11 12 9 21 9 · ·, isolated 1 1 0 1 0 0",
    ),
    ("masks_by_hand", HERE + "loss_mask", padding_too, "continuous 1 1 1 1 0 0"),
    ("padding_by_place", HERE + "pack", always(pad_id=0), "padded differently"),
    ("padding_by_place", HERE + "masks", masks_by_id, "the same masks"),
    ("padding_by_place", HERE + "masks", masks_by_id, "each document's end counts"),
    *(
        ("long_documents", HERE + "pack", always(long_doc=other), f"{long_doc}, {order}")
        for long_doc, other in (
            *(("fragment", "truncate"), ("truncate", "fragment"), ("drop", "truncate")),
        )
        for order in ("best-fit", "sequential")
    ),
    *(
        row
        for way, name in (("mask", "masked"), ("buckets", "bucketed"))
        for row in (
            ("kept_apart", f"attention.{name}", open_to_all, f"{way}: 10⁻¹² at most"),
            ("kept_apart", HERE + "any_model", silent, f"{way}: its own do"),
            ("kept_apart", HERE + "any_model", silent, f"{way}: all do if continuous"),
        )
    ),
]


@pytest.mark.parametrize(
    ("check", "name", "broken", "told"),
    BROKEN,
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_check_fails_when_what_it_speaks_of_is_broken(
    check, name, broken, told, packed, monkeypatch
):
    monkeypatch.setattr(name, broken)
    row = look(REAL[check], packed)
    assert (row["found"][told], row["ok"]) == (False, False)


def test_every_yes_of_every_check_is_broken_above(packed):
    checks = [check for check in PACKING if check is not packing_checks.random_state_untouched]
    answers = {
        name
        for check in checks
        for name, value in look(check, packed)["found"].items()
        if isinstance(value, bool)
    }
    assert {told for *_, told in BROKEN} == answers


def test_a_ledger_that_does_not_balance_is_a_check_that_failed(packed, monkeypatch):
    """What raises inside a check is told in its place."""

    def wrong(*args):
        raise RuntimeError("the ledger does not balance: 17 tokens")

    monkeypatch.setattr(packing_checks, "ledger", wrong)
    row = look(packing_checks.nothing_lost, packed)
    assert row["found"] == {"RuntimeError, the ledger does not balance: 17 tokens": False}


def test_the_model_of_the_check_answers_differently_to_different_ids():
    """A fresh model gives 0 for everything, and would prove nothing."""
    model, ids = packing_checks.any_model(20), torch.tensor([[3, 1, 4], [3, 1, 5]])
    logits = model(ids)
    assert logits.dtype == torch.float64
    assert logits.std() > 0.1
    assert torch.equal(logits[0, :2], logits[1, :2])
    assert not torch.equal(logits[0, 2], logits[1, 2])
