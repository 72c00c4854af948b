"""Who attends to whom: two ways, one rule, and where the choice falls."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention
import windows
from attention import attention_mask, bucketed, causal, cut_out, masked, positions


@st.composite
def segments(draw) -> torch.Tensor:
    """Rows of documents of any length, each token its own at times; padding at any place."""
    B, T = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    rows, number = [], 0
    for _ in range(B):
        row: list[int] = []
        while len(row) < T:
            number += 1
            row += [number if draw(st.integers(0, 3)) else 0] * draw(st.integers(1, T))
        rows.append(row[:T])
    return torch.tensor(rows)


def documents(seg: torch.Tensor) -> list[tuple[int, int, int]]:
    """Row, first place and end of each run of one number, by a plain loop."""
    found = []
    for b, row in enumerate(seg.tolist()):
        first = 0
        for i in range(1, len(row) + 1):
            if i == len(row) or row[i] != row[first]:
                found.append((b, first, i))
                first = i
    return found


@pytest.mark.eq("may-attend")
def test_a_place_may_attend_to_earlier_ones_of_its_document_and_to_itself():
    """Two places of one document, one of the next, one of padding."""
    mask = attention_mask(torch.tensor([[1, 1, 2, 0]]))  # eq: may-attend
    assert mask.int().tolist() == [[[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]]


@pytest.mark.eq("may-attend")
@given(segments())
def test_tensors_get_the_mask_that_arrays_get_and_its_last_rows(seg):
    expected = windows.attention_mask(seg.numpy())
    assert np.array_equal(attention_mask(seg).numpy(), expected)  # eq: may-attend
    for n in range(1, seg.shape[1] + 1):
        assert np.array_equal(attention_mask(seg, n).numpy(), expected[:, -n:])


@given(segments())
def test_positions_count_from_0_in_each_document(seg):
    found = torch.full_like(seg, -1)
    for b, first, end in documents(seg):
        found[b, first:end] = torch.arange(end - first)
    assert torch.equal(positions(seg), found)


@given(segments())
def test_every_place_is_cut_out_once_with_its_document_in_order(seg):
    """A row of a bucket is one document, its last place repeated; together they are all rows."""
    buckets, found_at = cut_out(seg)
    T = seg.shape[1]
    whole = {b * T + first: (b * T + first, b * T + end) for b, first, end in documents(seg)}
    for bucket in buckets:
        for row in bucket.tolist():
            first, end = whole.pop(row[0])
            assert row == [min(place, end - 1) for place in range(first, first + len(row))]
            assert len(row) >= end - first
    assert whole == {}
    flat = torch.cat([bucket.flatten() for bucket in buckets])
    assert flat[found_at].tolist() == list(range(seg.numel()))


@given(segments(), st.integers(0, 100))
def test_both_ways_give_each_document_what_a_plain_loop_gives_it(seg, seed):
    """Place by place: softmax over the products with the keys from the document's first on."""
    (B, T), h, d = seg.shape, 2, 3
    generator = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, B, h, T, d, generator=generator, dtype=torch.float64)
    slow = torch.empty_like(v)
    for b, first, end in documents(seg):
        for i in range(first, end):
            for head in range(h):
                seen = slice(first, i + 1)
                chances = (k[b, head, seen] @ q[b, head, i] / math.sqrt(d)).softmax(0)
                slow[b, head, i] = chances @ v[b, head, seen]
    runs = attention._begins(seg).cumsum(1)  # so that padding in two places is apart in both
    for attend in (masked(runs), bucketed(seg)):
        assert torch.allclose(attend(q, k, v), slow, atol=1e-12)


def test_rows_up_to_256_places_have_the_mask_and_longer_ones_the_buckets(monkeypatch):
    monkeypatch.setattr(attention, "masked", lambda seg: "mask")
    monkeypatch.setattr(attention, "bucketed", lambda seg: "buckets")
    chosen = [attention.choose_attention(torch.ones(1, T)) for T in (1, 64, 256, 257, 1024)]
    assert chosen == ["mask", "mask", "mask", "buckets", "buckets"]
    assert attention.choose_attention(None) is causal
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert attention.choose_attention(torch.ones(1, 1024)) == "mask"


def test_equal_documents_are_no_more_than_four_calls_and_pad_nothing():
    """Nine documents of 3: buckets of 3, 2, 2 and 2 of them, 27 places in all."""
    buckets, _ = cut_out(torch.arange(1, 10).repeat_interleave(3).view(1, 27))
    assert [tuple(bucket.shape) for bucket in buckets] == [(3, 3), (2, 3), (2, 3), (2, 3)]
