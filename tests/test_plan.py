"""The numbers of a run before its first step, and what leaks."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from data import split_ids
from model import GPT
from optim import make_optimizers
from plan import Plan, check_memory, check_sides, leaks
from stream import cut_stream, encode_text
from tokenizer import Tokenizer

HAND = Plan(
    documents=3,
    text_bytes=300,
    vocab_size=257,
    ids=300,
    cut=270,
    seq_len=16,
    stride=16,
    eval_stride=8,
    batch_size=4,
    epochs=3,
    step_limit=None,
    sampling="epoch",
    matrix_parameters=1000,
    table_parameters=200,
)


def test_the_numbers_of_a_small_run_by_hand():
    """W = ⌈254/16⌉ = 16, the last at 240 covers up to 256; 30 ids to validate: 0, 8 and 13."""
    assert (HAND.train_windows, HAND.unused_ids, HAND.val_windows) == (16, 13, 3)
    assert (HAND.batches_per_epoch, HAND.steps) == (4, 12)
    assert HAND.passes == pytest.approx(3 * 16 * 16 / 269)
    assert HAND.val_passes == pytest.approx(3 * 16 / 29)
    assert HAND.logits_bytes == 4 * 4 * 16 * 257


def test_a_limit_on_steps_ends_inside_an_epoch():
    """5 steps: an epoch of 16 windows and a batch of 4."""
    plan = Plan(**(vars(HAND) | {"step_limit": 5}))
    assert plan.steps == 5
    assert plan.passes == pytest.approx(20 * 16 / 269)


def test_random_windows_come_from_every_place_for_as_many_steps():
    """270 − 16 = 254 windows, every id in one; 12 steps as above, of full batches of 4."""
    plan = Plan(**(vars(HAND) | {"sampling": "random"}))
    assert (plan.train_windows, plan.unused_ids) == (254, 0)
    assert (plan.batches_per_epoch, plan.steps) == (4, 12)
    assert plan.passes == pytest.approx(12 * 4 * 16 / 269)


def test_the_memory_of_weights_gradients_and_optimisers_is_what_they_take():
    model = GPT(50, n_layer=2, n_head=2, d_model=16)
    matrices = sum(p.numel() for p in model.matrices())
    tables = sum(p.numel() for p in model.parameters()) - matrices
    plan = Plan(**(vars(HAND) | {"matrix_parameters": matrices, "table_parameters": tables}))
    optimizers = make_optimizers(model, 0.01)
    model(torch.zeros(1, 4, dtype=torch.int64)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    states = [s for o in optimizers for state in o.state.values() for s in state.values()]
    taken = sum(p.nbytes + p.grad.nbytes for p in model.parameters())
    taken += sum(s.nbytes for s in states if s.numel() > 1)
    assert plan.state_bytes == taken


WIDE = "a --val-fraction from 0.0641 to 0.935"  # of 1,000 ids, 65 on each side


@pytest.mark.parametrize(
    ("train", "val", "seq_len", "side", "way_out"),
    [
        (960, 40, 64, "validation", f"use --seq-len 39 or less, or {WIDE}"),
        (10, 990, 64, "training", f"use --seq-len 9 or less, or {WIDE}"),
        (90, 10, 64, "validation", "use --seq-len 9 or less"),
        (9, 1, 4, "validation", "use a --val-fraction from 0.41 to 0.5"),
        (2, 0, 4, "training", "the text must give 10 ids or more, it gives 2"),
    ],
)
def test_a_side_without_one_window_is_refused_with_what_would_work(
    train, val, seq_len, side, way_out
):
    with pytest.raises(ValueError, match=r"the .* side has") as refused:
        check_sides(train, val, seq_len)
    ids = {"training": train, "validation": val}[side]
    assert str(refused.value) == (
        f"the {side} side has {ids} ids, "
        f"and one window of --seq-len {seq_len} needs {seq_len + 1}; {way_out}"
    )


@given(st.integers(1, 3000), st.floats(0.001, 0.999), st.integers(1, 40))
def test_every_way_out_that_is_offered_works(n, fraction, seq_len):
    """The fractions at both ends of the range, and the window length, as the message has them."""
    train, val = split_ids(np.empty(n), round(fraction, 3))
    try:
        check_sides(len(train), len(val), seq_len)
    except ValueError as refused:
        message = str(refused)
    else:
        return
    if "--val-fraction" in message:
        low, high = message.split("from ")[1].split(" to ")
        for way_out in (low, high):
            check_sides(*map(len, split_ids(np.empty(n), float(way_out))), seq_len)
    if "use --seq-len" in message:
        shorter = int(message.split("use --seq-len ")[1].split()[0])
        check_sides(len(train), len(val), shorter)
        with pytest.raises(ValueError, match="side has"):
            check_sides(len(train), len(val), shorter + 1)


def test_a_cut_inside_a_document_and_the_tokenizer_are_told_as_leaks():
    """hi⏎you⏎ cut at 5: yo is trained on, u⏎ is scored."""
    documents = pd.DataFrame({"text": ["hi", "you"]})
    tok = Tokenizer([])
    told = leaks(*cut_stream(encode_text(documents, tok), 5), tok)
    divided = "its tokens before the cut are trained on (2), those after it are scored (2)"
    assert told == [
        "the tokenizer was fitted on the validation text too, 2 bytes",
        f"the cut divides document 1: {divided}",
    ]
    between = leaks(*cut_stream(encode_text(documents, tok), 3), tok)
    assert len(between) == 1


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        ({"weights": 84}, "the weights and what trains them need 0.0 GB or more"),
        ({"logits": 251}, "use a smaller --batch-size, --seq-len or --num-merges"),
        (
            {"windows": 42},
            "the windows of all steps need .* use a smaller --batch-size, --steps or",
        ),
    ],
)
def test_what_memory_cannot_hold_is_refused_with_the_flags_that_help(needs, told):
    """1,000 bytes hold 83 weights of 12 bytes, 250 logits of 4 and 41 windows of 24."""
    check_memory(1000, weights=83, logits=250, windows=41)
    with pytest.raises(ValueError, match=told):
        check_memory(1000, **{"weights": 1, "logits": 1, "windows": 1} | needs)
