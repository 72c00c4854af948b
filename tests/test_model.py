"""The model obeys order, documents and positions, and its seed."""

import math
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_attention import documents, segments

import attention
from model import GPT, sample


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


# ---- documents apart

PATHS = {"mask": 10**9, "buckets": 0}  # the longest row that gets a mask


@contextmanager
def on(path: str):
    """Whatever T is, attention takes this path."""
    with mock.patch.object(attention, "MASK_UP_TO", PATHS[path]):
        yield


@pytest.fixture(params=PATHS)
def path(request):
    with on(request.param):
        yield request.param


def test_two_documents_in_a_row_get_the_logits_that_each_gets_alone(path):
    """Two documents of 4; the angles of positions are float32, so 4 … 7 would show from 1e-9 on."""
    model = awake()
    together = model(IDS, torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2]]))
    apart = torch.cat([model(IDS[:, :4]), model(IDS[:, 4:])], dim=1)
    assert torch.allclose(together, apart, rtol=0, atol=1e-12)


@pytest.mark.parametrize("place", range(8))
def test_a_changed_token_moves_no_logit_of_another_document(path, place):
    """Documents of 3, 2 and 3 ids: a change at `place` moves its own document from there on."""
    model, seg = awake(n_layer=3), torch.tensor([[1, 1, 1, 2, 2, 3, 3, 3]])
    changed = IDS.clone()
    changed[0, place] = 40
    moved = (model(IDS, seg) - model(changed, seg)).abs().amax(-1)[0]
    own = (seg[0] == seg[0, place]) & (torch.arange(8) >= place)
    assert moved[~own].max() <= 1e-12
    assert moved[own].min() > 1e-6
    for n in range(1, 9):
        tails = [model.tail_logits(ids, n, seg) for ids in (IDS, changed)]
        moved = (tails[0] - tails[1]).abs().amax(-1)[0]
        assert (moved[~own[-n:]] <= 1e-12).all()
        assert (moved[own[-n:]] > 1e-6).all()


@settings(max_examples=40, deadline=None)
@given(segments(), st.data())
def test_each_document_gets_alone_what_it_gets_in_any_row_on_every_path(seg, data):
    """Rows of any documents and padding: by mask, by buckets, and as the tail of either."""
    generator = torch.Generator().manual_seed(seg.numel())
    model, ids = awake(), torch.randint(0, 50, seg.shape, generator=generator)
    n = data.draw(st.integers(1, seg.shape[1]))
    for path in PATHS:
        with on(path):
            whole, tail = model(ids, seg), model.tail_logits(ids, n, seg)
        for b, first, end in documents(seg):
            if seg[b, first] == 0:
                continue
            alone = model(ids[b : b + 1, first:end])[0]
            assert torch.allclose(whole[b, first:end], alone, rtol=0, atol=1e-12)
            from_here = max(first, seg.shape[1] - n)
            if from_here < end:
                there = tail[b, from_here - seg.shape[1] + n : end - seg.shape[1] + n]
                assert torch.allclose(there, alone[from_here - first :], rtol=0, atol=1e-12)


@pytest.mark.parametrize("T", [256, 300])
def test_rows_of_the_lengths_at_which_the_path_changes_are_right_without_being_told(T):
    model, ids = awake(), torch.arange(2 * T).view(2, T) % 50
    seg = torch.arange(2 * T).view(2, T) // 70 + 1
    whole = model(ids, seg)
    for b, first, end in documents(seg):
        alone = model(ids[b : b + 1, first:end])[0]
        assert torch.allclose(whole[b, first:end], alone, rtol=0, atol=1e-12)


def test_a_row_of_nothing_but_padding_gives_no_nan_and_moves_no_other_row(path):
    """Forward, backward and tail; whatever ids the padding has, the document keeps its logits."""
    model = awake().float()
    ids = torch.cat([IDS, torch.zeros_like(IDS)])
    seg = torch.tensor([[0, 0, 1, 1, 1, 0, 0, 0], [0] * 8])
    logits = model(ids, seg)
    logits.logsumexp(-1).sum().backward()
    assert logits.isfinite().all()
    assert model.tail_logits(ids, 3, seg).isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    other = torch.where(seg == 0, 7, ids)
    assert torch.allclose(model(other, seg)[0, 2:5], logits[0, 2:5], atol=1e-6)


def test_rows_of_one_document_are_what_they_are_without_segments(path):
    model = awake()
    assert torch.allclose(model(IDS, torch.ones_like(IDS)), model(IDS), rtol=0, atol=1e-12)


def test_both_paths_have_one_gradient():
    seg, gradients = torch.tensor([[1, 1, 1, 2, 0, 0, 3, 3]]), []
    for path in PATHS:
        model = awake()
        with on(path):
            model(IDS, seg)[seg != 0].logsumexp(-1).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert torch.allclose(*gradients, rtol=0, atol=1e-12)
    assert gradients[0].abs().max() > 0.1


def test_segments_of_another_shape_than_the_ids_are_refused():
    told = (
        r"segments must have the shape of ids, \(1, 8\); got \(1, 9\); a window's T \+ 1 segments"
    )
    for ask in (awake(), lambda ids, seg: awake().tail_logits(ids, 2, seg)):
        with pytest.raises(ValueError, match=told):
            ask(IDS, torch.ones(1, 9, dtype=torch.int64))


def test_only_the_distance_of_positions_matters(monkeypatch):
    model, one = awake(), torch.ones_like(IDS)
    plain = model(IDS)
    monkeypatch.setattr("model.positions", lambda seg: torch.arange(8)[None] + 100)
    assert torch.allclose(plain, model(IDS, one), atol=1e-4)
    monkeypatch.setattr("model.positions", lambda seg: torch.arange(8)[None] * 2)
    assert not torch.allclose(plain, model(IDS, one), atol=1e-3)


# ---- seed and gradients


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


@pytest.mark.parametrize("n", range(1, 9))
def test_the_tail_of_the_logits_is_that_of_the_whole_forward_pass(n):
    """Two windows of 8 ids at once, in float64: keys of all places, queries of the last n."""
    model, ids = awake(n_layer=3), torch.cat([IDS, IDS.flip(1)])
    tail = model.tail_logits(ids, n)
    assert tail.shape == (2, n, 50)
    assert torch.allclose(tail, model(ids)[:, -n:], atol=1e-12)


def test_a_tail_of_no_place_or_of_more_than_there_are_is_refused():
    for n in (0, -1, 9):
        with pytest.raises(ValueError, match=f"n must be from 1 to 8, the places .* got {n}"):
            awake().tail_logits(IDS, n)


def test_the_tail_takes_less_work_in_the_last_block_and_the_head_alone():
    """Of 8 places 2 are asked for: the last perceptron and the head see 2, all others 8."""
    model, seen = awake(n_layer=2), {}

    def watch(name):
        return lambda module, given, result: seen.update({name: result.shape[1]})

    for name in ("blocks.0.mix", "blocks.0.up", "blocks.1.mix", "blocks.1.up", "head"):
        model.get_submodule(name).register_forward_hook(watch(name))
    model.tail_logits(IDS, 2)
    assert list(seen.values()) == [8, 8, 2, 2, 2]


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
