"""What a run shows people."""

import math

import pytest
import torch
from rich.console import Console
from test_plan import HAND

import report
from model import GPT
from plan import Plan
from scoring import Receipt
from tokenizer import Tokenizer

RECEIPT = Receipt(units=2000 * 2**32, count=1000, text_bytes=3000, seq_len=8, stride=4)


def shown(table) -> str:
    console = Console(width=100, file=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_the_plan_table_shows_every_number_of_the_plan():
    text = shown(report.plan_table(HAND))
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in text.splitlines()]
    for row in (["ids N", "300"], ["cut", "270"], ["training windows W", "16"], ["steps", "12"]):
        assert row in cells
    assert ["batches per epoch", "4"] in cells
    assert "3.00 epochs" in text
    assert "each target scored once, in 1.66 passes" in text
    assert "13 ids are in none" in text
    assert "1,200" in text


def test_the_plan_of_random_windows_says_how_many_draws_repeat_one():
    """254 windows, 48 draws: 1 − 254 (1 − (1 − 1/254)^48) / 48 = 8.73 %."""
    text = shown(report.plan_table(Plan(**(vars(HAND) | {"sampling": "random"}))))
    assert "8.7% of the draws repeat one" in text


def test_the_tokens_table_shows_the_longest_and_the_most_used():
    """low, blank, low, blank, [: the longest token is low, and low and the blank are used twice."""
    tok = Tokenizer([(b"l", b"o"), (b"lo", b"w")])
    text = shown(report.tokens_table(tok, tok.encode_array("low low [")))
    lines = [line for line in text.splitlines() if "'low'" in line]
    assert [cell.strip() for cell in lines[0].split("│")[1:5]] == ["'low'", "2", "' '", "2"]
    assert "'['" in text


def test_the_progress_line_has_both_losses_bits_and_speed():
    """2000/1000 nats a token; 2000/(ln 2 · 3000) = 0.962 bits a byte."""
    line = report.progress_line(50, 1000, 2.5, RECEIPT, 12345.6)
    assert line == (
        "step   50/1000: training 2.500, validation 2.000 nats per token, 0.962 bits per byte; "
        "12,346 tokens/s"
    )


def test_the_receipt_table_shows_scheme_and_result():
    text = shown(report.receipt_table(RECEIPT))
    for word in ("nats per token", "2.0000", "perplexity", "7.3891", "boundaries", "continuous"):
        assert word in text


class Parrot(GPT):
    """Says the corpus' own words, one token after the other."""

    def __init__(self, ids: list[int], vocab: int) -> None:
        super().__init__(vocab, 1, 1, 2)
        self.ids, self.said = ids, 0

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.full((1, ids.shape[1], self.head.out_features), -1e9)
        logits[..., self.ids[self.said % len(self.ids)]] = 1e9
        self.said += 1
        return logits


def test_words_of_three_letters_or_more_that_the_corpus_has_are_counted():
    """The last word may be cut short and is left out: 'Sea' and 'dog' are known, 'zebra' is not."""
    tok = Tokenizer([])
    parrot = Parrot(list(b"the Sea, zebra a1 dog thexx"), tok.vocab_size)
    samples = report.write_samples(parrot, tok, [10], "sea the dog", 8, 0, n=1, tokens=27)
    assert samples.texts == ["the Sea, zebra a1 dog thexx"]
    assert (samples.words, samples.known_words) == (4, 3)
    assert samples.known_share == pytest.approx(0.75)
    assert "the corpus has 75.0% of their 4 longer words" in str(samples)


def test_a_text_begins_with_its_prompt():
    tok = Tokenizer([])
    samples = report.write_samples(Parrot(list(b"a "), 257), tok, [*b"se"], "", 8, 0, n=1, tokens=1)
    assert samples.texts == ["sea"]


def test_a_text_ends_with_the_end_of_text_that_the_model_gives():
    tok = Tokenizer([])
    parrot = Parrot([*b"sea", tok.eot_id, *b"dog"], tok.vocab_size)
    samples = report.write_samples(parrot, tok, [tok.eot_id], "sea", 8, 0, n=1, tokens=7)
    assert samples.texts == ["sea"]


def test_samples_without_a_word_have_a_share_of_nothing():
    tok = Tokenizer([])
    parrot = Parrot(list(b"1 2 "), 257)
    samples = report.write_samples(parrot, tok, [10], "sea", 8, 0, n=2, tokens=4)
    assert (len(samples.texts), samples.words, samples.known_share) == (2, 0, 0.0)


def test_without_the_corpus_words_are_counted_and_not_looked_up():
    """`--tokens` trains without it."""
    tok = Tokenizer([])
    samples = report.write_samples(Parrot(list(b"sea dog "), 257), tok, [10], None, 8, 0, n=1)
    assert samples.words > 0
    assert (samples.known_words, math.isnan(samples.known_share)) == (None, True)
    assert "the corpus has" not in str(samples)
