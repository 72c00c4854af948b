"""The loss, once per target; receipts, ranks and comparisons."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model import GPT
from scoring import (
    UNITS_PER_NAT,
    Comparison,
    Receipt,
    compare,
    documents_digest,
    evaluate,
    masked_loss,
    total,
)
from stream import Stream, cut_stream, encode_documents, encode_text
from tokenizer import Tokenizer
from windows import eval_windows

BYTES = Tokenizer([])
MERGED = Tokenizer([(b"t", b"h"), (b"th", b"e")])
TALES = pd.DataFrame({"text": ["the sea", "the\n\nsong"]})


class PlaceLoss(torch.nn.Module):
    """A stand-in whose loss at target position i of a stream 0, 1, 2, … is i nats, in float64.

    Input i − 1 stands before target i; the logit of the target is −i, and that of the last token
    is such that both probabilities together are 1. What is left of 1e-16 the units round away.
    """

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.vocab = vocab

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.full((*ids.shape, self.vocab), -1e9, dtype=torch.float64)
        target = (ids + 1).double()
        logits.scatter_(-1, (ids + 1).unsqueeze(-1), -target.unsqueeze(-1))
        logits[..., -1] = torch.log(-torch.expm1(-target))  # ln(1 − e^−i)
        return logits


def counting_stream(n: int) -> Stream:
    spans = pd.DataFrame({"start": [0], "stop": [n], "doc_id": [0], "doc_start": [0]})
    return Stream(np.arange(n), spans)


def score(n: int, seq_len: int, stride: int, **how) -> Receipt:
    return evaluate(PlaceLoss(257), counting_stream(n), BYTES, seq_len, stride, **how)


def awake(vocab: int, seed: int = 0) -> GPT:
    """A model of two layers whose outputs are not zero, in float32."""
    model = GPT(vocab, n_layer=2, n_head=2, d_model=16)
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3, generator=generator)
    return model


def random_stream(n: int, vocab: int = 257) -> Stream:
    return replace(counting_stream(n), ids=np.random.default_rng(n).integers(0, vocab - 1, n))


# ---- exact sums


@pytest.mark.contract("evaluate")
@pytest.mark.eq("mean-cross-entropy", "fixed-point-sum")
@pytest.mark.parametrize("batch_size", [1, 2, 5, 6])
def test_targets_1_to_22_with_a_loss_of_their_place_sum_to_253(batch_size):
    """1 + 2 + … + 22 = 253, over 22 targets: 11.5, to the last bit, whatever the batches."""
    receipt = score(23, 8, 3, batch_size=batch_size)
    assert receipt.count == 22
    assert receipt.units == 253 * 2**32  # eq: fixed-point-sum
    assert receipt.sum_nats == 253
    assert receipt.nats_per_token == 11.5  # eq: mean-cross-entropy


@pytest.mark.contract("evaluate", "total")
@pytest.mark.parametrize("world_size", [1, 2, 4, 9])
def test_ranks_share_the_windows_and_their_total_is_what_one_alone_scores(world_size):
    """Six windows: with 9 ranks three have none, and they add nothing."""
    ranks = [score(23, 8, 3, rank=r, world_size=world_size) for r in range(world_size)]
    assert total(ranks) == total(ranks[::-1]) == score(23, 8, 3)
    assert total(ranks).nats_per_token == 11.5
    assert [r.count for r in ranks].count(0) == max(0, world_size - 6)


@pytest.mark.contract("evaluate", "total")
@given(st.integers(2, 90), st.integers(1, 16), st.data())
def test_sums_depend_on_no_stride_batch_or_rank(n, seq_len, data):
    """1 + … + (n − 1) = n (n − 1) / 2."""
    stride, ranks = data.draw(st.integers(1, seq_len)), data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(1, 20), min_size=ranks, max_size=ranks))
    parts = [
        score(n, seq_len, stride, batch_size=size, rank=rank, world_size=ranks)
        for rank, size in enumerate(sizes)
    ]
    assert total(parts).units == n * (n - 1) // 2 * 2**32
    assert total(parts).count == n - 1


@pytest.mark.contract("evaluate")
def test_an_evaluation_is_no_mean_of_the_means_of_its_batches():
    """Windows score 1 … 8, 9 … 16 and 17 … 22; in batches of two the means are 8.5 and 19.5.

    Their mean is 14, and the mean of 1 … 22 is 11.5.
    """
    assert score(23, 8, 8, batch_size=2).nats_per_token == 11.5


@pytest.mark.quality("evaluate")
@pytest.mark.eq("fixed-point-sum")
def test_a_loss_is_kept_in_whole_units_of_a_nat_over_two_to_the_32():
    """ln 4 × 2³² = 5,954,088,943.64, rounded for each of two targets: twice 5,954,088,944."""
    model = GPT(4, n_layer=1, n_head=1, d_model=2).double()
    receipt = evaluate(model, counting_stream(3), BYTES, 4, 4)
    assert math.log(4) * 2**32 == pytest.approx(5_954_088_943.64, abs=0.01)
    assert receipt.units == 2 * round(math.log(4) * 2**32)  # eq: fixed-point-sum
    assert UNITS_PER_NAT == 2**32


@pytest.mark.quality("evaluate")
def test_losses_too_large_for_64_bits_add_up_exactly():
    """4e9 nats are 1.7e19 units each, beyond int64; of three targets the sum is 1.2e10 nats."""

    class Sure(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = torch.zeros(*ids.shape, 257, dtype=torch.float64)
            logits[..., 256] = 4e9
            return logits

    assert evaluate(Sure(), counting_stream(4), BYTES, 4).units == 12_000_000_000 * 2**32


# ---- the three numbers


@pytest.mark.contract("Receipt")
@pytest.mark.eq("bits-per-byte", "perplexity", "mean-cross-entropy")
def test_the_three_numbers_of_a_receipt_by_hand():
    """20 targets of ln 32 nats each are 5 bits each: 100 bits over 50 bytes."""
    receipt = Receipt(20 * round(math.log(32) * 2**32), 20, text_bytes=50, seq_len=8, stride=4)
    assert receipt.nats_per_token == pytest.approx(math.log(32))  # eq: mean-cross-entropy
    assert receipt.perplexity == pytest.approx(32)  # eq: perplexity
    assert type(receipt.perplexity) is float  # what is printed and written, not NumPy's
    assert receipt.bits_per_byte == pytest.approx(2)  # eq: bits-per-byte


@pytest.mark.quality("evaluate")
def test_a_receipt_of_no_targets_has_no_numbers():
    nothing = score(23, 8, 3, rank=6, world_size=7)
    assert (nothing.units, nothing.count, nothing.text_bytes) == (0, 0, 0)
    assert math.isnan(nothing.nats_per_token)
    assert math.isnan(nothing.perplexity)
    assert math.isnan(nothing.bits_per_byte)
    assert nothing.sum_nats == 0


@pytest.mark.quality("Receipt")
def test_the_perplexity_of_a_hopeless_model_is_infinite():
    assert Receipt(1000 * 2**32, 1, 1, seq_len=8, stride=4).perplexity == math.inf


@pytest.mark.contract("evaluate")
def test_an_untrained_model_finds_every_token_equally_likely():
    """ln V nats each; café and its newline are 6 bytes, of which the first is only context."""
    model = GPT(257, n_layer=1, n_head=2, d_model=8)
    receipt = evaluate(model, encode_text(pd.DataFrame({"text": ["café"]}), BYTES), BYTES, 4, 2)
    assert (receipt.count, receipt.text_bytes) == (5, 5)
    assert receipt.nats_per_token == pytest.approx(math.log(257), rel=1e-6)


@pytest.mark.contract("evaluate")
def test_text_bytes_are_those_of_the_tokens_scored():
    """the | space s e a newline: the first token is context; 1 + 1 + 1 + 1 + 1 bytes."""
    model = GPT(MERGED.vocab_size, n_layer=1, n_head=2, d_model=8)
    stream = encode_text(pd.DataFrame({"text": ["the sea"]}), MERGED)
    assert evaluate(model, stream, MERGED, 4).text_bytes == len(" sea\n")


@pytest.mark.contract("evaluate")
def test_a_newline_between_documents_has_a_byte_and_an_end_of_text_none():
    """a newline b newline against a end b end: 4 ids, 3 targets of 3 bytes, or of 1."""
    documents, model = pd.DataFrame({"text": ["a", "b"]}), GPT(257, 1, 1, 2)
    text = evaluate(model, encode_text(documents, BYTES), BYTES, 4)
    eot = evaluate(model, encode_documents(documents, BYTES), BYTES, 4)
    assert (text.count, text.text_bytes, text.layout) == (3, 3, "text")
    assert (eot.count, eot.text_bytes, eot.layout) == (3, 1, "eot")


# ---- real models


@pytest.mark.contract("evaluate")
def test_a_real_model_agrees_with_a_plain_loop_over_its_windows():
    """One window at a time, the whole forward pass, the loss of each counted target by itself."""
    model, stream = awake(257), random_stream(60)
    receipt = evaluate(model, stream, BYTES, 16, 4)
    ids, losses = torch.from_numpy(stream.ids), []
    for start, length, loss_from in eval_windows(60, 16, 4).itertuples(index=False):
        chances = model(ids[None, start : start + length]).detach().softmax(-1)[0]
        losses += [-math.log(chances[j, ids[start + j + 1]]) for j in range(loss_from, length)]
    assert receipt.count == len(losses) == 59
    assert receipt.sum_nats == pytest.approx(sum(losses), rel=1e-5)


@pytest.mark.contract("evaluate", "total")
@pytest.mark.parametrize(("batch_size", "world_size"), [(1, 1), (3, 2), (64, 4), (5, 30)])
def test_a_real_float32_model_agrees_at_every_batch_size_and_number_of_ranks(
    batch_size, world_size
):
    model, stream = awake(257), random_stream(100)
    ranks = [
        evaluate(model, stream, BYTES, 16, 5, batch_size=batch_size, rank=r, world_size=world_size)
        for r in range(world_size)
    ]
    one = evaluate(model, stream, BYTES, 16, 5)
    assert total(ranks).count == one.count == 99
    assert total(ranks).sum_nats == pytest.approx(one.sum_nats, rel=1e-5)


def test_a_model_is_asked_for_the_tail_where_only_the_tail_counts():
    """Windows at 0, 4, 8 and 11 of T = 8: all of the first, then at most 4 of each other."""

    class Watched(GPT):
        asked: list[tuple[int, int]] = []  # noqa: RUF012

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            self.asked.append((len(ids), ids.shape[1]))
            return super().forward(ids)

        def tail_logits(self, ids: torch.Tensor, n: int) -> torch.Tensor:
            self.asked.append((len(ids), n))
            return super().tail_logits(ids, n)

    evaluate(Watched(257, 1, 1, 2), counting_stream(20), BYTES, 8, 4, batch_size=2)
    assert Watched.asked == [(1, 8), (2, 4), (1, 3)]


@pytest.mark.parametrize(
    ("seq_len", "batches"), [(64, [1, 16, 3]), (300, [1, 3, 3]), (1100, [1, 1])]
)
def test_a_batch_holds_about_1024_ids_unless_its_size_is_given(seq_len, batches):
    """16 windows of 64, 3 of 300, and of those that are longer one at a time."""
    seen = []

    class Watched(PlaceLoss):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            seen.append(len(ids))
            return super().forward(ids)

    n = seq_len + sum(batches)
    stream = replace(counting_stream(n), ids=np.zeros(n, dtype=np.int64))
    evaluate(Watched(257), stream, BYTES, seq_len, 1)
    assert seen == batches


@pytest.mark.quality("evaluate")
def test_the_tail_changes_no_loss():
    """The same model with and without its `tail_logits`, in float64, at three strides."""

    class Plain(torch.nn.Module):
        def __init__(self, model: GPT) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.model(ids)

    model, stream = awake(257).double(), random_stream(100)
    for stride in (1, 5, 16):
        ours = evaluate(model, stream, BYTES, 16, stride)
        plain = evaluate(Plain(model), stream, BYTES, 16, stride)
        assert ours.sum_nats == pytest.approx(plain.sum_nats, abs=1e-7)  # 99 × 2⁻³³ at the most
        assert (ours.count, ours.text_bytes) == (plain.count, plain.text_bytes)


@pytest.mark.quality("evaluate")
def test_losses_are_taken_in_float32_at_least():
    """A model in bfloat16 whose logits are 0 and 1: −ln p = ln(256 + e) − 1 or ln(256 + e)."""

    class Half(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = torch.zeros(*ids.shape, 257, dtype=torch.bfloat16)
            logits[..., 256] = 1
            return logits

    receipt = evaluate(Half(), counting_stream(5), BYTES, 4)
    assert receipt.nats_per_token == pytest.approx(math.log(256 + math.e), rel=1e-6)


# ---- boundaries


def spanned(n: int, *spans: tuple[int, int]) -> Stream:
    """Ids 0 … n − 1 with documents at these places, the rest padding."""
    starts, stops = zip(*spans, strict=True)
    table = {"start": starts, "stop": stops, "doc_id": range(len(spans)), "doc_start": 0}
    return Stream(np.arange(n), pd.DataFrame(table), "eot")


class ApartLoss(PlaceLoss):
    """`PlaceLoss` for isolated documents, whose loss depends on no other id anyway."""

    def forward(self, ids: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        assert segments.shape == ids.shape
        return super().forward(ids)


@pytest.mark.contract("evaluate", "total")
@pytest.mark.parametrize(("stride", "world_size"), [(8, 1), (3, 1), (3, 4), (1, 2)])
def test_isolated_the_first_token_of_a_document_is_never_scored(stride, world_size):
    """Documents at 0–9 and 10–22: target 10 is out, so 253 − 10 = 243 over 21 targets."""
    stream = spanned(23, (0, 10), (10, 23))
    ranks = [
        evaluate(
            *(ApartLoss(257), stream, BYTES, 8, stride),
            boundaries="isolated",
            rank=r,
            world_size=world_size,
        )
        for r in range(world_size)
    ]
    receipt = total(ranks)
    assert (receipt.units, receipt.count) == (243 * 2**32, 21)
    assert receipt.boundaries == "isolated"
    whole = evaluate(PlaceLoss(257), stream, BYTES, 8, stride)
    assert (whole.units, whole.count, whole.boundaries) == (253 * 2**32, 22, "continuous")
    for metric in ("nats_per_token", "bits_per_byte"):
        with pytest.raises(ValueError, match="boundaries is isolated and continuous"):
            compare(receipt, whole, metric)


@pytest.mark.contract("evaluate")
def test_padding_is_never_scored():
    """Documents at 2–5 and 8–10 of 12: targets 2 … 5, 8, 9, 10 continuous, without 2 and 8 apart.

    2 + 3 + 4 + 5 + 8 + 9 + 10 = 41 over 7; less 2 and 8 that is 31 over 5.
    """
    stream = spanned(12, (2, 6), (8, 11))
    continuous = evaluate(PlaceLoss(257), stream, BYTES, 4, 3)
    assert (continuous.units, continuous.count) == (41 * 2**32, 7)
    apart = evaluate(ApartLoss(257), stream, BYTES, 4, 3, boundaries="isolated")
    assert (apart.units, apart.count, apart.text_bytes) == (31 * 2**32, 5, 5)


@pytest.mark.contract("evaluate", "total")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=8), st.data())
def test_isolated_sums_depend_on_no_stride_batch_or_rank(pieces, data):
    """Gap and document by turns: every token of a document counts once but its first."""
    spans, n = [], 1  # a pad first, so that the stream has 2 ids at least
    for gap, length in pieces:
        spans.append((n + gap, n + gap + length))
        n += gap + length
    seq_len = data.draw(st.integers(1, 16))
    stride, ranks = data.draw(st.integers(1, seq_len)), data.draw(st.integers(1, 3))
    parts = [
        evaluate(
            *(ApartLoss(257), spanned(n, *spans), BYTES, seq_len, stride),
            boundaries="isolated",
            batch_size=data.draw(st.integers(1, 9)),
            rank=rank,
            world_size=ranks,
        )
        for rank in range(ranks)
    ]
    counted = [place for start, stop in spans for place in range(start + 1, stop)]
    assert (total(parts).units, total(parts).count) == (sum(counted) * 2**32, len(counted))


@pytest.mark.contract("evaluate")
@pytest.mark.parametrize("up_to", [256, 0])
@pytest.mark.parametrize("stride", [1, 5, 16])
def test_isolated_losses_are_those_of_the_documents_alone(monkeypatch, up_to, stride):
    """Each counted target by itself: its document from the window's start on, and nothing else."""
    monkeypatch.setattr("attention.MASK_UP_TO", up_to)
    model, T = awake(257).double(), 16
    stream = replace(spanned(60, (0, 7), (7, 8), (10, 45), (45, 58)), ids=random_stream(60).ids)
    receipt = evaluate(model, stream, BYTES, T, stride, boundaries="isolated")
    ids, losses = torch.from_numpy(stream.ids), []
    for start, length, loss_from in eval_windows(60, T, stride).itertuples(index=False):
        for target in range(start + loss_from + 1, start + length + 1):
            for first, stop in zip(stream.spans["start"], stream.spans["stop"], strict=True):
                if first < target < stop and max(first, start) < target:
                    alone = model(ids[None, max(first, start) : target])[0, -1].log_softmax(-1)
                    losses.append(-alone[ids[target]].item())
    assert receipt.count == len(losses) == 6 + 0 + 34 + 12
    assert receipt.sum_nats == pytest.approx(sum(losses), abs=1e-7)


@pytest.mark.contract("evaluate")
def test_in_windows_longer_than_its_documents_a_stream_is_scored_as_each_of_them_alone():
    model, documents = awake(259), pd.DataFrame({"text": ["the sea", "the\n\nsong", "o"]})
    parts = [encode_documents(documents.iloc[[k]], MERGED) for k in range(3)]
    alone = [evaluate(model, part, MERGED, 32) for part in parts]
    receipt = evaluate(
        model, encode_documents(documents, MERGED), MERGED, 32, boundaries="isolated"
    )
    assert receipt.count == sum(one.count for one in alone)
    assert receipt.text_bytes == sum(one.text_bytes for one in alone)
    assert receipt.sum_nats == pytest.approx(sum(one.sum_nats for one in alone), rel=1e-5)


@pytest.mark.contract("evaluate")
def test_unknown_boundaries_of_an_evaluation_are_refused():
    with pytest.raises(ValueError, match="boundaries must be 'continuous' or 'isolated', got 'x'"):
        score(23, 8, 3, boundaries="x")


# ---- what is refused


@pytest.mark.contract("evaluate")
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_refused_by_its_place(value):
    """Target 17 is in the windows at 9 and 12; that at 12 has scored 5 of its own before."""

    class Broken(PlaceLoss):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = super().forward(ids)
            logits[ids == 16] = math.nan
            if value == math.inf:
                logits[ids == 16] = torch.tensor([0.0] + [-math.inf] * (self.vocab - 1)).double()
            return logits

    for batch_size in (1, 4):
        with pytest.raises(ValueError, match=f"the target at place 17 is {value}, and nothing can"):
            evaluate(Broken(257), counting_stream(23), BYTES, 8, 3, batch_size=batch_size)


@pytest.mark.quality("evaluate")
def test_a_target_that_does_not_count_may_have_any_loss():
    """Input 1 comes in the windows at 0 and 1; spoilt is the second time, where it is context."""

    class Late(PlaceLoss):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = super().forward(ids)
            logits[ids[:, 0] > 0, 0] = math.nan
            return logits

    receipt = evaluate(Late(257), counting_stream(12), BYTES, 4, 1)
    assert receipt.units == 66 * 2**32


@pytest.mark.contract("evaluate")
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rank": 2, "world_size": 2}, "rank must be 0 or more and below world_size 2; got 2"),
        ({"rank": -1, "world_size": 2}, "rank must be 0 or more and below world_size 2; got -1"),
        ({"rank": 0, "world_size": 0}, "rank must be 0 or more and below world_size 0; got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
    ],
)
def test_a_rank_that_is_not_there_and_a_batch_of_nothing_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        score(23, 8, 3, **how)


@pytest.mark.contract("evaluate")
def test_a_stride_above_the_length_of_a_window_is_refused():
    with pytest.raises(ValueError, match="stride 9 is larger than seq_len 8"):
        score(23, 8, 9)


@pytest.mark.contract("total")
def test_receipts_of_different_evaluations_are_not_added():
    one = score(23, 8, 3)
    with pytest.raises(ValueError, match=r"only ranks of one evaluation .* stride is 3 and 4"):
        total([one, score(23, 8, 4)])
    with pytest.raises(ValueError, match=r"data is [0-9a-f]{12}… and [0-9a-f]{12}…, documents is"):
        total([one, one, score(24, 8, 3)])
    with pytest.raises(ValueError, match="needs the receipt of at least one rank, got none"):
        total([])


# ---- what a receipt names


@pytest.mark.quality("evaluate")
def test_the_receipt_names_its_scheme_its_tokenizer_and_its_data():
    model = GPT(257, n_layer=1, n_head=2, d_model=8)
    one = evaluate(model, counting_stream(20), BYTES, 8).as_dict()
    scheme = [one[name] for name in ("seq_len", "stride", "boundaries", "tail", "layout")]
    assert scheme == [8, 4, "continuous", "last window right-aligned", "text"]
    assert one["tokenizer"] == BYTES.fingerprint
    other = evaluate(model, counting_stream(21), BYTES, 8).as_dict()
    assert one["data"] != other["data"]
    assert one["documents"] != other["documents"]


def test_the_dictionary_of_a_receipt_has_sums_numbers_and_scheme():
    told = Receipt(3 * 2**31, 3, 2, seq_len=8, stride=4).as_dict()
    assert list(told)[:6] == [
        *("nats_per_token", "perplexity", "bits_per_byte", "sum_nats"),
        *("count", "text_bytes"),
    ]
    assert (told["sum_nats"], told["count"], told["nats_per_token"]) == (1.5, 3, 0.5)
    assert "units" not in told


def test_the_documents_have_one_digest_for_every_tokenizer_and_layout():
    digests = {
        documents_digest(made(TALES, tok), tok)
        for made in (encode_text, encode_documents)
        for tok in (BYTES, MERGED)
    }
    digests.add(documents_digest(encode_documents(TALES, MERGED, final_eot=False), MERGED))
    assert len(digests) == 1


@pytest.mark.parametrize(
    "texts", [["the sea"], ["the seat", "he\n\nsong"], ["the sea", "the song"]]
)
def test_other_documents_have_another_digest(texts):
    """Fewer, the same letters with another border between them, and another text."""
    other = encode_text(pd.DataFrame({"text": texts}), BYTES)
    assert documents_digest(other, BYTES) != documents_digest(encode_text(TALES, BYTES), BYTES)


def test_of_a_document_that_is_cut_the_part_that_is_there_is_read():
    """the sea, a newline, and two letters more; then the rest; and all of it, then nothing."""
    stream = encode_text(TALES, BYTES)
    parts = cut_stream(stream, 10)
    assert len({documents_digest(part, BYTES) for part in (stream, *parts)}) == 3
    whole, nothing = cut_stream(stream, len(stream))
    assert documents_digest(whole, BYTES) == documents_digest(stream, BYTES)
    assert documents_digest(nothing, BYTES) != documents_digest(stream, BYTES)


def test_a_newline_inside_a_document_is_text():
    """a newline | b, cut there: in layout eot the first part is two bytes, no document's end."""
    part, _ = cut_stream(encode_documents(pd.DataFrame({"text": ["a\nb"]}), BYTES), 2)
    alone = encode_documents(pd.DataFrame({"text": ["a"]}), BYTES)
    assert documents_digest(part, BYTES) != documents_digest(alone, BYTES)


# ---- comparisons

SCHEME = {"seq_len": 8, "stride": 4, "tokenizer": "4f1b", "data": "90aa", "documents": "77cc"}
ONE = Receipt(units=40 * 2**32, count=20, text_bytes=50, **SCHEME)
OTHERS = {
    "seq_len": 9,
    "stride": 2,
    "boundaries": "isolated",
    "tail": "dropped",
    "layout": "eot",
    "tokenizer": "03d7",
    "data": "1234",
    "count": 21,
}


def test_two_models_under_one_scheme_are_compared_by_hand():
    """40 nats over 20 targets are 2, 50 are 2.5: half a nat worse."""
    told = compare(ONE, replace(ONE, units=50 * 2**32), "nats_per_token")
    assert told == Comparison("nats_per_token", 2.0, 2.5, 0.5, ("4f1b", "4f1b"))
    assert str(told) == "nats_per_token: 2.0000 and 2.5000, difference +0.5000; one tokenizer, 4f1b"
    perplexities = compare(ONE, replace(ONE, units=50 * 2**32), "perplexity")
    assert perplexities.b == pytest.approx(math.exp(2.5))


@pytest.mark.parametrize("metric", ["nats_per_token", "perplexity"])
@pytest.mark.parametrize(("field", "value"), OTHERS.items())
def test_a_number_per_token_needs_the_same_targets_and_scheme(metric, field, value):
    message = f"^{metric} cannot be compared, for {field} is {getattr(ONE, field)} and {value}; "
    with pytest.raises(ValueError, match=message + "evaluate both .* compare bits_per_byte"):
        compare(ONE, replace(ONE, **{field: value}), metric)


@pytest.mark.parametrize(
    ("field", "value"),
    [("seq_len", 9), ("stride", 2), ("boundaries", "isolated"), ("documents", "88dd")],
)
def test_bits_per_byte_need_the_same_documents_and_windows(field, value):
    message = f"^bits_per_byte cannot be compared, for {field} is {getattr(ONE, field)} and {value}"
    with pytest.raises(ValueError, match=message):
        compare(ONE, replace(ONE, **{field: value}), "bits_per_byte")


def test_all_that_differs_is_named_at_once():
    other = replace(ONE, stride=2, data="1234", count=21)
    with pytest.raises(
        ValueError, match="data is 90aa and 1234, stride is 4 and 2, count is 20 and 21;"
    ):
        compare(ONE, other, "nats_per_token")


def test_bits_per_byte_of_two_tokenizers_are_compared_and_the_tokenizers_told():
    """16 bytes and 2 ends of text. By bytes 17 targets, 15 bytes of them; with `the` 13 and 13."""
    receipts = [
        evaluate(GPT(tok.vocab_size, 1, 1, 2), encode_documents(TALES, tok), tok, 4)
        for tok in (BYTES, MERGED)
    ]
    told = compare(*receipts, "bits_per_byte")
    assert told.tokenizers == (BYTES.fingerprint, MERGED.fingerprint)
    assert told.a == pytest.approx(17 * math.log2(257) / 15, rel=1e-6)
    assert told.b == pytest.approx(13 * math.log2(259) / 13, rel=1e-6)
    assert told.difference == told.b - told.a
    names = f"{BYTES.fingerprint[:12]}… and {MERGED.fingerprint[:12]}…"
    assert str(told).endswith(f"; tokenizers {names}")
    with pytest.raises(ValueError, match=r"tokenizer is .* data is .* count is 17 and 13; "):
        compare(*receipts, "nats_per_token")


def test_a_ranks_share_is_not_compared_with_the_whole():
    whole, share = score(23, 8, 3), score(23, 8, 3, rank=0, world_size=2)
    for metric in ("nats_per_token", "perplexity", "bits_per_byte"):
        with pytest.raises(ValueError, match="count is 22 and 14;"):
            compare(whole, share, metric)


def test_a_metric_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"metric must be one of nats_per_token, .*; got 'loss'"):
        compare(ONE, ONE, "loss")


# ---- the loss of a training step


@pytest.mark.contract("masked_loss")
@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 100))
def test_the_masked_loss_is_that_of_a_plain_loop(batch, length, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch, length, 11, generator=generator, dtype=torch.float64)
    targets = torch.randint(0, 11, (batch, length), generator=generator)
    mask = torch.rand(batch, length, generator=generator) < 0.6
    total, count = masked_loss(logits, targets, mask)
    loop = [
        -math.log(logits[b, t].softmax(-1)[targets[b, t]])
        for b in range(batch)
        for t in range(length)
        if mask[b, t]
    ]
    assert count == len(loop)
    assert total.item() == pytest.approx(sum(loop), abs=1e-9)


@pytest.mark.contract("masked_loss")
def test_without_a_mask_every_target_counts_and_gradients_flow():
    logits = torch.zeros(2, 3, 4, requires_grad=True)
    total, count = masked_loss(logits, torch.zeros(2, 3, dtype=torch.int64))
    total.backward()
    assert (count, round(total.item(), 5)) == (6, round(6 * math.log(4), 5))
    assert logits.grad[0, 0].tolist() == pytest.approx([-0.75, 0.25, 0.25, 0.25])  # p − 1, then p
