"""The site's figures: SVG drawn by hand from what the real functions return.

A figure is 400 units wide, so that its letters can be read on a phone. Its colours come from the
site's palette, in light and in dark. What it shows is also said in words, in its `<desc>`.
"""

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from data import encode_corpus, iterate_batches, make_windows, split_ids
from literate import ties
from literate.values import default_run
from windows import count_unused, count_windows

WIDTH = 400

# Classes: i inputs and training, o targets and validation, n in no window; s said softly.
_STYLES = {
    "": "display:block;max-width:25rem;height:auto;margin:auto;"
    "--i:var(--md-typeset-a-color,#3f72c4);--o:#d0741c;"
    "font:13px var(--md-text-font-family,system-ui,sans-serif)",
    "text": "fill:currentColor",
    "rect": "fill:currentColor;fill-opacity:.08;rx:2px",
    "path": "fill:none;stroke:currentColor;stroke-opacity:.6",
    ".s": "fill-opacity:.72",
    ".b": "font-weight:600",
    ".c": "text-anchor:middle",
    ".e": "text-anchor:end",
    ".m": "font-family:var(--md-code-font-family,monospace)",
    ".i": "fill:var(--i);fill-opacity:.2",
    ".o": "fill:var(--o);fill-opacity:.26",
    ".row": "stroke-width:24;stroke-opacity:.08",
    ".row.i": "stroke:var(--i);stroke-opacity:.2",
    ".row.o": "stroke:var(--o);stroke-opacity:.26",
    ".n": "fill:none;stroke:currentColor;stroke-opacity:.4;stroke-dasharray:3 3",
    ".shades rect": "fill:var(--i);fill-opacity:.5",
    ".bar": "fill-opacity:.6",
    ".cut": "stroke-width:2;stroke-dasharray:5 3;stroke-opacity:1",
    "circle": "fill:var(--md-default-bg-color,#fff);fill-opacity:1;stroke:currentColor",
    "circle.i": "fill:var(--i);fill-opacity:1",
    "tspan": "fill-opacity:.72",
    "a": "color:inherit;text-decoration:none",
    "a text": "font-family:var(--md-code-font-family,monospace)",
    "a:hover rect": "fill-opacity:.4",
}


def _svg(name: str, height: float, title: str, desc: str, parts: list[str]) -> str:
    """The figure, with its text alternative; with links in it, it is a group and no image."""
    root, drawn = f"svg-{name}", "".join(parts)
    used = {
        selector: rules
        for selector, rules in _STYLES.items()
        if all(
            re.search(rf'<{part}\b|class="[^"]*\b{part}\b', drawn)
            for part in re.findall(r"\w+", selector.replace(":hover", ""))
        )
    }
    style = "".join(
        f"#{root} {selector}".strip() + f"{{{rules}}}" for selector, rules in used.items()
    )
    return (
        f'<svg id="{root}" viewBox="0 0 {WIDTH} {height:g}" width="100%" '
        f'role="{"group" if "<a " in drawn else "img"}" '
        f'aria-labelledby="{root}-title" aria-describedby="{root}-desc">'
        f'<title id="{root}-title">{escape(title)}</title>'
        f'<desc id="{root}-desc">{escape(desc)}</desc>'
        f"<style>{style}</style>{drawn}</svg>"
    )


def _class(classes: str) -> str:
    return f' class="{classes.strip()}"' if classes else ""


def _text(x: float, y: float, text: object, classes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{_class(classes)}>{escape(str(text))}</text>'


def _box(x: float, y: float, width: float, height: float, classes: str = "", more: str = "") -> str:
    size = f'width="{width:g}" height="{height:g}"'
    return f'<rect x="{x:g}" y="{y:g}" {size}{_class(classes)}{more}/>'


def _row(x: float, y: float, pitch: float, count: int, tone: str = "") -> str:
    """Equal cells side by side, 24 high and 2 apart: one thick line in dashes."""
    dashes = f'stroke-dasharray="{pitch - 2:g} 2"'
    return f'<path d="M{x:g} {y + 12:g}h{pitch * count - 2:g}" {dashes}{_class(f"row {tone}")}/>'


def _numbers(x: float, y: float, pitch: float, numbers: Iterable[object]) -> str:
    """A number in the middle of each cell of a row."""
    drawn = [_text(x + pitch * (i + 0.5) - 1, y + 17, number) for i, number in enumerate(numbers)]
    return f'<g class="c">{"".join(drawn)}</g>'


def _line(start: tuple[float, float], stop: tuple[float, float], classes: str = "") -> str:
    return f'<path d="M{start[0]:g} {start[1]:g}L{stop[0]:g} {stop[1]:g}"{_class(classes)}/>'


# ---- the road


_ASIDE = {"batches", "checkpoint", "feed", "files", "ledger", "lineage", "packing", "ranks"}
_ASIDE |= {"report", "runs", "show", "sides", "windows"}


@dataclass(frozen=True)
class Stop:
    """A call on the road: what it calls, the names that its result gets, and where to read on.

    `lesson` is the page that shows its code or who uses it; `source` the line of its definition.
    """

    symbol: str
    gives: str
    lesson: str | None
    source: str


def road() -> str:
    """The calls of `train.main`, in the order in which they are made, with the module of each."""
    stops = road_stops()
    parts = [
        _text(30, 14, "call → what it gives", "s"),
        _text(WIDTH - 8, 14, "module", "s e"),
        _line((8, 35), (8, 35 + 30 * (len(stops) - 1))),
    ]
    y = 22
    for module, calls in groupby(stops, lambda stop: stop.symbol.partition(".")[0]):
        top = y
        for stop in calls:
            tone = "i" if stop.lesson else ""
            name = stop.symbol.rpartition(".")[2]
            gives = f" <tspan>→ {escape(stop.gives)}</tspan>" if stop.gives else ""
            parts += [
                f'<circle cx="8" cy="{y + 13}" r="4.5"{_class(tone)}/>',
                f'<a href="{stop.lesson or stop.source}">{_box(20, y, 276, 26, tone)}',
                f'<text x="30" y="{y + 17}">{name}{gives}</text></a>',
            ]
            y += 30
        parts.append(
            f'<a href="{stop.source.partition("#")[0]}">{_box(300, top, 100, y - top - 4)}'
            f"{_text(350, (top + y) / 2 + 2, f'{module}.py', 'c')}</a>"
        )
    return _svg(
        "road",
        y - 4,
        "The calls of train.main, in order",
        f"{len(stops)} calls from top to bottom, each with the names that its result gets. Filled "
        "stops link to their lesson, the others to their source; a module links to its source. "
        "Calls that only show or store, and those of side roads, are left out.",
        parts,
    )


def road_stops() -> list[Stop]:
    """The stops of the road, read from `train.py`: each call once, where it first comes.

    Left out are the modules that only show and store, and those of the side roads.
    """
    stops: dict[str, Stop] = {}
    for stop in _Train().calls("main"):
        stops.setdefault(stop.symbol, stop)
    return [stop for stop in stops.values() if stop.symbol.split(".")[0] not in _ASIDE]


class _Train:
    """`train.py` as a tree: its own functions, and the names that it imports from our modules."""

    def __init__(self) -> None:
        self.index = index = ties.read()
        self.tree = index.file("train.py").tree
        self.functions = {f.name: f for f in self.tree.body if isinstance(f, ast.FunctionDef)}
        imports = [node for node in self.tree.body if isinstance(node, ast.ImportFrom)]
        names = [f"{node.module}.{alias.name}" for node in imports for alias in node.names]
        self.symbols = {name.rpartition(".")[2]: name for name in names if name in index.symbols}
        self.lessons: dict[str, str] = {}
        for page in index.pages:
            for kind, name, *_ in ties.blocks(index.pages[page]):
                if kind in ("code", "used"):
                    self.lessons.setdefault(name, page)

    def calls(self, function: str) -> Iterator[Stop]:
        """The calls that `function` makes, arguments first; calls into `train.py` are followed."""
        tree = self.functions[function]
        types = {arg.arg: ast.unparse(arg.annotation) for arg in tree.args.args}
        kept = dict(self._kept(tree))
        for node in _inside_out(tree):
            match node:
                case ast.Call(func=ast.Name(name)) if name in self.functions:
                    yield from self.calls(name)
                case ast.Call(func=ast.Name(name)) if name in self.symbols:
                    yield self._stop(self.symbols[name], kept.get(node, ""))
                case ast.Call(func=ast.Attribute(ast.Name(owner), name)) if (
                    node in kept and types.get(owner) in self.symbols
                ):
                    yield self._stop(f"{self.symbols[types[owner]]}.{name}", kept[node])

    def _stop(self, symbol: str, gives: str) -> Stop:
        parts = (page for name, page in self.lessons.items() if f"{name}.".startswith(f"{symbol}."))
        defined = self.index.symbol(symbol)
        source = f"{ties.source_page(defined.path)}#L{defined.line}"
        return Stop(symbol, gives, next(parts, None), source)

    def _kept(self, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
        """Calls whose result gets names, and these names."""
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as call):
                    yield call, ast.unparse(target).strip("()").removesuffix(", _")


def _inside_out(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree in the order in which they are evaluated: arguments before the call."""
    for child in ast.iter_child_nodes(node):
        yield from _inside_out(child)
    yield node


# ---- windows over a stream

HAND_IDS = [3, 1, 4, 1, 5, 2, 6, 5, 3, 5]


def windows() -> str:
    """The hand-picked ids, and the windows of T = 4 at stride 2 over them."""
    ids, seq_len, stride = np.array(HAND_IDS), 4, 2
    inputs, targets = make_windows(ids, seq_len, stride)
    starts = make_windows(np.arange(len(ids)), seq_len, stride)[0][0]
    used = len(ids) - count_unused(len(ids), seq_len, stride)
    left, pitch, y = 76, 32, 52
    parts = [
        _text(0, 15, "place", "s"),
        f'<g class="s">{_numbers(left, -2, pitch, range(len(ids)))}</g>',
        _text(0, 41, "id"),
        _row(left, 24, pitch, used),
        *(_box(left + pitch * place, 24, pitch - 2, 24, "n") for place in range(used, len(ids))),
        _numbers(left, 24, pitch, ids),
    ]
    for window, start in enumerate(starts):
        x = left + pitch * start
        parts.append(_text(0, y + 22, f"window {window}", "b"))
        if window:
            parts += _measure(x - pitch * stride, x - 2, y + 18)
            parts.append(_text(x + 6, y + 22, f"k = {stride}", "s"))
        parts += [
            _text(0, y + 49, "inputs"),
            _row(x, y + 32, pitch, seq_len, "i"),
            _numbers(x, y + 32, pitch, inputs.iloc[window]),
            _text(0, y + 75, "targets"),
            _row(x + pitch, y + 58, pitch, seq_len, "o"),
            _numbers(x + pitch, y + 58, pitch, targets.iloc[window]),
        ]
        y += 86
    told = [
        f"Window {w} starts at place {starts[w]}: inputs {_listed(inputs.iloc[w])}, targets "
        f"{_listed(targets.iloc[w])}."
        for w in range(len(inputs))
    ]
    return _svg(
        "windows",
        y,
        f"Windows of {seq_len} over {len(ids)} ids, {stride} apart",
        f"The ids are {_listed(ids)}. {' '.join(told)} Targets stand one place to the right of "
        f"their inputs. Ids in no window, at the end: {len(ids) - used}.",
        parts,
    )


def _measure(left: float, right: float, y: float) -> list[str]:
    """A line that measures a distance."""
    ends = [_line((x, y - 4), (x, y + 4)) for x in (left, right)]
    return [_line((left, y), (right, y)), *ends]


def _listed(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


# ---- the cut


def cut() -> str:
    """Twenty ids cut at 15, and the windows that would hold ids of both sides."""
    n, fraction, seq_len, pitch = 20, 0.25, 3, 20
    train, val = split_ids(np.arange(n), fraction)
    at, crossing = len(train), crossing_windows(n, fraction, seq_len)
    held = [
        f"{len(side)} ids, {len(make_windows(side, seq_len)[0])} windows" for side in (train, val)
    ]
    parts = [
        _text(0, 15, "training", "b"),
        _text(0, 33, held[0]),
        _text(WIDTH - 2, 15, "validation", "b e"),
        _text(WIDTH - 2, 33, held[1], "e"),
        _text(0, 101, f"{len(crossing)} windows", "b"),
        _text(0, 119, "would hold ids"),
        _text(0, 137, "of both sides"),
    ]
    parts += [
        _row(0, 44, pitch, at, "i"),
        _row(pitch * at, 44, pitch, n - at, "o"),
        _numbers(0, 44, pitch, [0]),
        _numbers(pitch * (at - 1), 44, pitch, [at - 1, at]),
        _numbers(pitch * (n - 1), 44, pitch, [n - 1]),
    ]
    y = 84
    for first, *_, last in crossing:
        parts += [
            _text(pitch * first - 10, y + 17, f"window {first}", "s e"),
            _row(pitch * first, y, pitch, at - first, "i"),
            _row(pitch * at, y, pitch, last + 1 - at, "o"),
        ]
        y += 28
    parts.append(_line((pitch * at - 1, 40), (pitch * at - 1, y + 2), "cut"))
    parts.append(_text(pitch * at - 1, y + 17, f"cut = {at}", "c"))
    return _svg(
        "cut",
        y + 22,
        f"{n} ids cut at {at}",
        f"{n} ids with a validation fraction of {fraction} are cut at {at}. Training has {held[0]} "
        f"of {seq_len}, validation {held[1]}. If windows were made first, {len(crossing)} of them "
        f"would hold ids of both sides: those that start at {_listed(r[0] for r in crossing)}.",
        parts,
    )


def crossing_windows(n: int, fraction: float, seq_len: int) -> list[list[int]]:
    """The places of each window that would cross the cut, if windows were made before it.

    >>> crossing_windows(20, 0.25, 3)
    [[12, 13, 14, 15], [13, 14, 15, 16], [14, 15, 16, 17]]
    """
    places = np.arange(n)
    at = len(split_ids(places, fraction)[0])
    inputs, targets = make_windows(places, seq_len)
    rows = np.column_stack([inputs, targets.iloc[:, -1]])
    return rows[(rows[:, 0] < at) & (rows[:, -1] >= at)].tolist()


# ---- tokens

SENTENCE = "Nell's cat had 12 naïve ideas."


def tokens() -> str:
    """A sentence, and the tokens that the default run's tokenizer makes of it."""
    tok = default_run().tok
    ids = encode_corpus(SENTENCE, tok)
    parts = [_text(0, 16, SENTENCE, "b")]
    x, y = 0.0, 30
    for i in ids:
        shown, kind = _shown(tok.tokens[i])
        width = 9 * max(len(shown), len(str(i))) + 12
        if x + width > WIDTH:
            x, y = 0, y + 56
        parts.append(_box(x, y, width, 26, kind))
        parts.append(_text(x + width / 2, y + 18, shown, "m c"))
        parts.append(_text(x + width / 2, y + 42, i, "s c"))
        x += width + 5
    y += 62
    size = len(SENTENCE.encode("utf-8"))
    counts = f"{len(SENTENCE)} characters, {size} bytes, {len(ids)} tokens"
    parts += [
        _box(0, y, 14, 14, "i"),
        _text(20, y + 12, "learned: bytes that were joined"),
        _box(0, y + 22, 14, 14),
        _text(20, y + 34, "one byte, as a character or in hex"),
        _text(0, y + 60, f"{counts}; ␣ is a space"),
    ]
    told = ", ".join(f"{_shown(tok.tokens[i])[0].replace('␣', '(space)')} {i}" for i in ids)
    return _svg(
        "tokens",
        y + 66,
        "What the tokenizer makes of a sentence",
        f"“{SENTENCE}” has {counts}. Each token with its id: {told}.",
        parts,
    )


def _shown(token: bytes) -> tuple[str, str]:
    """A token as one reads it, and its class: learned tokens are tinted."""
    try:
        text = token.decode("utf-8").replace(" ", "␣")
    except UnicodeDecodeError:
        text = token.hex().upper()
    return text, "i" if len(token) > 1 else ""


# ---- orders


def orders() -> str:
    """Ten windows in the order of the text, and in the orders of two epochs."""
    rows = [("in the text", epoch_batches(shuffled=False)[0])]
    rows += [(f"epoch {e}", batches) for e, batches in enumerate(epoch_batches())]
    parts, y = [], 26
    for name, batches in rows:
        parts.append(_text(0, y + 17, name))
        x = 84
        for number, batch in enumerate(batches):
            if y == 26:
                parts.append(_text(x - 1 + 14.5 * len(batch), 15, f"batch {number}", "s c"))
            shades = (
                _box(x + 29 * i, y, 27, 24, more=f' opacity="{(window + 1) / 10:g}"')
                for i, window in enumerate(batch)
            )
            parts.append(f'<g class="shades">{"".join(shades)}</g>')
            parts.append(_numbers(x, y, 29, batch))
            x += 29 * len(batch) + 12
        y += 34
    told = ". ".join(f"{name}: {'; '.join(map(_listed, batches))}" for name, batches in rows)
    return _svg(
        "orders",
        y - 6,
        "Two epochs' orders of ten windows",
        f"Ten windows in batches of 4, 4 and 2. {told}.",
        parts,
    )


def epoch_batches(shuffled: bool = True) -> list[list[list[int]]]:
    """Two epochs of ten windows in batches of 4, from one generator seeded 42: window numbers."""
    inputs, targets = make_windows(np.arange(11), seq_len=1)
    rng = np.random.default_rng(42)
    return [
        [xb[:, 0].tolist() for xb, _ in iterate_batches(inputs, targets, 4, rng, shuffled)]
        for _ in range(2)
    ]


# ---- strides


def strides() -> str:
    """Windows in an epoch of the default run's training ids at three strides."""
    run = default_run()
    n, seq_len = len(run.train_ids), run.config.seq_len
    rows = {f"k = T = {seq_len}": seq_len, f"k = T/2 = {seq_len // 2}": seq_len // 2, "k = 1": 1}
    counts = [count_windows(n, seq_len, stride) for stride in rows.values()]
    parts, told, y = [_text(0, 15, f"windows in an epoch: {n:,} ids, T = {seq_len}", "s")], [], 28
    for label, count in zip(rows, counts, strict=True):
        times = f"× {count / counts[0]:.2f}"
        length = 160 * count / max(counts)
        parts += [
            _text(0, y + 17, label),
            _box(100, y, length, 24, "i bar"),
            _text(108 + length, y + 17, f"{count:,} ({times})"),
        ]
        told.append(f"{label} gives {count:,} windows ({times})")
        y += 32
    return _svg(
        "strides",
        y - 6,
        "Windows in an epoch at three strides",
        f"From {n:,} training ids with T = {seq_len}: {'; '.join(told)}.",
        parts,
    )


def late(module: str, name: str) -> Callable[[], Any]:
    """Calls `name` of a module that is imported only then, because it loads torch."""
    return lambda: getattr(importlib.import_module(f"literate.{module}"), name)()


FIGURES: dict[str, Callable[[], str]] = {
    "road": road,
    "tokens": tokens,
    "cut": cut,
    "windows": windows,
    "strides": strides,
    "orders": orders,
    "context-loss": late("figures_evaluation", "context_loss"),
    "killed-run": late("figures_resume", "killed_run"),
    "workers": late("figures_loaders", "workers"),
    "token-file": late("figures_storage", "token_file"),
    "packed-rows": late("figures_packing", "packed_rows"),
    "context-places": late("figures_random", "context_places"),
    "one-side": late("figures_documents", "one_side"),
    "two-masks": late("figures_isolation", "two_masks"),
    "rounds": late("figures_bijection", "orders"),
    "shares": late("figures_devices", "shares"),
    "partition-cut": late("figures_prepare", "partition_cut"),
    "token-fates": late("figures_lineage", "token_fates"),
    "growth": late("figures_speed", "growth"),
}
