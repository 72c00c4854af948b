"""The model obeys order, masks and positions, and its seed."""

import math

import pytest
import torch

from model import GPT, sample
from windows import attention_mask


def awake(seed: int = 0, **sizes) -> GPT:
    """A model whose outputs are not zero, in float64."""
    model = GPT(**({"vocab_size": 50, "n_layer": 2, "n_head": 2, "d_model": 16} | sizes), seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3, generator=generator)
    return model.double()


IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def test_an_untrained_model_gives_every_token_the_same_chance():
    logits = GPT(vocab_size=50, n_layer=1, n_head=2, d_model=16)(IDS)
    assert logits.shape == (1, 8, 50)
    assert torch.equal(logits, torch.zeros(1, 8, 50))


def test_no_position_sees_a_later_one():
    """Changing id 5 changes the logits from place 5 on, and none before."""
    model = awake()
    changed = IDS.clone()
    changed[0, 5] = 7
    moved = (model(IDS) - model(changed)).abs().amax(-1)[0]
    assert moved[:5].max() == 0
    assert moved[5:].min() > 1e-6


def test_a_causal_mask_given_in_full_changes_nothing():
    model = awake()
    full = torch.ones(8, 8, dtype=torch.bool).tril().unsqueeze(0)
    assert torch.allclose(model(IDS), model(IDS, full), atol=1e-12)


def test_isolated_documents_do_not_touch_each_other():
    """Two documents of 4: with mask and own positions each gives what it gives alone."""
    model = awake()
    mask = torch.from_numpy(attention_mask([[1, 1, 1, 1, 2, 2, 2, 2]]))
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]])
    together = model(IDS, mask, positions)
    apart = torch.cat([model(IDS[:, :4]), model(IDS[:, 4:])], dim=1)
    assert torch.allclose(together, apart, atol=1e-12)


def test_only_the_distance_of_positions_matters():
    model = awake()
    shifted = model(IDS, None, torch.arange(8) + 100)
    assert torch.allclose(model(IDS), shifted, atol=1e-4)
    stretched = model(IDS, None, torch.arange(8) * 2)
    assert not torch.allclose(model(IDS), stretched, atol=1e-3)


def test_the_weights_follow_from_the_seed_and_no_global_state_is_touched():
    state = torch.get_rng_state()
    one, same, other = (awake(seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embed.weight, other.embed.weight)
    fresh = [GPT(50, 1, 2, 16, seed=seed).embed.weight for seed in (1, 1, 2)]
    assert torch.equal(fresh[0], fresh[1])
    assert not torch.equal(fresh[0], fresh[2])


def test_gradients_reach_every_weight_and_stop_at_the_embedding():
    model = awake()
    model(IDS).logsumexp(-1).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    assert not IDS.requires_grad


def test_widths_that_cannot_be_rotated_in_pairs_are_refused():
    with pytest.raises(ValueError, match="d_model must be a multiple of 2 \\* n_head, 8; got 20"):
        GPT(50, n_head=4, d_model=20)


def test_samples_follow_from_their_seed_and_continue_the_prompt():
    model = awake()
    drawn = [sample(model, [1, 2], 20, 8, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 20
    assert all(0 <= i < 50 for i in drawn[0])


def test_samples_are_drawn_with_the_chances_of_the_model():
    """Two tokens, chances 1/4 and 3/4: of 2,000 draws 1,500 ± 4 standard deviations of 19.4."""
    model = GPT(vocab_size=2, n_layer=1, n_head=1, d_model=2)

    def forward(ids: torch.Tensor) -> torch.Tensor:
        return torch.tensor([0.0, math.log(3)]).expand(*ids.shape, 2)

    model.forward = forward
    drawn = sample(model, [0], 2000, 4, temperature=1.0)
    assert abs(sum(drawn) - 1500) < 4 * 19.4
