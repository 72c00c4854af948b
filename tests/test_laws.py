"""Laws of every public function of the road: windows, batches, rows, the plan.

`laws.py` adds to each that twice the same gives the same and that no argument is written to.
"""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from laws import Laws, check, check_odd
from strategies import (
    document_frames,
    id_rows,
    numbers,
    pairs_of,
    parted,
    seeds,
    sizes,
    some_words,
    streams,
    texts,
    tokenizers,
    windowed,
)

import bijection
import data
import packing
import plan
import windows
from bijection import Bijection
from data import build_tokenizer, encode_corpus, iterate_batches, make_windows, split_ids
from ledger import ledger
from packing import count_dropped, count_tokens, fill, least_rows, pack, place, whole_documents
from plan import check_memory, check_sides, leaks
from stream import cut_stream, encode_text, segment_ids
from windows import (
    attention_mask,
    check_sizes,
    count_batches,
    count_passes,
    count_steps,
    count_unused,
    count_windows,
    counts,
    eval_windows,
    gather,
    least_context,
    loss_mask,
    mean_context,
    place_in_epoch,
    rows_view,
    sliding_windows,
    window_order,
    window_table,
)

laws = Laws()

# ---- windows


@laws.of(count_windows, numbers, sizes, sizes)
def _(W, n, T, k):
    assert W >= 0
    assert W == 0 or (W - 1) * k + T < n  # the last one fits, and no other would
    assert W * k + T >= n


@laws.of(count_batches, numbers, sizes)
def _(batches, W, B):
    assert (batches - 1) * B < W <= batches * B or W == batches == 0


@laws.of(count_steps, numbers, sizes, sizes)
def _(steps, W, B, epochs):
    assert steps == epochs * count_batches(W, B)


@laws.of(place_in_epoch, numbers, sizes, sizes)
def _(found, step, W, B):
    assert found[0] * count_batches(W, B) + found[1] == step
    assert 0 <= found[1] < count_batches(W, B)


@laws.of(count_unused, numbers, sizes, sizes)
def _(unused, n, T, k):
    used = {i for s in range(0, n - T, k) for i in range(s, s + T + 1)}
    assert unused + len(used) == n


@laws.of(window_table, st.lists(numbers, max_size=5), sizes)
def _(table, starts, length):
    assert table.dtypes.astype(str).tolist() == ["int64"] * 3
    assert table["start"].tolist() == starts
    assert set(table["length"]) <= {length}


@laws.of(sliding_windows, numbers, sizes, sizes)
def _(table, n, T, k):
    assert len(table) == count_windows(n, T, k)
    assert table["start"].tolist() == list(range(0, n - T, k))
    assert table["loss_from"].sum() == 0


@laws.of(window_order, numbers, seeds, call=lambda f, n, seed: f(n, np.random.default_rng(seed)))
def _(order, n, seed):
    assert order.dtype == np.int64
    assert sorted(order) == list(range(n))


strided = pairs_of(sizes, lambda T: st.integers(1, T))


@laws.of(eval_windows, st.tuples(st.integers(2, 60), strided).map(lambda a: (a[0], *a[1])))
def _(table, n, T, s):
    assert (table["length"] - table["loss_from"]).sum() == n - 1  # each target once
    assert table["start"].iloc[-1] + table["length"].iloc[-1] == n - 1
    assert (table["loss_from"] < table["length"]).all()


@laws.of(count_passes, sizes, sizes, st.integers(2, 60))
def _(passes, W, T, n):
    assert math.isclose(passes * (n - 1), W * T)


scoring = windowed.map(lambda pair: pair[1]).filter(lambda w: any(w["length"] > w["loss_from"]))


@laws.of(mean_context, scoring)
def _(mean, table):
    assert (table["loss_from"] + 1).min() <= mean <= table["length"].max()


@laws.of(least_context, sizes, sizes)
def _(least, T, s):
    assert least + s == T + 1


long_enough = pairs_of(id_rows.filter(lambda i: len(i) > 1), lambda i: st.integers(1, len(i) - 1))


@laws.of(rows_view, long_enough)
def _(rows, ids, T):
    assert rows.shape == (len(ids) - T, T + 1)
    assert (rows[:, 0] == ids[: len(rows)]).all()
    assert (rows[-1] == ids[-T - 1 :]).all()


@laws.of(gather, windowed.map(lambda pair: (pair[0].ids, pair[1])))
def _(pair, ids, table):
    x, y = pair
    assert x.shape == y.shape == (len(table), table["length"].iloc[0])
    assert (x[:, 1:] == y[:, :-1]).all()
    assert (x[:, 0] == ids[table["start"]]).all()


masked = parted.map(lambda a: (a[1], segment_ids(a[0].spans, len(a[0])), a[2]))


@laws.of(loss_mask, masked)
def _(mask, table, segments, how):
    y = gather(segments, table)[1]
    assert (mask.dtype, mask.shape) == (bool, y.shape)
    assert not mask[y == 0].any()
    assert (mask.sum(1) <= table["length"] - table["loss_from"]).all()
    assert (mask <= loss_mask(table, segments, "continuous")).all()


@laws.of(counts, masked.map(lambda a: (*gather(a[1], a[0]), a[2])))
def _(mask, seg_x, seg_y, how):
    assert (mask.dtype, mask.shape) == (bool, seg_x.shape)
    assert mask[(seg_x == seg_y) & (seg_y > 0)].all()


@laws.of(attention_mask, st.lists(st.integers(0, 3), min_size=1, max_size=9).map(np.array))
def _(mask, segments):
    assert (mask.dtype, mask.shape) == (bool, 2 * segments.shape)
    assert mask.diagonal().all()  # no row is empty
    assert not np.triu(mask, 1).any()
    assert ((mask | mask.T) == (segments[:, None] == segments)).all()


@laws.of(check_sizes, sizes, call=lambda f, size: f(seq_len=size))
def _(nothing, size):
    with pytest.raises(ValueError, match=f"stride must be at least 1, got {-size}"):
        check_sizes(stride=-size)


@laws.of(Bijection, sizes, seeds, numbers, call=lambda cls, *args: cls(*args)[:])
def _(order, W, seed, epoch):
    assert order.dtype == np.int64
    assert sorted(order) == list(range(W))


# ---- the six steps


@laws.of(build_tokenizer, some_words, sizes)
def _(tok, text, merges):
    assert tok.vocab_size <= 257 + merges
    assert tok.decode(tok.encode(text)) == text


@laws.of(encode_corpus, texts, tokenizers)
def _(ids, text, tok):
    assert ids.dtype == np.int64
    assert tok.decode(ids) == text


@laws.of(split_ids, id_rows, st.integers(0, 999).map(lambda n: n / 1000))
def _(sides, ids, fraction):
    assert np.concatenate(sides).tolist() == ids.tolist()
    part = fraction * len(ids)
    assert part - 1e-9 < len(sides[1]) < part + 1 + 1e-9  # to the id: test_data.py, as quality


@laws.of(make_windows, st.tuples(long_enough, sizes).map(lambda a: (*a[0], a[1])))
def _(frames, ids, T, k):
    x, y = frames
    assert x.shape == y.shape == (count_windows(len(ids), T, k), T)
    assert x.index.equals(y.index)
    starts = range(0, len(ids) - T, k)
    assert x.to_numpy().tolist() == [ids[s : s + T].tolist() for s in starts]
    assert y.to_numpy().tolist() == [ids[s + 1 : s + 1 + T].tolist() for s in starts]


def epoch(function, n, B, seed, shuffle):
    return list(function(*make_windows(np.arange(n), 3), B, np.random.default_rng(seed), shuffle))


@laws.of(iterate_batches, st.integers(5, 40), sizes, seeds, st.booleans(), call=epoch)
def _(batches, n, B, seed, shuffle):
    firsts = np.concatenate([x[:, 0] for x, _ in batches]).tolist()
    assert sorted(firsts) == list(range(n - 3))  # each window once
    assert shuffle or firsts == sorted(firsts)
    assert {len(x) for x, _ in batches[:-1]} <= {B}
    assert all(x.dtype == y.dtype == np.int64 and (y == x + 1).all() for x, y in batches)


# ---- packing

zero, ways = st.just(0), st.sampled_from(["fragment", "truncate"])


@laws.of(pack, streams(), sizes, zero, ways)
def _(laid, stream, T, pad, long_doc):
    assert len(laid) % (T + 1) == 0
    rows, last = laid.spans["start"] // (T + 1), (laid.spans["stop"] - 1) // (T + 1)
    assert (rows == last).all()  # no span crosses a border
    assert laid.ids.dtype == stream.ids.dtype
    assert laid.ids[segment_ids(laid.spans, len(laid)) == 0].sum() == pad
    kept = ledger(stream, laid, sliding_windows(len(laid), T, T + 1), "isolated")  # balances
    assert kept["dropped"].sum() == count_dropped(stream, laid)
    assert long_doc == "truncate" or not kept["dropped"].any()


@laws.of(count_tokens, streams())
def _(tokens, stream):
    assert tokens == (segment_ids(stream.spans, len(stream)) > 0).sum()


@laws.of(fill, streams())
def _(share, stream):
    assert 0 < share <= 1
    assert math.isclose(share * len(stream), count_tokens(stream))


@laws.of(least_rows, numbers, sizes)
def _(rows, tokens, T):
    assert (rows - 1) * (T + 1) < tokens <= rows * (T + 1) or rows == tokens == 0


packed = st.tuples(streams(), sizes).map(lambda a: (a[0], pack(*a, 0, "truncate")))


@laws.of(count_dropped, packed)
def _(dropped, source, laid):
    assert 0 <= dropped < count_tokens(source)


@laws.of(whole_documents, streams())
def _(documents, stream):
    assert documents["length"].sum() == count_tokens(stream)
    assert documents["start"].is_monotonic_increasing
    begun = documents.merge(stream.spans, on=["start", "doc_id", "doc_start"])
    assert len(begun) == len(documents)  # each where a span of it begins


def lengths_up_to(size):
    return st.lists(st.integers(1, size), min_size=1, max_size=9).map(np.array)


@laws.of(place, pairs_of(sizes, lengths_up_to).map(lambda a: (a[1], a[0])))
def _(rows, lengths, size):
    held = np.bincount(rows, lengths)
    assert rows.shape == lengths.shape
    assert 0 < held.min() <= held.max() <= size
    assert held.sum() == lengths.sum()


# ---- the plan


@laws.of(check_sides, sizes, sizes, sizes, call=lambda f, n, m, T: f(n + T, m + T, T))
def _(nothing, n, m, T):
    with pytest.raises(ValueError, match="the training side has"):
        check_sides(T, m + T, T)


def needing(function, memory):
    return function(memory, weights=80, logits=200, windows=40)


@laws.of(check_memory, st.integers(960, 9000), call=needing)
def _(nothing, memory):
    with pytest.raises(ValueError, match="the machine has"):
        check_memory(959, weights=80, logits=200, windows=40)  # 80 weights take 960 bytes


def halves(documents, tok):
    return (*cut_stream(encode_text(documents, tok), 2), tok)


@laws.of(leaks, st.tuples(document_frames(least=2), tokenizers).map(lambda a: halves(*a)))
def _(told, train, val, tok):
    assert told[0].endswith(f"validation text too, {tok.token_bytes[val.ids].sum():,} bytes")
    assert len(told) == 1 + len(set(train.spans["doc_id"]) & set(val.spans["doc_id"]))


# ---- all of them


@pytest.mark.contract("attention_mask", "build_tokenizer", "count_batches", "count_dropped")
@pytest.mark.contract("count_passes", "count_steps", "count_unused", "count_windows", "counts")
@pytest.mark.contract("encode_corpus", "eval_windows", "fill", "gather", "iterate_batches")
@pytest.mark.contract("least_context", "least_rows", "loss_mask", "make_windows", "mean_context")
@pytest.mark.contract("pack", "place", "place_in_epoch", "rows_view", "sliding_windows")
@pytest.mark.contract("split_ids", "whole_documents", "window_order")
@pytest.mark.parametrize("function", laws.functions)
def test_a_function_keeps_its_law_gives_the_same_twice_and_writes_to_nothing(function):
    check(laws[function.__qualname__], function)


@pytest.mark.parametrize("function", laws.of_numbers)
def test_a_number_that_cannot_be_is_refused_or_does_no_harm(function):
    check_odd(laws[function.__qualname__], function)


def test_every_public_function_has_a_law():
    missing = laws.missing(windows, bijection, data, packing, plan)
    assert missing == {
        "load_corpus",  # test_corpus.py and test_readers.py: files
        "Plan",  # numbers, each by hand in test_plan.py
    }
