"""The training loop: what it keeps, and when it stops."""

import math
import threading

import numpy as np
import pytest
from test_report import RECEIPT

from loop import train_steps
from model import GPT
from runs import Losses
from training import Trainer

RNG = np.random.default_rng(0)
BATCHES = [(ids[:, :-1], ids[:, 1:], None) for ids in RNG.integers(0, 20, size=(9, 2, 5))]


@pytest.fixture
def loop(tmp_path):
    """Runs eight steps with a validation every three; gives what was kept and what came back."""
    trainer = Trainer(GPT(20, 1, 2, 16), 8, 8, lr=0.02, warmup=2)
    losses, asked, kept = Losses(tmp_path), threading.Event(), []

    def keep(upcoming):
        same = [np.array_equal(xb, upcoming[0]) for xb, *_ in BATCHES]
        kept.append((trainer.step, same.index(True)))

    def run(validate=lambda: RECEIPT, batches=BATCHES):
        receipt = train_steps(trainer, iter(batches), validate, 3, losses, keep, asked)
        return receipt, kept, losses

    run.asked, run.trainer = asked, trainer
    return run


def test_a_checkpoint_holds_the_batch_that_comes_next(loop, tmp_path):
    """Before the first step, after steps 3 and 6, and at the end, where batch 8 would come."""
    receipt, kept, losses = loop()
    assert receipt == RECEIPT
    assert kept == [(0, 0), (3, 3), (6, 6), (8, 8)]
    assert [step for step, *_ in losses.validations] == [3, 6, 8]
    assert (tmp_path / "receipt.json").exists()


def test_asked_to_stop_it_finishes_the_step_validates_and_keeps(loop):
    def validate():
        loop.asked.set()
        return RECEIPT

    _, kept, losses = loop(validate)
    assert [step for step, _ in kept] == [0, 3, 4]
    assert len(losses.steps) == 4


def test_a_run_with_nothing_left_to_do_gives_no_receipt(loop):
    loop.trainer.step = 8
    assert loop()[0] is None


def test_a_loss_that_is_no_number_ends_it_but_a_batch_without_targets_does_not(loop, monkeypatch):
    real = Trainer.train_on

    def train_on(self, xb, yb, segments):
        real(self, xb, yb, segments)
        self.targets = 0 if self.step < 3 else 8
        return math.nan

    monkeypatch.setattr(Trainer, "train_on", train_on)
    with pytest.raises(ValueError, match="the loss of step 3 is nan; use a smaller --lr"):
        loop()
