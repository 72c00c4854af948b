"""How the weights move."""

import pytest
import torch

from model import GPT
from optim import Muon, make_optimizers, orthogonalize, rate_at, set_rate


@pytest.mark.parametrize("shape", [(16, 16), (16, 48), (48, 16)])
def test_orthogonalizing_brings_every_singular_value_near_one(shape):
    """Muon's coefficients aim at 0.7 … 1.2, not at 1 exactly."""
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = torch.linalg.svdvals(orthogonalize(matrix, steps=5))
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_orthogonalizing_keeps_the_directions():
    """diag(2, 1): the singular vectors stay, the ratio of 2 between the values shrinks."""
    moved = orthogonalize(torch.diag(torch.tensor([2.0, 1.0])))
    assert moved[0, 1] == moved[1, 0] == 0
    assert 0.5 < moved[0, 0] < 1.3
    assert 0.5 < moved[1, 1] < 1.3


def test_muon_is_torch_s_own_muon_but_for_its_bfloat16():
    """The same weights, gradients and settings, three steps; bfloat16 keeps 8 bits."""
    generator = torch.Generator().manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(32, 16, generator=generator))
    theirs = torch.nn.Parameter(ours.detach().clone())
    one = Muon([ours], lr=0.1, weight_decay=0.1)
    other = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.1, ns_steps=3)
    for _ in range(3):
        gradient = torch.randn(32, 16, generator=generator)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        one.step()
        other.step()
    assert torch.allclose(ours, theirs, atol=0.02)


def test_the_rate_rises_over_the_warm_up_and_falls_to_nothing():
    """10 steps, 2 of warm-up: 1/2, then 9/10 of the way left, …, 1/10 at the last."""
    rates = [round(rate_at(step, 10, 2), 3) for step in range(10)]
    assert rates == [0.5, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert rate_at(0, 10, 0) == 1.0


def test_every_weight_has_one_optimiser_and_rates_are_set_by_their_peaks():
    model = GPT(50, n_layer=2, n_head=2, d_model=16)
    optimizers = make_optimizers(model, lr=0.02)
    held = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    assert {id(p) for p in held} == {id(p) for p in model.parameters()}
    assert len(held) == len(list(model.parameters()))
    set_rate(optimizers, 0.5)
    set_rate(optimizers, 0.25)
    rates = [group["lr"] for o in optimizers for group in o.param_groups]
    assert rates == pytest.approx([0.005, 0.05, 0.00075])  # matrices, embedding, head: a quarter
