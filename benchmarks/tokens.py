"""Training the tokenizer, and encoding."""

import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from benchmarks.measure import costs, line, peer, row, seconds, stories
from data import build_tokenizer, encode_corpus
from tokenizer import PATTERN, learn_merges

MERGES = 1024
LARGE = 20  # megabytes from which slow peers are measured once


@row("data.py", "tokenizer.py", threads=None)
def learning(megabytes: Sequence[float] = (1, 20), rounds: int = 3) -> dict[str, Any]:
    """Merges learned from a text: ours, its learner given lines, and rustbpe."""
    figures: dict[str, Any] = {"merges": MERGES}
    lines = []
    for size in megabytes:
        text = stories(size)
        times: dict[str, list[float]] = {name: [] for name in ("ours", "tokenizers", "rustbpe")}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "text.txt")
            path.write_text(text, encoding="utf-8", newline="\n")
            for _ in range(rounds):
                times["ours"].append(seconds(lambda text=text: learn_merges(text, MERGES)))
                times["tokenizers"].append(seconds(lambda text=text: learn_by_lines(text)))
                arguments = str(path), 256 + MERGES, PATTERN, 1 << 20
                if told := peer("tokens", "rustbpe_learns", *arguments):
                    times["rustbpe"].append(told["seconds"])
        took = {name: statistics.median(values) for name, values in times.items() if values}
        took["copy"] = seconds(lambda text=text: text.encode())
        figures |= {f"{size:g}_{name}": t for name, t in took.items()}
        ours = [(left + right).hex() for left, right in learn_merges(text, MERGES)]
        if told:
            pairs = zip(ours, told["tokens"][256:], strict=False)
            figures |= {"rustbpe_version": told["version"]}
            figures |= {f"{size:g}_rustbpe_in_place": sum(a == b for a, b in pairs)}
            figures |= {f"{size:g}_rustbpe_shared": len(set(ours) & set(told["tokens"]))}
        lines.append(
            line(
                f"Training the tokenizer, {MERGES:,} merges from {size:g} MB",
                took["ours"],
                same={name: took.get(name) for name in ("tokenizers", "rustbpe")},
                limit=took["copy"],
                bound="one copy of the bytes",
                why="The `tokenizers` library follows where each character comes from while it "
                "cuts the text into pieces, which takes nearly all of the time; short parts "
                "helped. rustbpe only counts the pieces. It breaks ties between pairs in another "
                "order, so its tokens have other ids and its tokenizer another fingerprint.",
            )
        )
    return figures | {"lines": lines}


def learn_by_lines(text: str) -> list[list[str]]:
    """The `tokenizers` library as it is commonly called: line by line."""
    trainer = trainers.BpeTrainer(
        vocab_size=256 + MERGES,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    learner = tokenizers.Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.train_from_iterator(text.splitlines(keepends=True), trainer)
    return json.loads(learner.to_str())["model"]["merges"]


@row("data.py", "tokenizer.py", threads=None)
def encoding(megabytes: Sequence[float] = (1, 50), rounds: int = 3) -> dict[str, Any]:
    """A text to ids: ours, tiktoken in one call, and tokenizers by lines; and their peak memory."""
    figures: dict[str, Any] = {}
    lines = []
    for size in megabytes:
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in ENCODERS}
        for turn in range(rounds):
            for name, make in ENCODERS.items():
                if not turn or size < LARGE or name != "tokenizers":
                    runs[name].append(costs(make, size))
        known = {name: _middle(told) for name, told in runs.items()}
        for name, told in known.items():
            figures[f"{size:g}_{name}_seconds"] = told["seconds"]
            figures[f"{size:g}_{name}_bytes"] = told["bytes"]
        ids = int(known["ours"]["size"])
        figures[f"{size:g}_ids"] = ids
        limits = {"s": known["copy"]["seconds"], "bytes": 8 * ids}
        bounds = {"s": "copying the text and its ids", "bytes": "the ids themselves, 8 bytes each"}
        for unit, key, what in (("s", "seconds", "Encoding"), ("bytes", "bytes", "Memory of it")):
            lines.append(
                line(
                    f"{what}, {size:g} MB",
                    known["ours"][key],
                    unit=unit,
                    same={name: known[name][key] for name in ("tiktoken", "tokenizers")},
                    limit=limits[unit],
                    bound=bounds[unit],
                    why="A megabyte is one part, which one core encodes as tiktoken does; ours "
                    "looks for half characters and for long runs of blanks first.",
                )
            )
    return figures | {"lines": lines}


def ours(megabytes: float) -> Callable[[], Any]:
    text = stories(megabytes)
    tok = build_tokenizer(text[:1_000_000], MERGES)
    return lambda: encode_corpus(text, tok)


def tiktoken(megabytes: float) -> Callable[[], Any]:
    text = stories(megabytes)
    tok = build_tokenizer(text[:1_000_000], MERGES)
    return lambda: tok._engine.encode_ordinary(text)


def tokenizers_by_lines(megabytes: float) -> Callable[[], Any]:
    text = stories(megabytes)
    twin = build_tokenizer(text[:1_000_000], MERGES)._twin()
    lines = text.splitlines(keepends=True)
    return lambda: [e.ids for e in twin.encode_batch_fast(lines, add_special_tokens=False)]


def copy(megabytes: float) -> Callable[[], Any]:
    text = stories(megabytes)
    ids = encode_corpus(text, build_tokenizer(text[:1_000_000], MERGES))
    return lambda: (text.encode(), ids.copy())


ENCODERS = {"ours": ours, "tiktoken": tiktoken, "tokenizers": tokenizers_by_lines, "copy": copy}


def _middle(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}
