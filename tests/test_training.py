"""One training step, devices, and Ctrl-C."""

import math
import signal

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from model import GPT
from training import Trainer, choose_device, interrupts

RNG = np.random.default_rng(0)
BATCHES = [RNG.integers(0, 20, size=(4, 9)) for _ in range(12)]


def trained(steps: int = 12, segments=None, **settings) -> tuple[Trainer, list[float]]:
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3)
    trainer = Trainer(model, 12, 32, **({"lr": 0.02, "warmup": 2} | settings))
    return trainer, [trainer.train_on(b[:, :-1], b[:, 1:], segments) for b in BATCHES[:steps]]


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


# ---- documents in a row

HAND = torch.tensor([[11, 12, 9, 21, 22, 9]])  # two documents, each with its end-of-text 9
HAND_SEGMENTS = torch.tensor([[1, 1, 1, 2, 2, 2]])


def gradient(*batches: tuple, boundaries: str = "isolated") -> tuple[torch.Tensor, list]:
    """The sum of the gradients of batches `(ids, segments)`, and of each its loss and count."""
    model = GPT(30, n_layer=2, n_head=2, d_model=16)
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3, generator=generator)
    trainer = Trainer(model, 12, 32, lr=0.02, warmup=0, clip=1e9, boundaries=boundaries)
    trainer.optimizers = [weigh := Weigh(model)]
    told = [
        (trainer.train_on(ids[:, :-1], ids[:, 1:], segments), trainer.targets)
        for ids, segments in batches
    ]
    return sum(weigh.gradients), told


def test_an_isolated_batch_pulls_as_its_documents_do_one_by_one():
    """12, 9, 22 and a second 9 count; 21 comes after another document's end-of-text: 2 + 2 = 4."""
    together, [(loss, targets)] = gradient((HAND, HAND_SEGMENTS))
    one, two = (HAND[:, :3], HAND_SEGMENTS[:, :3]), (HAND[:, 3:], HAND_SEGMENTS[:, 3:])
    apart, told = gradient(one, two)
    assert [targets, *(count for _, count in told)] == [4, 2, 2]
    assert torch.allclose(together, apart, atol=1e-6)
    assert loss == pytest.approx((told[0][0] + told[1][0]) / 2, rel=1e-5)
    continuous, [(_, all_five)] = gradient((HAND, HAND_SEGMENTS), boundaries="continuous")
    assert all_five == 5
    assert not torch.allclose(together, continuous, atol=1e-3)


@pytest.mark.parametrize("boundaries", ["continuous", "isolated"])
def test_padding_pulls_nothing_whatever_its_ids(boundaries):
    """11 12 9, 21 9 and two pads: of 6 targets 2 + 1 count, continuous also the 21 between."""
    row, seg = torch.tensor([[11, 12, 9, 21, 9]]), torch.tensor([[1, 1, 1, 2, 2]])
    plain, [(loss, count)] = gradient((row, seg), boundaries=boundaries)
    assert count == {"continuous": 4, "isolated": 3}[boundaries]
    for pad in (9, 0):
        padded = torch.cat([row, torch.tensor([[pad, pad]])], 1)
        seg_padded = torch.cat([seg, torch.tensor([[0, 0]])], 1)
        pulled, told = gradient((padded, seg_padded), boundaries=boundaries)
        assert told == [(pytest.approx(loss, rel=1e-5), count)]
        assert torch.allclose(pulled, plain, atol=1e-6)


def test_a_full_row_is_one_text_if_it_is_one_document_or_training_is_continuous():
    plain, told = gradient((HAND, None), boundaries="continuous")
    one = torch.ones_like(HAND)
    for segments, how in ((one, "isolated"), (one, "continuous"), (HAND_SEGMENTS, "continuous")):
        pulled, same = gradient((HAND, segments), boundaries=how)
        assert torch.allclose(pulled, plain, atol=1e-6)
        assert same == [(pytest.approx(told[0][0], rel=1e-5), 5)]


def test_segments_may_be_arrays():
    given = gradient((HAND.numpy(), HAND_SEGMENTS.numpy().astype(np.int32)))
    assert torch.equal(given[0], gradient((HAND, HAND_SEGMENTS))[0])


def test_a_batch_in_which_nothing_counts_moves_nothing():
    """Each id a document of its own, after steps that left the optimisers with momentum."""
    trainer, _ = trained(6, boundaries="isolated", segments=np.ones((4, 9), dtype=np.int32))
    before = [p.detach().clone() for p in trainer.model.parameters()]
    remembered = trainer.optimizer_tensors()
    each_its_own = np.arange(36).reshape(4, 9) + 1
    loss = trainer.train_on(BATCHES[0][:, :-1], BATCHES[0][:, 1:], each_its_own)
    assert math.isnan(loss)
    assert (trainer.targets, trainer.step) == (0, 7)
    after = trainer.model.parameters()
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    kept = trainer.optimizer_tensors()
    assert all(torch.equal(kept[name], tensor) for name, tensor in remembered.items())


def test_without_segments_every_target_counts_and_isolated_training_is_refused():
    trainer, _ = trained(1)
    assert trainer.targets == 32
    trainer, _ = trained(0, boundaries="isolated")
    with pytest.raises(ValueError, match="isolated training needs the segments of each batch, got"):
        trainer.train_on(BATCHES[0][:, :-1], BATCHES[0][:, 1:])


def test_segments_of_the_inputs_alone_are_refused():
    trainer, _ = trained(0, boundaries="isolated")
    with pytest.raises(ValueError, match=r"of the T \+ 1 ids of each window, \(4, 9\); got \(4, 8"):
        trainer.train_on(BATCHES[0][:, :-1], BATCHES[0][:, 1:], np.ones((4, 8)))


# ---- clipping, learning, and settings


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


@pytest.mark.slow
@pytest.mark.parametrize("up_to", [256, 0])
def test_a_compiled_model_keeps_documents_apart_alike(monkeypatch, up_to):
    """Even at lengths that have buckets when they are not compiled."""
    monkeypatch.setattr("attention.MASK_UP_TO", up_to)
    how = {"segments": np.arange(36).reshape(4, 9) // 5 + 1, "boundaries": "isolated"}
    assert trained(4, compile=True, **how)[1] == pytest.approx(trained(4, **how)[1], rel=1e-4)


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
