"""Laws of every public function with torch: batches, loaders, scoring, attention, the model."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import strategies as st
from laws import Laws, check, check_odd
from strategies import (
    POOL,
    document_frames,
    id_rows,
    numbers,
    pairs_of,
    parted,
    seeds,
    sizes,
    tokenizers,
)

import attention
import batches
import loaders
import model
import scoring
import windows
from attention import attention_mask, bucketed, causal, choose_attention, cut_out, masked, positions
from batches import (
    TrainBatchIterator,
    batch_seed,
    boundary_windows,
    epoch_order,
    expected_shared,
    gather_rows,
    get_batch,
    make_train_loader,
    repeat_share,
)
from loaders import (
    Gathered,
    MappedIds,
    RandomWindowDataset,
    SequentialEvalDataset,
    SlidingWindowDataset,
    epoch_generator,
    make_dataloader,
)
from model import GPT, count_weights, rms_norm, rotary, rotate, sample
from scoring import Receipt, compare, documents_digest, evaluate, masked_loss, score_windows, total
from stream import encode_documents, encode_text, segment_ids
from windows import loss_mask, rows_view

laws = Laws()
MODEL = GPT(257, n_layer=2, n_head=2, d_model=8)
for weight in MODEL.parameters():  # fresh ones make all logits 0
    torch.nn.init.normal_(weight, std=0.3, generator=torch.Generator().manual_seed(1))
MODEL.requires_grad_(False)

small = st.integers(1, 5)
long_rows = id_rows.filter(lambda ids: len(ids) > 6)


def seeded(function, *args):
    """The call of a function whose last argument is a generator, here its seed."""
    return function(*args[:-1], torch.Generator().manual_seed(args[-1]))


def shifted(x: torch.Tensor, y: torch.Tensor) -> None:
    assert x.dtype == y.dtype == torch.int64
    assert torch.equal(x[..., 1:], y[..., :-1])


# ---- batches


@laws.of(get_batch, long_rows, small, small, seeds, call=seeded)
def _(batch, ids, T, B, seed):
    shifted(*batch)
    assert batch[0].shape == (B, T)
    rows = np.column_stack([batch[0], batch[1][:, -1]]).tolist()
    assert all(row in rows_view(ids, T).tolist() for row in rows)


views = st.tuples(long_rows, small).map(lambda a: rows_view(*a))


@laws.of(gather_rows, pairs_of(views, lambda v: st.lists(st.integers(0, len(v) - 1), min_size=1)))
def _(batch, rows, picked):
    shifted(*batch)
    assert np.column_stack([batch[0], batch[1][:, -1]]).tolist() == rows[picked].tolist()


def eight(function, *args):
    loader = function(*args)
    return [next(loader) for _ in range(8)]


@laws.of(make_train_loader, long_rows, small, small, seeds, numbers, call=eight)
def _(given, ids, T, B, seed, start):
    later = make_train_loader(ids, T, B, seed, start + 7)
    assert all(map(torch.equal, next(later), given[7]))
    assert later.state_dict() == {"step": start + 8, "seed": seed}
    for step, batch in enumerate(given, start):
        generator = torch.Generator().manual_seed(batch_seed(seed, step))
        assert all(map(torch.equal, get_batch(ids, T, B, generator), batch))


@laws.of(TrainBatchIterator, long_rows, small, small, seeds, numbers, call=eight)
def _(given, ids, T, B, seed, start):
    again = TrainBatchIterator(ids, T, B, seed)
    again.load_state_dict({"step": start, "seed": seed})
    for step, (x, y) in enumerate(given, start):
        shifted(x, y)
        assert all(map(torch.equal, again.batch_at(step), (x, y)))
        assert torch.equal(next(again)[0], x)
    shares = [TrainBatchIterator(ids, T, 2 * B, seed, 0, rank, 2).batch_at(3) for rank in (0, 1)]
    whole = TrainBatchIterator(ids, T, 2 * B, seed).batch_at(3)
    assert torch.equal(torch.stack([x for x, _ in shares], 1).flatten(0, 1), whole[0])


@laws.of(batch_seed, seeds, numbers)
def _(number, seed, step):
    assert divmod(number, 1_000_003) == (seed, step)


@laws.of(epoch_order, numbers, seeds, numbers)
def _(order, W, seed, epoch):
    assert order.dtype == np.int64
    assert sorted(order) == list(range(W))
    assert order.tolist() == epoch_order(W, seed + epoch, 0).tolist()


@laws.of(boundary_windows, st.sets(st.integers(0, 29)).map(sorted), st.just(30), sizes)
def _(held, places, n, T):
    assert held == sum(any(s <= p <= s + T for p in places) for s in range(n - T))


@laws.of(repeat_share, sizes, numbers.filter(bool))
def _(share, W, draws):
    assert 0 <= share < 1
    assert (draws == 1) <= (share == 0)


@laws.of(expected_shared, sizes, sizes, sizes)
def _(pairs, W, B, steps):
    assert math.isclose(pairs * W, (steps - 1) * B * B)


# ---- loaders


def items(cls, *args):
    data = cls(*args)
    assert data[-1][0].tolist() == data[len(data) - 1][0].tolist()
    with pytest.raises(IndexError):
        data[len(data)]
    return [data[i] for i in range(len(data))]


@laws.of(SlidingWindowDataset, long_rows, small, small, call=items)
def _(given, ids, T, k):
    assert len(given) == windows.count_windows(len(ids), T, k)
    for number, (x, y) in enumerate(given):
        shifted(x, y)
        assert [*x.tolist(), int(y[-1])] == ids[number * k :][: T + 1].tolist()


@laws.of(SlidingWindowDataset.count_windows, numbers, sizes, sizes)
def _(count, n, T, k):
    assert count == windows.count_windows(n, T, k)


@laws.of(RandomWindowDataset, long_rows, small, small, seeds, call=items)
def _(given, ids, T, n, seed):
    assert len(given) == n
    data = RandomWindowDataset(ids, T, n, seed)
    data.set_epoch(1)
    data.set_epoch(0)
    for number, (x, y) in enumerate(given):
        shifted(x, y)
        assert torch.equal(data[number][0], x)
        assert [*x.tolist(), int(y[-1])] in rows_view(ids, T).tolist()


@laws.of(SequentialEvalDataset, long_rows, st.just(4), st.integers(1, 4), call=items)
def _(given, ids, T, s):
    scored = torch.cat([y[mask] for _, y, mask in given])
    assert scored.tolist() == ids[1:].tolist()  # each target once, in order


loaded = st.tuples(numbers, small, st.booleans(), seeds, numbers, st.booleans())


def an_epoch(function, n, B, shuffle, seed, epoch, drop_last):
    data = SlidingWindowDataset(torch.arange(n + 4), 3, 1)
    return list(function(data, B, shuffle, seed, epoch, drop_last and len(data) >= B))


@laws.of(make_dataloader, loaded, call=an_epoch)
def _(given, n, B, shuffle, seed, epoch, drop_last):
    firsts = torch.cat([x[:, 0] for x, _ in given]).tolist()
    assert len(set(firsts)) == len(firsts)
    kept = (n + 1) // B * B if drop_last and n + 1 >= B else n + 1
    assert len(firsts) == kept
    assert shuffle or firsts == list(range(kept))
    assert all(torch.equal(y, x + 1) for x, y in given)


@laws.of(epoch_generator, seeds, numbers, call=lambda f, *a: f(*a).initial_seed())
def _(started, seed, epoch):
    assert started == seed + epoch


@laws.of(Gathered, id_rows.map(torch.from_numpy), call=lambda cls, ids: list(cls(ids, ids + 1)))
def _(given, ids):
    assert [tuple(map(int, item)) for item in given] == [(i, i + 1) for i in ids.tolist()]


@laws.of(MappedIds, id_rows, call=lambda cls, ids: cls.of(ids))
def _(mapped, ids):
    assert mapped is None  # of a file: test_loaders.py


# ---- scoring

logits = st.tuples(small, small, st.integers(2, 6), seeds)
logits = logits.map(lambda a: torch.randn(*a[:3], generator=torch.Generator().manual_seed(a[3])))
scored = pairs_of(logits, lambda given: st.integers(0, 2**10 - 1)).map(
    lambda a: (
        a[0],
        a[0].argmin(-1),
        torch.tensor([a[1] >> k & 1 for k in range(a[0][..., 0].numel())]).view(a[0].shape[:2]) > 0,
    )
)


@laws.of(masked_loss, scored)
def _(found, given, targets, mask):
    nats, count = found
    assert count == mask.sum()
    assert nats >= 0
    whole, both = masked_loss(given, targets), masked_loss(given, targets, ~mask)
    assert both[1] + count == whole[1]
    assert torch.isclose(both[0] + nats, whole[0], atol=1e-4)


receipts = st.builds(Receipt, numbers, sizes, sizes, sizes, sizes)


@laws.of(Receipt, numbers, sizes, sizes, sizes, sizes)
def _(receipt, units, count, text_bytes, T, s):
    assert math.isclose(receipt.sum_nats * 2**32, units)
    assert math.isclose(receipt.nats_per_token * count, receipt.sum_nats)
    assert math.isclose(receipt.perplexity, math.exp(receipt.nats_per_token))
    assert math.isclose(receipt.bits_per_byte * text_bytes * math.log(2), receipt.sum_nats)


evaluated = st.tuples(document_frames(), st.booleans(), st.integers(2, 6)).map(
    lambda a: ((encode_text if a[1] else encode_documents)(a[0], POOL[0]), a[2])
)
evaluated = evaluated.filter(lambda a: len(a[0]) > 1)


@laws.of(evaluate, evaluated, call=lambda f, stream, T: f(MODEL, stream, POOL[0], T))
def _(receipt, stream, T):
    assert receipt.count == len(stream) - 1
    assert receipt.text_bytes == POOL[0].token_bytes[stream.ids[1:]].sum()
    shares = [evaluate(MODEL, stream, POOL[0], T, rank=r, world_size=2) for r in (0, 1)]
    assert abs(total(shares).units - receipt.units) <= 2**13 * receipt.count  # 2e-6 nats each
    assert total(shares).count == receipt.count


def windows_scored(function, stream, table, how):
    return function(MODEL, stream, POOL[0], table, 2, how)


@laws.of(score_windows, parted, call=windows_scored)
def _(found, stream, table, how):
    units, count, text_bytes = found
    assert count == loss_mask(table, segment_ids(stream.spans, len(stream)), how).sum()
    assert text_bytes == count  # no id here is an end-of-text
    assert (units > 0) == (count > 0)


@laws.of(
    documents_digest, document_frames(), tokenizers, call=lambda f, d, t: f(encode_text(d, t), t)
)
def _(digest, documents, tok):
    assert digest == documents_digest(encode_documents(documents, POOL[0]), POOL[0])


@laws.of(total, st.lists(receipts, min_size=1).map(lambda some: [some[0]] * len(some)))
def _(receipt, some):
    assert receipt.count == sum(one.count for one in some)
    assert receipt.units == sum(one.units for one in some)
    assert (receipt.seq_len, receipt.stride) == (some[0].seq_len, some[0].stride)


@laws.of(compare, receipts, receipts, call=lambda f, a, b: f(a, a, "bits_per_byte"))
def _(comparison, a, b):
    assert (comparison.a, comparison.b, comparison.difference) == (*2 * [a.bits_per_byte], 0)
    if a.seq_len != b.seq_len:
        with pytest.raises(ValueError, match=f"seq_len is {a.seq_len} and {b.seq_len}"):
            compare(a, b, "bits_per_byte")


def test_windows_of_which_no_target_counts_score_nothing():
    """Windows of two targets each, which an earlier one has scored."""
    stream = encode_text(pd.DataFrame({"text": ["the"]}), POOL[0])
    table = windows.window_table([0, 1], 2, 2)
    assert score_windows(MODEL, stream, POOL[0], table, 4, "continuous") == (0, 0, 0)


# ---- attention, model

segmented = st.integers(1, 8).flatmap(
    lambda T: st.lists(
        st.lists(st.integers(0, 3), min_size=T, max_size=T).map(sorted), min_size=1, max_size=3
    )
)
segmented = segmented.map(torch.tensor)


def qkv(segments: torch.Tensor) -> torch.Tensor:
    """Queries, keys and values `(3, B, 2, T, 4)`."""
    shape = 3, segments.shape[0], 2, segments.shape[1], 4
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@laws.of(causal, segmented, call=lambda f, segments: f(*qkv(segments)))
def _(y, segments):
    assert y.shape == qkv(segments)[0].shape
    assert torch.allclose(y[:, :, 0], qkv(segments)[2][:, :, 0])  # the first place sees itself


for maker in (masked, bucketed, choose_attention):

    @laws.of(maker, segmented, call=lambda f, segments: f(segments)(*qkv(segments)))
    def _(y, segments):
        q, k, v = qkv(segments)
        for b, row in enumerate(segments.tolist()):
            for i in range(len(row)):
                seen = [j for j in range(i + 1) if row[j] == row[i]]
                weights = (q[b, :, i, None] @ k[b][:, seen].mT / 2).softmax(-1)  # √4
                assert torch.allclose(y[b, :, i], (weights @ v[b][:, seen])[:, 0], atol=1e-5)


@laws.of(attention_mask, segmented)
def _(mask, segments):
    assert mask.tolist() == windows.attention_mask(segments.numpy()).tolist()


@laws.of(cut_out, segmented)
def _(found, segments):
    buckets, found_at = found
    flat = torch.cat([bucket.flatten() for bucket in buckets])
    assert flat[found_at].tolist() == list(range(segments.numel()))  # each place is found again


@laws.of(positions, segmented)
def _(places, segments):
    same = segments[:, 1:] == segments[:, :-1]
    assert (places[:, 0] == 0).all()
    assert torch.equal(places[:, 1:], torch.where(same, places[:, :-1] + 1, 0))


@laws.of(rms_norm, logits)
def _(y, x):
    assert torch.allclose(y.square().mean(-1), torch.ones(x.shape[:-1]), atol=1e-4)


@laws.of(rotary, st.lists(numbers, min_size=1).map(torch.tensor), st.just(4))
def _(turn, places, size):
    cos, sin = turn
    assert cos.shape == sin.shape == (1, len(places), 2)
    assert torch.allclose(cos.square() + sin.square(), torch.ones(()))


pairs = logits.map(
    lambda x: (torch.cat([x, x], -1), *torch.ones(2, x.shape[1], x.shape[2]) / 2**0.5)
)


@laws.of(rotate, pairs)
def _(y, x, cos, sin):
    assert torch.allclose(y.norm(dim=-1), x.norm(dim=-1), atol=1e-4)  # turned, no longer


@laws.of(count_weights, sizes, small, st.just(8))
def _(count, V, layers, d):
    assert count == sum(weight.numel() for weight in GPT(V, layers, 2, d).parameters())


batched = st.tuples(small, st.integers(2, 6), seeds).map(
    lambda a: torch.randint(257, a[:2], generator=torch.Generator().manual_seed(a[2]))
)


@laws.of(GPT, batched, call=lambda cls, ids: cls(257, 1, 2, 8, seed=3)(ids))
def _(fresh, ids):
    assert fresh.shape == (*ids.shape, 257)
    assert not fresh.any()  # an untrained model finds every token equally likely
    logits = MODEL(ids)
    assert torch.allclose(MODEL(ids[:, :-1]), logits[:, :-1], atol=1e-5)  # no place looks ahead
    assert torch.allclose(MODEL.tail_logits(ids, 2), logits[:, -2:], atol=1e-5)
    alone = torch.arange(ids.shape[1]).expand_as(ids)  # each token a document
    assert torch.allclose(MODEL(ids, alone), MODEL(ids.reshape(-1, 1)).view_as(logits), atol=1e-5)


@laws.of(sample, batched, small, call=lambda f, ids, n: f(MODEL, ids[0].tolist(), n, 4, seed=2))
def _(drawn, ids, n):
    assert len(drawn) == n
    assert all(0 <= token < 257 for token in drawn)


# ---- all of them


@pytest.mark.contract("RandomWindowDataset", "Receipt", "SequentialEvalDataset")
@pytest.mark.contract("SlidingWindowDataset", "batch_seed", "boundary_windows", "epoch_generator")
@pytest.mark.contract("epoch_order", "evaluate", "expected_shared", "get_batch", "make_dataloader")
@pytest.mark.contract("make_train_loader", "masked_loss", "repeat_share", "total")
@pytest.mark.parametrize("function", laws.functions)
def test_a_function_keeps_its_law_gives_the_same_twice_and_writes_to_nothing(function):
    check(laws[function.__qualname__], function)


@pytest.mark.parametrize("function", [f for f in laws.of_numbers if f is not rotary])  # GPT's own
def test_a_number_that_cannot_be_is_refused_or_does_no_harm(function):
    check_odd(laws[function.__qualname__], function)


def test_every_public_function_has_a_law():
    missing = laws.missing(batches, loaders, scoring, attention, model)
    assert missing == {
        "Block",  # in GPT
        "Comparison",  # what compare gives
        "EpochLoader",  # what make_dataloader gives
        "Item",  # an item of Gathered
        "WindowDataset",  # in the three Datasets
    }
