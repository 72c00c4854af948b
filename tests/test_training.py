"""One training step, devices, and Ctrl-C."""

import signal

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from model import GPT
from training import Trainer, choose_device, interrupts

RNG = np.random.default_rng(0)
BATCHES = [RNG.integers(0, 20, size=(4, 9)) for _ in range(12)]


def trained(steps: int = 12, **settings) -> tuple[Trainer, list[float]]:
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3)
    trainer = Trainer(model, 12, 32, **({"lr": 0.02, "warmup": 2} | settings))
    return trainer, [trainer.train_on(b[:, :-1], b[:, 1:]) for b in BATCHES[:steps]]


def test_the_first_loss_of_a_fresh_model_is_ln_v():
    trainer, losses = trained(1)
    assert losses == [pytest.approx(np.log(20))]
    assert trainer.step == 1


def test_the_same_seed_and_batches_give_the_same_losses_bit_for_bit():
    assert trained()[1] == trained()[1]


def test_a_step_moves_along_the_mean_gradient_of_its_targets():
    """One step without clipping, against the plain mean loss and AdamW and Muon by hand."""
    batch = BATCHES[0][:3]  # a short batch weighs what its targets weigh: the mean is over 3 × 8
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3)
    logits = model(torch.from_numpy(batch[:, :-1]))
    F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(batch[:, 1:]).flatten()).backward()
    gradient = model.head.weight.grad
    before = model.head.weight.detach().clone()
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3)
    trainer = Trainer(model, 12, 32, lr=0.02, warmup=0)
    trainer.train_on(batch[:, :-1], batch[:, 1:])
    moved = trainer.model.head.weight.detach() - before
    rate = 0.02 * 0.15  # AdamW's first step is its rate against the sign of the gradient
    clear = gradient.abs() > 1e-5
    assert torch.allclose(moved[clear], -rate * gradient.sign()[clear], atol=1e-5)


class Weigh:
    """Stands in for the optimisers: keeps the gradients, moves nothing."""

    param_groups = ()

    def __init__(self, model: GPT) -> None:
        self.model, self.gradients = model, []

    def step(self) -> None:
        self.gradients.append(torch.cat([p.grad.flatten() for p in self.model.parameters()]))

    def zero_grad(self) -> None:
        self.model.zero_grad()


def test_a_short_last_batch_weighs_what_its_targets_weigh():
    """Four windows at once pull as much as three of them and then the fourth."""
    trainer, _ = trained(0, clip=1e9)
    torch.nn.init.normal_(trainer.model.head.weight, generator=torch.Generator().manual_seed(0))
    weigh = Weigh(trainer.model)
    trainer.optimizers = [weigh]
    x, y = BATCHES[0][:, :-1], BATCHES[0][:, 1:]
    losses = [trainer.train_on(x[part], y[part]) for part in (slice(4), slice(3), slice(3, 4))]
    full, three, one = weigh.gradients
    assert torch.allclose(full, three + one, atol=1e-6)
    assert losses[0] == pytest.approx((3 * losses[1] + losses[2]) / 4)  # each is a mean


def test_a_long_gradient_is_scaled_down_to_the_clip(monkeypatch):
    """Muon and AdamW do not feel the length of one gradient, so it is looked at where it is cut."""
    seen = []
    real = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(
        torch.nn.utils,
        "clip_grad_norm_",
        lambda p, clip: seen.append((real(p := list(p), clip), p)),
    )
    trainer, _ = trained(0, clip=1e-3)
    norms = []
    trainer.optimizers[0].step = lambda: norms.append(
        torch.cat([p.grad.flatten() for p in trainer.model.parameters()]).norm().item()
    )
    trainer.train_on(BATCHES[0][:, :-1], BATCHES[0][:, 1:])
    assert seen[0][0] > 1e-3
    assert norms[0] == pytest.approx(1e-3, rel=1e-3)


def test_learning_a_pattern_brings_the_loss_down():
    """0 1 2 … 19 again and again: after 200 steps the next id is clear."""
    row = np.arange(9)
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3)
    trainer = Trainer(model, 200, 32, lr=0.05, warmup=5)
    for k in range(200):
        batch = (row + np.arange(4)[:, None] * 5 + k) % 20
        loss = trainer.train_on(batch[:, :-1], batch[:, 1:])
    assert loss < 0.3


def test_bfloat16_is_near_float32():
    plain, low = trained()[1], trained(amp=True)[1]
    assert low != plain
    assert low == pytest.approx(plain, abs=0.05)


@pytest.mark.slow
def test_a_compiled_model_gives_the_same_losses():
    assert trained(4, compile=True)[1] == pytest.approx(trained(4)[1], rel=1e-4)


def test_no_global_random_state_is_touched():
    state = torch.get_rng_state()
    trained()
    assert torch.equal(torch.get_rng_state(), state)


def test_devices_are_taken_by_name_and_a_missing_one_is_refused(monkeypatch):
    assert choose_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.mps, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    for name in ("cuda", "cuda:1", "tpu"):
        with pytest.raises(ValueError, match=f"--device {name} is not on this machine, which has"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


def test_the_first_interrupt_is_kept_and_the_second_stops():
    before = signal.getsignal(signal.SIGINT)
    with interrupts() as asked:
        assert not asked.is_set()
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
