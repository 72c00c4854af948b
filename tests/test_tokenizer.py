"""Text ↔ ids: lossless, and the ids that the `tokenizers` library gives."""

import json
import multiprocessing
import random
import re

import numpy as np
import pytest
import tokenizers
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

import tokenizer as tokenizer_module
from tokenizer import EOT, Tokenizer, learn_merges

STORIES = (ROOT / "data" / "corpus.csv").read_text(encoding="utf-8")
STORY_TOKENIZER = Tokenizer(learn_merges(STORIES[:5000], 100))
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def test_ids_are_the_bytes_then_the_merges_in_order_then_the_end_of_text():
    """Two merges: V = 256 + 2 + 1."""
    tok = Tokenizer([(b"l", b"o"), (b"lo", b"w")])
    assert [tok.decode_bytes([i]) for i in (0, 255, 256, 257)] == [b"\x00", b"\xff", b"lo", b"low"]
    assert (tok.vocab_size, tok.eot_id) == (259, 258)
    assert tok.decode([tok.eot_id]) == EOT


def test_merge_by_merge_a_word_becomes_one_token():
    """lower with lo and low: low e r."""
    tok = Tokenizer([(b"l", b"o"), (b"lo", b"w")])
    assert tok.encode("lower lo") == [257, ord("e"), ord("r"), ord(" "), 256]


def test_the_end_of_text_is_text_unless_it_is_allowed_by_name(tok):
    text = f"a{EOT}b{EOT}"
    assert tok.eot_id not in tok.encode(text)
    assert tok.encode(text, allowed_special={EOT}) == [97, tok.eot_id, 98, tok.eot_id]
    with pytest.raises(
        ValueError, match=r"is the only special token, allowed_special has {'<pad>'}"
    ):
        tok.encode(text, allowed_special={EOT, "<pad>"})


def test_the_length_of_every_token_in_bytes_is_known_and_an_end_of_text_has_none(tok):
    assert tok.token_bytes.dtype == np.int64
    assert tok.token_bytes.tolist() == [len(tok.decode_bytes([i])) for i in range(tok.eot_id)] + [0]


@given(any_text)
def test_every_text_comes_back_and_its_ids_cover_its_bytes(text):
    tok = STORY_TOKENIZER
    ids = tok.encode_array(text)
    assert ids.dtype == np.int64
    assert tok.decode(ids) == text
    assert tok.token_bytes[ids].sum() == len(text.encode())


# ---- the oracle: tokenizers


def reference(merges: int, text: str) -> tokenizers.Tokenizer:
    """What the tokenizers library makes of the same text by itself."""
    twin = tokenizers.Tokenizer(models.BPE())
    twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + merges, initial_alphabet=alphabet, special_tokens=[], show_progress=False
    )
    twin.train_from_iterator([text], trainer)
    return twin


def tokens_of(twin: tokenizers.Tokenizer, text: str) -> list[str]:
    return twin.encode(text).tokens


def our_tokens(tok: Tokenizer, text: str) -> list[str]:
    return [tokenizer_module._to_letters(tok.tokens[i]) for i in tok.encode(text)]


def nasty_texts(n: int) -> list[str]:
    """Blanks, contractions, scripts without spaces, combining marks, controls, emoji, one seed."""
    draw = random.Random(7)
    parts = [
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\u00a0",
        "\u2003",
        "\u3000",
        "\x1c",
        "\x85",
        "'s",
        "'LL",
        "'ve",
    ]
    parts += [
        "'",
        "''t",
        "don't",
        "a",
        "aaaa",
        "the",
        "Ünïcödé",
        "é",
        "e\u0301",
        "日本語",
        "ไทย",
        "עברית",
    ]
    parts += [
        "😀",
        "👨\u200d👩\u200d👧",
        "\u200b",
        "\ufeff",
        "\x00",
        "\x7f",
        "\U0010ffff",
        "123",
        "٣",
        "Ⅷ",
        "½",
    ]
    parts += [EOT, "<|", "-", "—", "...", "$", "_", "a.b", "\u0300", "ſ", "İ", "ǅ"]
    texts = ["".join(draw.choices(parts, k=draw.randint(0, 12))) for _ in range(n // 2)]
    return texts + [
        "".join(chr(draw_scalar(draw)) for _ in range(draw.randint(1, 8))) for _ in range(n // 2)
    ]


def draw_scalar(draw: random.Random) -> int:
    """A code point that is no surrogate, small ones often."""
    point = draw.randrange(draw.choice([0x80, 0x800, 0x10000, 0x110000]))
    return point if not 0xD800 <= point < 0xE000 else 0x20


def test_ids_are_those_of_the_tokenizers_library_on_sixteen_thousand_nasty_texts():
    twin = reference(300, STORIES[:60_000])
    tok = Tokenizer(learn_merges(STORIES[:60_000], 300))
    for text in nasty_texts(16_000):
        assert our_tokens(tok, text) == tokens_of(twin, text), ascii(text)


def test_the_whole_corpus_is_encoded_alike():
    twin = reference(1024, STORIES)
    assert our_tokens(Tokenizer(learn_merges(STORIES, 1024)), STORIES) == tokens_of(twin, STORIES)


@given(st.text("ab ", max_size=60), st.integers(0, 30), st.text("ab ", max_size=30))
def test_tiny_tokenizers_that_run_out_of_merges_agree_too(fit, merges, text):
    tok = Tokenizer(learn_merges(fit, merges))
    assert our_tokens(tok, text) == tokens_of(reference(merges, fit), text)


def test_the_saved_file_is_opened_by_the_tokenizers_library_and_gives_the_same_ids(tok, tmp_path):
    tok.save(tmp_path / "tokenizer.json")
    twin = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [STORIES[:3000], *nasty_texts(200)]:
        if EOT not in text:
            assert twin.encode(text).ids == tok.encode(text)
            assert twin.decode(tok.encode(text)) == tok.decode(tok.encode(text))
    assert twin.encode(EOT).ids == [tok.eot_id]  # there it is always special


# ---- large and odd


@pytest.mark.parametrize("text", ["the old man and the sea\n", "a" * 37 + "\n \n", "日本 語"])
def test_cutting_a_long_text_into_parts_changes_no_id_and_no_merge(text, monkeypatch):
    """With parts of 50 characters instead of a million, the cuts are many."""
    text = text * 40
    monkeypatch.setattr(tokenizer_module, "_LESSON", len(text))
    tok = Tokenizer(learn_merges(text, 50))
    whole = tok.encode(text)
    monkeypatch.setattr(tokenizer_module, "_PART", 50)
    monkeypatch.setattr(tokenizer_module, "_LESSON", 50)
    assert len(list(tokenizer_module._parts(text, 50))) > 2
    assert tok.encode(text) == whole
    assert Tokenizer(learn_merges(text, 50)).merges == tok.merges


@given(st.text(" \n\ta'sé\u00a0\x1c1.", max_size=120))
def test_cuts_change_nothing_whatever_the_text(text):
    tok = STORY_TOKENIZER
    whole = tok.encode(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer_module, "_PART", 3)
        assert tok.encode(text) == whole


@given(st.text(" \n\t\u00a0a", max_size=60))
def test_long_runs_of_blanks_are_cut_as_the_pattern_cuts_them(text):
    """With runs of 4 instead of 10,000, against the regex alone."""
    tok = Tokenizer(learn_merges("  \n\n    a  a " * 20, 20))
    plain = tok.encode(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer_module, "_LONG", 4)
        patch.setattr(
            tokenizer_module, "_LONG_BLANKS", re.compile(tokenizer_module._BLANK + "{4,}")
        )
        assert tok.encode(text) == plain


@pytest.mark.parametrize("end", ["", "x", "\n", " x"])
def test_a_million_blanks_are_encoded_where_the_engine_alone_panics(tok, end):
    text = "a" + " " * 1_000_000 + end
    assert tok.decode(tok.encode_array(text)) == text


@given(st.lists(st.sampled_from(["a b", "x" * 2001, " " * 4001, "c" * 2000, "\n"]), max_size=6))
def test_runs_of_over_two_thousand_characters_are_cut_for_the_learner_and_nothing_is_lost(parts):
    text = "".join(parts)
    lessons = list(tokenizer_module._lessons(text))
    assert "".join(lessons) == text
    assert max((len(run) for lesson in lessons for run in lesson.split()), default=0) <= 2000


def test_three_million_equal_letters_are_learned_from_without_a_hang(tok):
    """A piece of them all takes the learner longer than anyone waits; here it is a second."""
    merges = learn_merges("a" * 3_000_000 + " " * 1_000_000 + "b", 4)
    assert merges[0] == (b"a", b"a")


@pytest.mark.parametrize("text", ["\ud83d", "ab\udc00c", "x" * 2_000_000 + "\ud800"])
def test_half_a_surrogate_pair_is_refused_with_its_place(tok, text):
    place = max(text.find(half) for half in "\ud83d\udc00\ud800")
    for refuse in (tok.encode, tok.encode_array, lambda text: learn_merges(text, 3)):
        with pytest.raises(ValueError, match=rf"character {place} of the text is '\\ud"):
            refuse(text)


@pytest.mark.parametrize("ids", [[-1], [97, 10_000], [2**70]])
def test_an_id_outside_the_vocabulary_is_refused_with_its_place(tok, ids):
    with pytest.raises(ValueError, match=rf"id {ids[-1]} at place {len(ids) - 1} is not in 0 …"):
        tok.decode(ids)


def test_bytes_that_are_no_utf_8_show_as_the_replacement_character(tok):
    assert tok.decode([0xC3]) == "\ufffd"
    assert tok.decode_bytes([0xC3]) == b"\xc3"


@pytest.mark.parametrize(
    "merges", [[(b"ab", b"c")], [(b"a", b"b"), (b"a", b"b")], [(b"a", b"bc"), (b"b", b"c")]]
)
def test_merges_that_do_not_build_on_earlier_ones_are_refused(merges):
    with pytest.raises(ValueError, match="must make a new token of earlier ones"):
        Tokenizer(merges)


def test_a_negative_number_of_merges_is_refused():
    with pytest.raises(ValueError, match="num_merges must be from 0 to 1,000,000, got -1"):
        learn_merges("ab", -1)


# ---- save and load


def test_what_was_saved_is_loaded_with_the_same_fingerprint(tok, tmp_path):
    tok.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.merges == tok.merges
    assert loaded.fingerprint == tok.fingerprint != Tokenizer(tok.merges[:-1]).fingerprint


def broken(tok: Tokenizer, **changes) -> str:
    file = json.loads(tok._twin().to_str())
    for key, value in changes.items():
        (file["model"] if key in file["model"] else file)[key] = value
    return json.dumps(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda tok: "{", "tokenizer.json is damaged, no JSON"),
        (lambda tok: "[]", "tokenizer.json should hold a JSON object"),
        (lambda tok: '{"model": {}}', "not a tokenizer.json of this project"),
        (lambda tok: broken(tok, merges=[["☃", "a"]]), "not a tokenizer.json of this project"),
        (lambda tok: broken(tok, merges=[["ab", "c"]]), "must make a new token of earlier ones"),
        (lambda tok: broken(tok, merges=[]), "a tokenizer of another kind"),
        (lambda tok: broken(tok, vocab={"a": 0}), "a tokenizer of another kind"),
        (lambda tok: broken(tok, added_tokens=[]), "a tokenizer of another kind"),
        (lambda tok: broken(tok, normalizer={"type": "Lowercase"}), "a tokenizer of another kind"),
        (lambda tok: broken(tok, pre_tokenizer=None), "a tokenizer of another kind"),
    ],
)
def test_a_file_that_would_encode_otherwise_is_refused(tok, tmp_path, content, message):
    path = tmp_path / "tokenizer.json"
    path.write_text(content(tok), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Tokenizer.load(path)


def test_a_tokenizer_goes_to_a_spawned_process(tok):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(tok.encode, ["the sea"]) == tok.encode("the sea")


@given(st.lists(st.integers(0, 257), max_size=50), st.integers(1, 9))
def test_the_uses_of_each_token_are_counted_by_parts_too(ids, part):
    counted = Tokenizer([(b"h", b"i")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokenizer._PART", part)
        uses = counted.uses(np.array(ids, dtype=np.uint16))
    assert uses.tolist() == [ids.count(token) for token in range(258)]
