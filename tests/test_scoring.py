"""The loss, once per target, and the receipt."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model import GPT
from scoring import Receipt, evaluate, masked_loss
from stream import Stream, encode_text
from tokenizer import Tokenizer

BYTES = Tokenizer([])


class PlaceLoss(torch.nn.Module):
    """A stand-in whose loss at target position i of a stream 0, 1, 2, … is i nats.

    Input i − 1 stands before target i; the logit of the target is −i below a sure other one.
    """

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.vocab, self.unused = vocab, torch.nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.full((*ids.shape, self.vocab), -1e9, dtype=torch.float64)
        target = (ids + 1).double()
        rest = torch.log(-torch.expm1(-target))  # ln(1 − e^−i), so that both together are 1
        logits.scatter_(-1, (ids + 1).unsqueeze(-1), -target.unsqueeze(-1))
        logits[..., -1] = rest
        return logits


def counting_stream(n: int) -> Stream:
    spans = pd.DataFrame({"start": [0], "stop": [n], "doc_id": [0], "doc_start": [0]})
    return Stream(np.arange(n), spans)


@pytest.mark.eq("mean-cross-entropy")
@pytest.mark.parametrize("batch_size", [1, 2, 5, 6])
def test_targets_1_to_22_with_a_loss_of_their_place_sum_to_253(batch_size):
    """1 + 2 + … + 22 = 253, over 22 targets: 11.5, whatever the batches."""
    receipt = evaluate(PlaceLoss(257), counting_stream(23), BYTES, 8, 3, batch_size=batch_size)
    assert receipt.count == 22
    assert receipt.sum_nats == pytest.approx(253, abs=1e-4)
    assert receipt.nats_per_token == pytest.approx(11.5, abs=1e-5)  # eq: mean-cross-entropy


def test_the_sum_is_the_same_to_the_last_bit_at_every_batch_size_and_stride():
    """A model whose loss per target does not depend on its batch."""
    receipts = {
        evaluate(PlaceLoss(257), counting_stream(41), BYTES, 8, s, batch_size=b).sum_nats
        for s in (1, 3, 8)
        for b in (1, 7, 64)
    }
    assert len(receipts) == 1


@pytest.mark.eq("bits-per-byte", "perplexity", "mean-cross-entropy")
def test_the_three_numbers_of_a_receipt_by_hand():
    """20 targets of ln 32 nats each are 5 bits each: 100 bits over 50 bytes."""
    receipt = Receipt(sum_nats=20 * math.log(32), count=20, text_bytes=50, seq_len=8, stride=4)
    assert receipt.nats_per_token == pytest.approx(math.log(32))  # eq: mean-cross-entropy
    assert receipt.perplexity == pytest.approx(32)  # eq: perplexity
    assert receipt.bits_per_byte == pytest.approx(2)  # eq: bits-per-byte


def test_an_untrained_model_finds_every_token_equally_likely():
    """ln V nats each; café and its newline are 6 bytes, of which the first is only context."""
    model = GPT(257, n_layer=1, n_head=2, d_model=8)
    receipt = evaluate(model, encode_text(pd.DataFrame({"text": ["café"]}), BYTES), BYTES, 4, 2)
    assert (receipt.count, receipt.text_bytes) == (5, 5)
    assert receipt.nats_per_token == pytest.approx(math.log(257), rel=1e-6)


def test_the_receipt_names_its_scheme_its_tokenizer_and_its_data():
    model = GPT(257, n_layer=1, n_head=2, d_model=8)
    one = evaluate(model, counting_stream(20), BYTES, 8).as_dict()
    assert (one["seq_len"], one["stride"], one["boundaries"], one["layout"]) == (
        8,
        4,
        "continuous",
        "text",
    )
    assert one["tokenizer"] == BYTES.fingerprint
    other = evaluate(model, counting_stream(21), BYTES, 8).as_dict()
    assert one["data"] != other["data"]


def test_text_bytes_are_those_of_the_tokens_scored():
    """Merged the, then space, s, e, a: the first token is context; 1 + 1 + 1 + 1 + 1 bytes."""
    tok = Tokenizer([(b"t", b"h"), (b"th", b"e")])
    model = GPT(tok.vocab_size, n_layer=1, n_head=2, d_model=8)
    stream = encode_text(pd.DataFrame({"text": ["the sea"]}), tok)
    assert evaluate(model, stream, tok, 4).text_bytes == len(" sea\n")


def test_an_evaluation_is_no_mean_of_the_means_of_its_batches():
    """Windows score 1 … 8, 9 … 16 and 17 … 22; in batches of two the means are 8.5 and 19.5.

    Their mean is 14, and the mean of 1 … 22 is 11.5.
    """
    receipt = evaluate(PlaceLoss(257), counting_stream(23), BYTES, 8, 8, batch_size=2)
    assert receipt.nats_per_token == pytest.approx(11.5, abs=1e-5)


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


def test_without_a_mask_every_target_counts_and_gradients_flow():
    logits = torch.zeros(2, 3, 4, requires_grad=True)
    total, count = masked_loss(logits, torch.zeros(2, 3, dtype=torch.int64))
    total.backward()
    assert (count, round(total.item(), 5)) == (6, round(6 * math.log(4), 5))
    assert logits.grad[0, 0].tolist() == pytest.approx([-0.75, 0.25, 0.25, 0.25])  # p − 1, then p
