"""What the pages say is so: their parts, their words, their numbers, and the code on them."""

import ast
import importlib
import io
import math
import pkgutil
import re
import shlex
from fractions import Fraction

import claims
import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from pytest import approx

import lab
import prepare
from config import Config, parse
from corpus import load_documents
from data import build_tokenizer, encode_corpus, iterate_batches, make_windows, split_ids
from model import GPT
from report import progress_line
from scoring import IDS_AT_ONCE, Receipt, evaluate, masked_loss
from stream import encode_text
from tokenizer import Tokenizer
from windows import (
    attention_mask,
    count_batches,
    count_steps,
    count_unused,
    count_windows,
    eval_windows,
)

PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
LESSONS = [
    "text-to-ids.md",
    "split.md",
    "windows.md",
    "window-count.md",
    "batches.md",
    "next-token.md",
    "model.md",
    "run.md",
    "token-files.md",
    "random-windows.md",
    "loaders.md",
    "evaluation.md",
    "resume.md",
    "documents.md",
    "packing.md",
    "isolation.md",
    "lineage.md",
    "prepare.md",
    "bijection.md",
    "devices.md",
]
WRITTEN = [
    *LESSONS,
    "speed.md",
    "scaling.md",
    "proof.md",
    "exercises.md",
    "index.md",
    "glossary.md",
    "questions.md",
    "seeds.md",
]
PARTS = [
    "You can now",
    "What it is",
    "Why the model needs it",
    "Mathematics",
    "Symbols",
    "Tiny example",
    "Shapes along the way",
    "The code itself",
    "Where it is used",
    "Status and source",
    "What it costs and what goes wrong",
    "Reproduce closed-book",
    "Self-test",
    "Stop when",
]


def prose(text: str) -> list[str]:
    """The lines that people read as sentences: no code, no formula, no target of a link."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^/// (equation|stated)\b.*?^///$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^///.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\{\{.*?\}\}|`[^`\n]*`|\$[^$\n]*\$", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text).splitlines()


# ---- parts and words


@pytest.mark.parametrize("page", LESSONS)
def test_a_lesson_has_its_parts_in_order(page):
    assert re.findall(r"^## (.*)", PAGES[page], flags=re.MULTILINE) == PARTS


@pytest.mark.parametrize("page", LESSONS)
def test_a_lesson_begins_with_three_aims_and_its_neighbours_on_the_road(page):
    """The page before it and the page after it; the road begins with the first and ends in use."""
    top = PAGES[page].split("## What it is")[0]
    assert len(re.findall(r"^- ", top, flags=re.MULTILINE)) == 3
    place = LESSONS.index(page)
    before, after = re.search(r"\*\*Comes after\*\*(.*)\n\*\*Leads to\*\*(.*)", top).groups()
    assert re.findall(r"\((.*?)\)", before) == LESSONS[max(0, place - 1) : place]
    assert re.findall(r"\((.*?)\)", after)[0] == [*LESSONS, "questions.md"][place + 1]


@pytest.mark.parametrize("page", LESSONS)
def test_every_question_has_one_folded_answer(page):
    text = PAGES[page]
    closed_book, self_test = text.split("## Reproduce closed-book")[1].split("## Self-test")
    assert closed_book.count("/// details | Answer") == 1
    questions = re.split(r"^/// details \| Answer\n.*?^///$", self_test, flags=re.M | re.S)[:-1]
    assert len(questions) == 3
    assert all(question.strip().endswith("?") for question in questions)


@pytest.mark.parametrize("page", WRITTEN)
def test_no_word_stands_for_a_thing_that_has_another_name(page):
    """A window is no chunk, a document no sample; titles of the seeds and one heading are kept."""
    text = (
        re.sub(r"(?<!\*)\*[^*\n]+\*(?!\*)", "", PAGES[page]) if page == "seeds.md" else PAGES[page]
    )
    text = text.replace("## Tiny example", "")
    for line in prose(text):
        assert not re.search(r"\b(chunk|block|sample|example|label)(s|ed|ing)?\b", line, re.I), line


@pytest.mark.parametrize("page", WRITTEN)
def test_a_line_of_prose_is_one_sentence_at_most(page):
    for line in prose(PAGES[page]):
        if not line.startswith("|"):
            assert not re.search(r"[.?!][)*]* +[A-Z]", line), line


def test_every_term_is_defined_once_and_the_glossary_says_where():
    """A term stands in italics where it is defined."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| \[[^|]+\]\((.*?)\) \|$", GLOSSARY, re.MULTILINE)
    told = sorted((term.lower(), page) for term, page in rows)
    assert len({term for term, _ in told}) == len(told)
    defined = [
        (term.lower(), page)
        for page in LESSONS
        for term in re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", PAGES[page])
    ]
    names = {term for term, _ in told}
    single = [(t if t in names else t.removesuffix("s"), page) for t, page in defined]
    assert sorted(single) == told


GLOSSARY = PAGES["glossary.md"].split("## Words")[1]


def test_words_and_letters_stand_in_alphabetical_order():
    words = re.findall(r"^\| ([a-z][^|]+) \| ", GLOSSARY, re.MULTILINE)
    assert words == sorted(words)
    letters = PAGES["glossary.md"].split("## Letters")[1].split("## Notation")[0]
    symbols = [s.replace("\\rho", "r") for s in re.findall(r"^\| \$(.*?)\$", letters, re.M)]
    assert [s.lower() for s in symbols] == sorted(s.lower() for s in symbols)


@pytest.mark.parametrize("page", WRITTEN)
def test_every_name_of_a_module_in_a_page_is_there(page):
    """`windows.rows_view` and its like, in code or at the head of a live listing."""
    named = re.findall(r"(?:`|^/// (?:code|used) \| )([a-z]+)\.([\w.]+?)(?:`|$)", PAGES[page], re.M)
    for module, name in named:
        if (ROOT / f"{module}.py").is_file() and name not in ("py", "json", "csv", "safetensors"):
            tree = ast.parse((ROOT / f"{module}.py").read_text(encoding="utf-8"))
            for part in name.split("."):
                tree = next(node for node in ast.walk(tree) if getattr(node, "name", None) == part)


# ---- code on the pages

FENCES = [
    (page, kind, body)
    for page, text in PAGES.items()
    for kind, body in re.findall(
        r"^```(\w+)[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL
    )
]
PYTHON = [(page, body) for page, kind, body in FENCES if kind == "python"]
SHELL = [(p, line) for p, kind, body in FENCES if kind == "sh" for line in body.splitlines()]


@pytest.mark.parametrize(("page", "body"), PYTHON)
def test_every_python_fence_runs(page, body, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(body, page, "exec"), {})


@pytest.mark.parametrize(("page", "line"), SHELL)
def test_every_shell_line_is_one_that_works(page, line):
    """Targets of the Makefile, flags of train.py and lab.py, files of tests."""
    words = shlex.split(line, comments=True)
    if words[0] == "torchrun":  # and how many processes
        words = ["python", *words[3:]]
    if words[0] == "make":
        assert f"\n{words[1]}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif words[:2] == ["python", "train.py"]:
        parse(words[2:]).check()
    elif words[:2] == ["python", "prepare.py"]:
        prepare.parse(words[2:]).check()
    elif words[:2] == ["python", "lab.py"]:
        lab.parse(words[2:])
    elif words[0] == "cp":
        assert (ROOT / words[1]).is_file()
    else:
        assert words[:3] == ["python", "-m", "pytest"]
        paths = [word for word in words[3:] if word not in ("--against", "--quality")]
        assert all((ROOT / path).is_file() or path == "my_windows.py" for path in paths)


# ---- numbers in the prose


def starts(n: int, seq_len: int, stride: int) -> list[int]:
    """Where windows of a stream start."""
    return make_windows(np.arange(n), seq_len, stride)[0][0].tolist()


def unused(n: int, seq_len: int, stride: int) -> list[int]:
    """The places that no window holds, one by one."""
    held = {s + j for s in starts(n, seq_len, stride) for j in range(seq_len + 1)}
    return sorted(set(range(n)) - held)


def cut(n: int, fraction: float) -> int:
    return len(split_ids(np.arange(n), fraction)[0])


def batch_sizes(n_windows: int, batch_size: int) -> list[int]:
    inputs, targets = make_windows(np.arange(n_windows + 2), 2)
    return [len(xb) for xb, _ in iterate_batches(inputs, targets, batch_size, None, shuffle=False)]


def bits(*odds: int) -> float:
    """The mean loss in bits of targets with probabilities one in `odds`, by the real function."""
    p = 1 / torch.tensor(odds, dtype=torch.float64)
    logits = torch.stack([p, 1 - p], dim=-1).log()
    total, count = masked_loss(logits, torch.zeros(len(p), dtype=torch.int64))
    return total.item() / count / math.log(2)


def receipt(losses: list[float], text_bytes: int = 1) -> Receipt:
    return Receipt(round(sum(losses) * 2**32), len(losses), text_bytes, seq_len=8, stride=4)


BYTES = Tokenizer([])
LOWS = "low low lower"
LOW = build_tokenizer(LOWS, 3)
DEFAULT_V = 256 + Config().num_merges + 1
HAND = receipt([math.log(32)] * 20, 50)
HALVES = receipt([math.log(2), math.log(4), math.log(4), math.log(2)], 3)

GIVEN = {
    "text-to-ids.md": ["A tokenizer has 1,024 merges."],
    "split.md": [
        "A stream has 20 ids, $\\rho$ is 0.25 and $T$ is 3.",
        "Where are 7 ids cut with $\\rho$ = 0.5?",
    ],
    "windows.md": [
        "The stream is `3 1 4 1 5`, $T$ is 3 and $k$ is 1.",
        "Ten ids, $T$ = 4, stride 3: where do windows start?",
    ],
    "window-count.md": [
        "For $N$ = 40, $T$ = 16 and $k$ = 1, compute both forms.",
        "Then do $N$ = 10, $T$ = 4 and $k$ = 7.",
    ],
    "batches.md": [
        "from one generator with seed 42.",
        "There are 46 windows, batches of 16, and 3 epochs.",
        "Then do the same for 40 windows.",
        "one has 46 windows and the other 47",
    ],
    "next-token.md": [
        "One hand-picked window of T = 8, as eight predictions.",
        "nothing lies between 3 and 4",
        "Write down its predictions, each with its context, for $T$ = 4.",
        "You change the id at place 5 of a window.",
    ],
    "model.md": [
        "20 targets, each given a probability of 1/32, and together 50 bytes of text",
        "the losses 1, 1 and 1, then a batch with the single loss 5",
        "the probabilities 1/2, 1/4, 1/4 and 1/2",
        "The targets are 3 bytes in all.",
    ],
    "run.md": [
        "A validation side has 50 ids, $T$ is 16 and $s$ is 8.",
        "How many targets does a side of 23 ids have?",
    ],
    "seeds.md": ["001 trains with T = 16, stride 1, batches of 16"],
}
CLAIMS = {
    "text-to-ids.md": [
        ("each of the 256 values that a byte can have", lambda: BYTES.eot_id, 256),
        (
            "stand side by side 3 times, and so do `o` and `w`",
            lambda: [LOWS.count(pair) for pair in ("lo", "ow")],
            [3, 3],
        ),
        ("`lo` becomes id 256", lambda: LOW.tokens[256], b"lo"),
        (
            "`lo` and `w` stand side by side 3 times, and `low` becomes id 257",
            lambda: (LOWS.count("low"), LOW.tokens[257]),
            (3, b"low"),
        ),
        ("115 for the byte `s`, then 257", lambda: LOW.encode("slow"), [115, 257]),
        (
            "| the text `007` | the number 7 | the text `007` |",
            lambda: pandas_reads("text\n007\n").iloc[0, 0],
            7,
        ),
        ("the space and `low` stand side by side 2 times", lambda: LOWS.count(" low"), 2),
        ("a space and `low`, and its id is 258", lambda: LOW.tokens[258], b" low"),
        (
            "The ids are 258, 101 for `e` and 114 for `r`",
            lambda: LOW.encode(" lower"),
            [258, 101, 114],
        ),
        (
            "256 + 1,024 + 1 = 1,281 tokens, so the last id is 1,280",
            lambda: (256 + Config().num_merges + 1, DEFAULT_V - 1),
            (1281, 1280),
        ),
    ],
    "split.md": [
        (
            "For 90 ids and 0.3 the plain formula gives 62.99999999999999 in them, and so 62",
            lambda: ((1 - 0.3) * 90, int((1 - 0.3) * 90)),
            (62.99999999999999, 62),
        ),
        ("The fraction 3/10 gives 63, and 63 is what `split_ids` gives.", lambda: cut(90, 0.3), 63),
        ("The cut is 0.75 × 20 = 15.", lambda: cut(20, 0.25), 15),
        (
            "15 − 3 = 12 windows and validation 5 − 3 = 2",
            lambda: (len(starts(15, 3, 1)), len(starts(5, 3, 1))),
            (12, 2),
        ),
        (
            "20 − 3 = 17 windows, so 17 − 12 − 2 = 3 would cross",
            lambda: (len(starts(20, 3, 1)), [s for s in starts(20, 3, 1) if s < 15 <= s + 3]),
            (17, [12, 13, 14]),
        ),
        ("At 3, because 3.5 is rounded down.", lambda: cut(7, 0.5), 3),
    ],
    "windows.md": [
        ("× 65 |", lambda: Config().seq_len + 1, 65),
        ("numbers of 8 bytes for inputs and targets", lambda: np.dtype(np.int64).itemsize, 8),
        (
            "For ten million ids, $T$ = 256 and stride 1, that is 41 GB.",
            lambda: round(2 * count_windows(10_000_000, 256) * 256 * 8 / 1e9),
            41,
        ),
        (
            "A start must be below 5 − 3 = 2, so windows start at 0 and 1.",
            lambda: starts(5, 3, 1),
            [0, 1],
        ),
        (
            "At 0 and 3.\nThe next would be 6, and 6 is not below 10 − 4 = 6.",
            lambda: starts(10, 4, 3),
            [0, 3],
        ),
    ],
    "window-count.md": [
        (
            (
                "Ten ids with $T$ = 4 and stride 3 have windows at places 0 to 4 and 3 to 7.\n"
                "The last 2 ids go unused."
            ),
            lambda: (starts(10, 4, 3), unused(10, 4, 3)),
            ([0, 3], [8, 9]),
        ),
        (
            (
                "Twenty ids with $T$ = 4 and stride 6 have 3 windows and 5 unused ids.\n"
                "These stand at 5, 11, 17, 18 and 19."
            ),
            lambda: (count_windows(20, 4, 6), count_unused(20, 4, 6), unused(20, 4, 6)),
            (3, 5, [5, 11, 17, 18, 19]),
        ),
        ("24 divided by 1 is 24, and 1 + (40 − 17) = 24", lambda: count_windows(40, 16, 1), 24),
        (
            "6/7 rounded up is 1, and 1 + 5/7 rounded down is 1 + 0 = 1",
            lambda: count_windows(10, 4, 7),
            1,
        ),
        (
            "Ten ids with $T$ = 4 give 2 windows at stride 4 and 3 windows at stride 2",
            lambda: (len(starts(10, 4, 4)), len(starts(10, 4, 2))),
            (2, 3),
        ),
    ],
    "batches.md": [
        (
            "the order of 100,000 windows takes under a megabyte",
            lambda: pd.RangeIndex(100_000).to_numpy().nbytes,
            800_000,
        ),
        (
            "46 windows: 16, 16 and 14, so 3 batches and 9 steps.",
            lambda: (batch_sizes(46, 16), count_batches(46, 16), count_steps(46, 16, 3)),
            ([16, 16, 14], 3, 9),
        ),
        (
            "40 windows: 16, 16 and 8, so 3 batches and 9 steps.",
            lambda: (batch_sizes(40, 16), count_batches(40, 16), count_steps(40, 16, 3)),
            ([16, 16, 8], 3, 9),
        ),
        (
            "would give 8, because 120 divided by 16 is 7.5",
            lambda: (3 * 40, 120 / 16, math.ceil(7.5)),
            (120, 7.5, 8),
        ),
    ],
    "next-token.md": [
        (
            (
                "| Place | 0 | 1 | 2 |\n|---|---|---|---|\n"
                "| **0** | 1 | 0 | 0 |\n| **1** | 1 | 1 | 0 |\n| **2** | 1 | 1 | 1 |"
            ),
            lambda: attention_mask([1, 1, 1]).astype(int).tolist(),
            [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        ),
        ("Those at place 5 and later.", lambda: moved_by(5), [5, 6, 7]),
    ],
    "model.md": [
        ("Each has a loss of ln 32 nats, which is 5 bits.", lambda: bits(32), approx(5)),
        (
            "the perplexity is 32, and the bits per byte are 100 bits over 50 bytes, which is 2",
            lambda: (HAND.perplexity, 20 * bits(32), HAND.bits_per_byte),
            (approx(32), approx(100), approx(2)),
        ),
        ("One sum over one count is 8 / 4 = 2.", lambda: receipt([1, 1, 1, 5]).nats_per_token, 2),
        (
            "The mean of the two means is (1 + 5) / 2 = 3.",
            lambda: (receipt([1, 1, 1]).nats_per_token + receipt([5]).nats_per_token) / 2,
            3,
        ),
        (
            "With $V$ = 1,281 tokens the first loss is ln 1,281, about 7.155 nats.",
            lambda: (DEFAULT_V, first_loss(DEFAULT_V)),
            (1281, approx(7.155, abs=5e-4)),
        ),
        (
            (
                "numbers of 4 bytes, the largest array of a step.\n"
                "With the default settings that is 10.5 MB."
            ),
            lambda: round(4 * Config().batch_size * Config().seq_len * DEFAULT_V / 1e6, 1),
            10.5,
        ),
        (
            "The losses are 1, 2, 2 and 1 bits, 6 together.\nThe mean is 1.5 bits per token.",
            lambda: ([bits(2, 4, 4, 2) * 4, bits(2), bits(4), bits(2, 4, 4, 2)]),
            approx([6, 1, 2, 1.5]),
        ),
        (
            "The perplexity is 2 to the power 1.5, about 2.83.",
            lambda: HALVES.perplexity,
            approx(2.83, abs=5e-3),
        ),
        ("The bits per byte are 6 / 3 = 2.", lambda: HALVES.bits_per_byte, approx(2)),
        (
            "that finds all 1,281 tokens equally likely?\n\n/// details | Answer\n1,281.\n",
            lambda: receipt([math.log(DEFAULT_V)]).perplexity,
            approx(1281),
        ),
    ],
    "run.md": [
        (
            "Hand-picked: 23 ids, T = 8, s = 3.\nThe targets that count make 22, each once.",
            lambda: (8 - eval_windows(23, 8, 3)["loss_from"]).sum(),
            22,
        ),
        (
            (
                "| inputs of a batch | `(B, T)` | up to 16 × {{ default.seq_len }} |\n"
                "| loss mask | `(B, T)`, true or false | up to 16 ×"
            ),
            lambda: IDS_AT_ONCE // Config().seq_len,
            16,
        ),
        (
            "The last start is 50 − 1 − 16 = 33, so windows start at 0, 8, 16, 24, 32 and 33.",
            lambda: eval_windows(50, 16, 8)["start"].tolist(),
            [0, 8, 16, 24, 32, 33],
        ),
        (
            "The window at 32 scores up to place 48, and the last window scores one more target.",
            lambda: (32 + 16, 16 - eval_windows(50, 16, 8)["loss_from"].iloc[-1]),
            (48, 1),
        ),
        ("22: every id but the first.", lambda: scored(23), 22),
    ],
    "questions.md": [
        ("Why are 90 ids at 0.3 cut at 63?", lambda: cut(90, 0.3), 63),
        ("Because 0.7 × 90 is 63.", lambda: 90 - 90 * Fraction("0.3"), 63),
        (
            (
                "The binary number for 0.7 is a little smaller, and 90 times it comes out as "
                "62.99999999999999.\nRounded down that is 62, so `split_ids` computes with the "
                "fraction 3/10 instead."
            ),
            lambda: (Fraction(0.7) < Fraction("0.7"), 90 * 0.7, int(90 * 0.7)),
            (True, 62.99999999999999, 62),
        ),
    ],
    "glossary.md": [
        ("whole numbers of 8 bytes", lambda: np.dtype(np.int64).itemsize, 8),
        ("ln 2 nats are one bit", lambda: bits(2), approx(1)),
    ],
}
for _found in pkgutil.iter_modules(claims.__path__):
    _module = importlib.import_module(f"claims.{_found.name}")
    GIVEN[_module.PAGE], CLAIMS[_module.PAGE] = _module.GIVEN, _module.CLAIMS


def pandas_reads(text: str, **options) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(text.encode()), **options)


def moved_by(place: int) -> list[int]:
    """The places whose logits change with the id at `place`, for a model that has weights."""
    model, ids = GPT(20, n_layer=1, n_head=1, d_model=8), torch.arange(8).unsqueeze(0)
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, generator=generator)
    changed = ids.clone()
    changed[0, place] = 19
    moved = (model(ids) - model(changed)).abs().amax(-1)[0]
    return moved.nonzero().flatten().tolist()


def first_loss(vocab_size: int) -> float:
    """Mean loss of a model that has learned nothing."""
    ids = torch.tensor([[3, 1, 4]])
    total, count = masked_loss(GPT(vocab_size, n_layer=1, n_head=1, d_model=4)(ids), ids)
    return total.item() / count


def scored(n: int) -> int:
    """Targets of `n` ids that an evaluation counts."""
    model = GPT(257, n_layer=1, n_head=1, d_model=4)
    stream = encode_text(pd.DataFrame({"text": ["a" * (n - 1)]}), BYTES)
    return evaluate(model, stream, BYTES, 8, 3).count


@pytest.mark.parametrize(
    ("page", "words", "got", "expected"),
    [(page, *claim) for page, claims in CLAIMS.items() for claim in claims],
)
def test_a_number_in_the_prose_is_the_one_that_the_code_gives(page, words, got, expected):
    assert words in PAGES[page]
    assert got() == expected


@pytest.mark.parametrize("page", WRITTEN)
def test_no_number_in_the_prose_is_without_its_claim(page):
    """Free are 0 and 1, the names of the seeds, and what is given for a task or a table."""
    rest = PAGES[page]
    for words in [words for words, _, _ in CLAIMS.get(page, [])] + GIVEN.get(page, []):
        assert words in rest
        rest = rest.replace(words, "")
    for line in prose(rest):
        line = re.sub(r"^\d+\. |\b00[0-4]\b", "", line)
        found = re.findall(r"(?<![\w.,])\d[\d,.]*", line)
        assert {number.strip(".,") for number in found} <= {"0", "1"}, line


# ---- claims without a number


def test_pandas_does_to_a_file_what_the_page_says_and_we_do_not(write_csv):
    """The left and the middle column of the table of refusals, one row after the other."""
    extra = "id,text\n1,a,b\n2,c,d\n"
    assert pandas_reads(extra).to_dict("list") == {"id": ["a", "c"], "text": ["b", "d"]}
    short = "id,text\n1\n2,b\n"
    assert pandas_reads(short)["text"].isna().tolist() == [True, False]
    lone = "id,text\n1,a\rb\n"
    assert pandas_reads(lone)["id"].tolist() == ["1", "b"]
    quote = 'id,text\n1,"a\n2,b\n'
    assert pandas_reads(quote, engine="pyarrow")["text"].tolist() == ["a\n2,b\n"]
    assert pandas_reads("text\nNA\n")["text"].isna().all()
    for refused in (extra, short, quote):
        with pytest.raises(ValueError, match="line 2"):
            load_documents(write_csv(refused))
    assert load_documents(write_csv(lone))["text"].tolist() == ["a\rb"]
    assert load_documents(write_csv("text\nNA\n007\n"))["text"].tolist() == ["NA", "007"]


def test_a_third_merge_joins_the_only_pair_that_is_left_twice():
    """low | space low | space low e r."""
    assert build_tokenizer("low low lower", 3).merges[2] == (b" ", b"low")
    assert encode_corpus("low low lower", LOW).tolist() == [257, 258, 258, 101, 114]


def test_the_progress_line_on_the_page_is_one_that_a_run_prints():
    line = progress_line(60, 180, 2.5, HAND, 1234.6)
    assert f"```text\n{line}\n```" in PAGES["run.md"]


def test_the_files_of_a_run_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = readme.split("A run leaves its folder")[1].split("\n## ")[0]
    cells = "".join(re.findall(r"^\| (`.*?) \|", told, re.MULTILINE))
    listed = re.findall(r"^\| `([\w.-]+/?)` \| ", PAGES["run.md"], re.MULTILINE)
    assert sorted(listed) == sorted(re.findall(r"`([\w.-]+/?)`", cells))


def test_a_window_cannot_be_written_to_and_a_stride_above_t_is_refused():
    inputs, _ = make_windows(np.arange(10), 4)
    with pytest.raises(ValueError, match="read-only"):
        inputs.to_numpy()[0, 0] = 7
    with pytest.raises(ValueError, match="larger than seq_len"):
        eval_windows(50, 8, 9)


@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "last"), [(23, 8, 3, 5), (50, 16, 8, 5), (33, 16, 16, 1)]
)
def test_the_last_evaluation_window_has_the_number_that_the_page_gives(n, seq_len, stride, last):
    """⌈(23 − 1 − 8)/3⌉ = ⌈14/3⌉ = 5, ⌈33/8⌉ = 5, ⌈16/16⌉ = 1; starts are min(ws, N − 1 − T)."""
    assert "so the last $w$ is $\\lceil (N - 1 - T) / s \\rceil$" in PAGES["run.md"]
    windows = eval_windows(n, seq_len, stride)
    assert windows.index[-1] == last
    assert windows["start"].tolist() == [min(w * stride, n - 1 - seq_len) for w in windows.index]
