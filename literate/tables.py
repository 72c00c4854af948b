"""The site's tables: headings and rows, a cell being Markdown, filled by the real functions."""

import ast
import json
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.record import kept
from config import Config
from data import iterate_batches, load_corpus, make_windows, split_ids
from literate.figures import HAND_IDS, crossing_windows, late
from literate.values import ROOT, default_run
from windows import count_batches, count_unused, count_windows, eval_windows

Table = tuple[list[str], list[list[str]]]


def rows_to_text() -> Table:
    """Hand-picked rows, and what `load_corpus` joins them to."""
    picked = [[" hello ", None, "world"], ["one", " ", "two\nthree"], ["NA", "007"]]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        for texts in picked:
            lines = [json.dumps({"text": text}) + "\n" for text in texts]
            path.write_text("".join(lines), encoding="utf-8")
            rows.append([_code(json.dumps(texts)), _code(json.dumps(load_corpus(path)))])
    return ["Rows", "Text"], rows


def split_windows() -> Table:
    """Where hand-picked streams are cut, and the windows on each side and across."""
    headings = ["N · ρ · T", "Cut", "Before", "After", "Across"]
    rows = []
    for n, fraction, seq_len in ((20, 0.25, 3), (40, 0.2, 4), (3000, 0.1, 16)):
        sides = split_ids(np.arange(n), fraction)
        held = [len(make_windows(side, seq_len)[0]) for side in sides]
        crossing = len(crossing_windows(n, fraction, seq_len))
        sizes = f"{n} · {fraction} · {seq_len}".replace(" ", "\N{NO-BREAK SPACE}")
        rows.append(_cells(sizes, len(sides[0]), *held, crossing))
    return headings, rows


def window_counts() -> Table:
    """The formula, the rows that `make_windows` gives, and the ids that are in no window."""
    sizes = [(10, 4, 1), (10, 4, 2), (10, 4, 3), (10, 4, 4), (10, 4, 6), (10, 4, 7)]
    sizes += [(5, 4, 1), (10, 1, 1), (40, 16, 1)]
    rows = []
    for n, seq_len, stride in sizes:
        made = len(make_windows(np.arange(n), seq_len, stride)[0])
        counts = count_windows(n, seq_len, stride), made, count_unused(n, seq_len, stride)
        rows.append(_cells(n, seq_len, stride, *counts))
    return ["N", "T", "k", "Formula", "Rows", "Unused ids"], rows


def evaluation_windows() -> Table:
    """The evaluation windows over 23 ids with T = 8 and s = 3, and the targets that count."""
    rows = []
    for _, start, length, loss_from in eval_windows(23, 8, 3).itertuples():
        first, last = start + 1, start + length
        counted = f"{first + loss_from}–{last}"
        rows.append(_cells(start, f"{first}–{last}", loss_from, counted))
    return ["Start", "Targets", "`loss_from`", "Counted"], rows


def batch_sizes() -> Table:
    """How many batches hand-picked numbers of windows make, and how long each is."""
    rows = []
    for n_windows, batch_size in ((10, 4), (46, 16), (48, 16), (49, 16), (1, 16)):
        inputs, targets = make_windows(np.arange(n_windows + 1), 1)
        batches = iterate_batches(inputs, targets, batch_size, None, shuffle=False)
        sizes = ", ".join(str(len(xb)) for xb, _ in batches)
        rows.append(_cells(n_windows, batch_size, count_batches(n_windows, batch_size), sizes))
    return ["W", "B", "Batches", "Windows in each"], rows


def trace() -> Table:
    """The shapes along the default run."""
    run = default_run()
    config, rng = run.config, np.random.default_rng(run.config.seed)
    xb, _ = next(iterate_batches(run.inputs, run.targets, config.batch_size, rng))
    rows = [
        ["`load_corpus`", "text", f"{len(run.text):,} characters"],
        ["`encode_corpus`", "ids `(N,)`", _shape(run.ids.shape)],
        ["`split_ids`", "training ids `(cut,)`", _shape(run.train_ids.shape)],
        ["", "validation ids `(N - cut,)`", _shape(run.val_ids.shape)],
        ["`make_windows`", "inputs `(W, T)`", _shape(run.inputs.shape)],
        ["", "targets `(W, T)`", _shape(run.targets.shape)],
        ["`iterate_batches`", "a batch `(B, T)`", _shape(xb.shape)],
        ["`GPT`", "logits `(B, T, V)`", _shape((*xb.shape, run.tok.vocab_size))],
    ]
    return ["Made by", "What", "Here"], rows


def contexts() -> Table:
    """One window of T = 8, made of the hand-picked ids, as eight predictions."""
    inputs, targets = (frame.iloc[0] for frame in make_windows(np.array(HAND_IDS), 8))
    rows = [[str(t), _listed(inputs[: t + 1]), _code(targets[t])] for t in range(8)]
    return ["Place", "Context", "Next id"], rows


def leaks() -> Table:
    """What the plan of the default run says about leaks."""
    return ["What the plan says"], [[sentence] for sentence in default_run().leaks]


def settings() -> Table:
    """Every field of `Config` as the flag that sets it, with its default and its meaning."""
    helps = _helps()
    rows = []
    for field in fields(Config):
        flag = _code("--" + field.name.replace("_", "-"))
        rows.append([f"{flag}<br>{field.default}", helps[field.name]])
    return ["Flag, default", "Meaning"], rows


WAYS = {
    "step": "`make_train_loader`",
    "loader": "`make_dataloader`",
    "plain": "`DataLoader`, item by item",
    "workers": "the same, two workers",
    "slices": "slices, stacked",
    "copy": "bare copy",
}
PLACES = {"memory": "Tensor in memory", "mapped": "Mapped file"}


def batch_times() -> Table:
    """What a batch costs in each way, from the last `make bench`."""
    figures = kept("batches")["figures"]
    sizes = list(dict.fromkeys(m[1] for name in figures if (m := re.search(r"_(\d+_\d+)_", name))))
    rows = []
    for place, named in PLACES.items():
        rows.append([f"**{named}**", *[""] * len(sizes)])
        for way, shown in WAYS.items():
            times = [(figures[f"{place}_{s}_{way}"], figures[f"{place}_{s}_copy"]) for s in sizes]
            cells = [f"{_brief(time)} / {_brief(time / copy)}" for time, copy in times]
            rows.append([shown, *cells])
    return ["Way", *(f"({size.replace('_', ', ')})" for size in sizes)], rows


LAYOUTS = {
    "text": "`text`",
    "eot": "`eot`",
    "eot_isolated": "`eot`, isolated",
    "fragment": "best fit, `fragment`",
    "fragment_isolated": "the same, isolated",
    "sequential": "sequential, `fragment`",
    "truncate": "best fit, `truncate`",
    "drop": "best fit, `drop`",
}


def layout_costs() -> Table:
    """What each layout costs, and what a model learned from it, from the last `make bench`."""
    figures = kept("policies")["figures"]
    headings = ["Layout", "Windows", "Fill", "Dropped", "Masked", "Targets/s", "Bits per byte"]
    rows = []
    for way, shown in LAYOUTS.items():
        own = {name: figures[f"{way}_{name}"] for name in ("windows", "fill", "dropped", "masked")}
        speed = round(figures[f"{way}_tokens_per_second"], -2)
        bits = (figures[f"{way}_bits_per_byte_{b}"] for b in ("continuous", "isolated"))
        cells = [f"{own.pop('windows'):,}", f"{own.pop('fill'):.3f}", *_cells(*own.values())]
        rows.append([shown, *cells, f"{speed:,.0f}", " / ".join(f"{b:.3f}" for b in bits)])
    return headings, rows


def _brief(number: float) -> str:
    """Two digits that count, or a whole number."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


@cache
def _helps() -> dict[str, str]:
    """The text that stands under each field in `config.py`."""
    tree = ast.parse((ROOT / "config.py").read_text(encoding="utf-8"))
    body = next(n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Config")
    return {
        field.target.id: text.value.value
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
    }


def _code(value: object) -> str:
    return f"`{value}`"


def _cells(*values: object) -> list[str]:
    return [f"{value:,}" if isinstance(value, int | np.integer) else str(value) for value in values]


def _listed(numbers: Iterable[int]) -> str:
    return _code(" ".join(map(str, numbers)))


def _shape(sizes: Iterable[int]) -> str:
    return " × ".join(f"{size:,}" for size in sizes)


TABLES: dict[str, Callable[[], Table]] = {
    "rows-to-text": rows_to_text,
    "split-windows": split_windows,
    "window-counts": window_counts,
    "eval-windows": evaluation_windows,
    "batch-sizes": batch_sizes,
    "trace": trace,
    "contexts": contexts,
    "leaks": leaks,
    "settings": settings,
    "batch-times": batch_times,
    "layout-costs": layout_costs,
    "may-change": late("figures_resume", "may_change"),
    "resumed-steps": late("figures_resume", "resumed_steps"),
    "strides": late("figures_evaluation", "strides"),
    "savings": late("figures_evaluation", "savings"),
    "token-bytes": late("figures_storage", "token_bytes"),
    "packing-policies": late("figures_packing", "policies"),
    "packing-times": late("figures_packing", "times"),
    "chances": late("figures_random", "chances"),
    "isolated-steps": late("figures_isolation", "isolated_steps"),
    "places": late("figures_documents", "places"),
    "leak-orders": late("figures_documents", "leak_orders"),
    "each-story-twice": late("figures_documents", "each_story_twice"),
    "partition-sizes": late("figures_prepare", "sizes"),
    "hand-ledger": late("figures_lineage", "hand_ledger"),
    "explained-window": late("figures_lineage", "explained_window"),
    "ledger-totals": late("figures_lineage", "ledger_totals"),
    "proved-equations": late("figures_proof", "equations"),
    "tried-modules": late("figures_proof", "modules"),
    "mutants-alive": late("figures_proof", "alive"),
    "mutants-equivalent": late("figures_proof", "not_to_be_told"),
    "exercises": late("figures_exercises", "files"),
    "walks": late("figures_bijection", "walks"),
    "beside-peers": late("figures_speed", "beside_peers"),
    "doing-less": late("figures_speed", "doing_less"),
    "falling-short": late("figures_speed", "falling_short"),
    "refusals": late("figures_speed", "refusals"),
    "machines": late("figures_speed", "machines"),
    "peer-versions": late("figures_speed", "versions"),
    "growth": late("figures_speed", "growth_table"),
    "scaling-sizes": late("figures_scaling", "sizes"),
    "scaling-orders": late("figures_scaling", "orders"),
    "scaling-reads": late("figures_scaling", "reads"),
    "scaling-once": late("figures_scaling", "once"),
}
