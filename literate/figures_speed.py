"""The tables of the page about speed, and how cost grows: from the results that are committed."""

import math
from itertools import groupby
from typing import Any

from benchmarks.record import RESULTS, fastest, kept, kept_lines, ratio_of, shown
from literate.figures import _line, _svg, _text

Table = tuple[list[str], list[list[str]]]

# The order of the road; a row that is not named comes last.
_ROAD = ["reading", "learning", "encoding", "windows", "batch", "batches", "order", "resume_cost"]
_ROAD += ["packing", "strided_evaluation", "training_speed", "shakespeare"]


def lines() -> list[dict[str, Any]]:
    """The lines of all rows in the order of the road."""
    place = {row: k for k, row in enumerate(_ROAD)}
    return sorted(kept_lines(), key=lambda line: place.get(line["row"], len(_ROAD)))


def times(number: float) -> str:
    """Two digits that count.

    >>> times(0.294), times(13.4), times(26_123_456.0)
    ('0.29×', '13×', '26,000,000×')
    """
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}×" if rounded >= 10 else f"{rounded:g}×"


def beside_peers() -> Table:
    """Every line: ours, the fastest that does the same, the ratio, and how far the limit is."""
    rows = []
    for line in lines():
        limit = f"<br>limit: {line['bound']}" if line["bound"] else ""
        peer, ratio = fastest(line), ratio_of(line)
        told = [f"{peer}: {shown(line['same'][peer], line['unit'])}"] if peer else ["none"]
        told.append((f"**{times(ratio)}**" if ratio >= 1 else times(ratio)) if ratio else "")
        told.append(times(line["ours"] / line["limit"]) if line["limit"] else "")
        rows.append([line["what"] + limit, shown(line["ours"], line["unit"]), *told])
    return ["What", "Ours", "Fastest peer", "Ratio", "Of the limit"], rows


def doing_less() -> Table:
    """Who does less of the work, or checks less."""
    rows = [
        [line["what"], shown(line["ours"], line["unit"]), name, shown(theirs, line["unit"])]
        for line in lines()
        for name, theirs in line["less"].items()
    ]
    return ["What", "Ours", "Who does less", "Theirs"], rows


def falling_short() -> Table:
    """The lines whose ratio is below one, and why; neighbours of one reason together.

    Where nobody gives the same guarantees, it is beside the fastest of those who give less.
    """
    short = []
    for line in lines():
        among = "same" if line["same"] else "less"
        ratio = float(f"{ratio_of(line, among) or 1:.2g}")  # as it is shown
        if ratio < 1:
            less = ", which does less" if among == "less" else ""
            told = f"{line['what']}<br>{times(ratio)} of {fastest(line, among)}{less}"
            short.append((line["why"], told))
    rows = []
    for why, group in groupby(short, key=lambda pair: pair[0]):
        told = [told for _, told in group]
        rows += [[told[0], why or "not known"], *([other, "the same"] for other in told[1:])]
    return ["What falls short", "Why"], rows or [["nothing", ""]]


def refusals() -> Table:
    """How many nasty files each reader gets right."""
    figures = kept("reading")["figures"]
    names = {"ours": "ours", "csv": "`csv`, strict", "pandas": "pandas", "pyarrow": "pyarrow"}
    names |= {"polars": "polars"}
    rows = [
        [shown_name, f"{figures[f'{name}_right']} of {figures['nasty']}", shown(figures[name], "s")]
        for name, shown_name in names.items()
        if f"{name}_right" in figures
    ]
    return ["Reader", "Nasty files right", f"{figures['megabytes']:.0f} MB in"], rows


def machines() -> Table:
    """What was measured where and when."""
    results = [kept(path.stem) for path in sorted(RESULTS.glob("*.json"))]
    told: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        m = result["machine"]
        versions = ", ".join(
            f"{name} {m[name]}" for name in ("python", "numpy", "pandas", "pyarrow", "torch")
        )
        where = f"{m['processor']}, {m['cores']} cores, {m['system']}"
        told.setdefault((result["date"], where, versions), []).append(f"`{result['row']}`")
    rows = [[", ".join(rows), date, f"{at}<br>{with_}"] for (date, at, with_), rows in told.items()]
    return ["Rows", "Date", "Machine, versions"], rows


def versions() -> Table:
    """The peers that took part; their versions as they told them."""
    found: dict[str, str] = {}
    for path in sorted(RESULTS.glob("*.json")):
        for name, value in kept(path.stem)["figures"].items():
            if name.endswith("_version"):
                found[name.removesuffix("_version")] = value
    return ["Peer", "Version"], [[name, value] for name, value in sorted(found.items())]


# ---- how cost grows


def growth_table() -> Table:
    """Each function and the size that grows, with its exponents."""
    headings = ["Function, size", "Sizes", "Longest", "Exponent", "Last tenfold", "Memory"]
    rows = []
    for curve in kept("growth")["figures"]["curves"]:
        sizes = f"{curve['sizes'][0]:,} … {curve['sizes'][-1]:,}"
        exponents = (curve[f"{kind}exponent"] for kind in ("", "last_", "bytes_"))
        told = [f"{number:.2f}".replace("-0.00", "0.00") for number in exponents]
        longest = shown(curve["seconds"][-1], "s")
        rows.append([f"`{curve['function']}`, {curve['letter']}", sizes, longest, *told])
    return headings, rows


def growth() -> str:
    """Time and memory over three decades, each as multiples of what the smallest size takes."""
    curves = kept("growth")["figures"]["curves"]
    parts, told, top = [], [], 0.0
    for what, key in (("processor time", "seconds"), ("memory", "bytes")):
        panel, height = _panel(curves, key, what, top)
        parts += panel
        top += height
        ends = (f"{_name(c)} {times(c[key][-1] / max(c[key][0], 1e-9))}" for c in curves)
        told.append(f"At a thousand times the size {what} is: {', '.join(ends)}")
    return _svg(
        "growth",
        top - 10,
        "How time and memory grow with size",
        f"Both axes are logarithms. {'. '.join(told)}.",
        parts,
    )


LEFT, RIGHT, PANEL = 44, 240, 250  # where the axes are, and how high a panel is
DECADES = 3
Point = tuple[int, int]


def _panel(
    curves: list[dict[str, Any]], key: str, what: str, top: float
) -> tuple[list[str], float]:
    """The curves of one kind from (1, 1), the line of what is linear, and a label for each."""
    most = max(DECADES, *(math.log10(c[key][-1] / max(c[key][0], 1e-9)) for c in curves)) + 0.2
    head, floor, low = top + 26, top + 26 + PANEL, -0.5

    def at(x: float, y: float) -> Point:
        across = LEFT + (RIGHT - LEFT) * math.log10(x) / DECADES
        up = (max(math.log10(max(y, 1e-9)), low) - low) / (most - low)
        return round(across), round(floor - PANEL * up)

    ticks = [10**k for k in range(DECADES + 1)]
    crossed = [[(LEFT, y), (RIGHT, y)] for y in (at(1, tick)[1] for tick in ticks)]
    crossed += [[(x, round(head)), (x, round(floor))] for x in (at(tick, 1)[0] for tick in ticks)]
    parts = [_text(0, top + 14, f"{what}, × that of the smallest size", "s")]
    for tick in ticks:
        x, y = at(tick, tick)
        parts += [
            _text(x, floor + 16, f"{tick:,}", "s c"),
            _text(LEFT - 8, y + 4, f"{tick:,}", "s e"),
        ]
    parts.append(_text(RIGHT + 24, floor + 16, "× the size", "s"))
    lines: dict[str, list[list[Point]]] = {"var(--i)": [], "var(--o)": []}
    ends = []
    for curve in curves:
        least, first = curve["sizes"][0], max(curve[key][0], 1e-9)
        pairs = zip(curve["sizes"], curve[key], strict=True)
        points = [at(size / least, cost / first) for size, cost in pairs]
        lines["var(--o)" if curve["letter"] in "BT" else "var(--i)"].append(points)
        ends.append((points[-1][1], _name(curve)))
    places = apart([y for y, _ in sorted(ends)], head, floor)
    named = list(zip(sorted(ends), places, strict=True))
    leads = [[(RIGHT, y), (RIGHT + 12, place)] for (y, _), place in named]
    parts += [_paths(crossed + leads, "stroke-opacity:.2"), _line(at(1, 1), at(1000, 1000), "cut")]
    parts += [_paths(points, f"stroke:{tone};stroke-opacity:.9") for tone, points in lines.items()]
    parts += [_text(RIGHT + 15, place + 4, name) for (_, name), place in named]
    return parts, PANEL + 26 + 34


def apart(heights: list[int], head: float, floor: float) -> list[int]:
    """Places for labels at these ascending heights, none nearer to the next than a line is high.

    >>> apart([10, 12, 60], 10, 100)
    [10, 27, 60]
    >>> apart([90, 95, 99], 10, 100)
    [66, 83, 100]
    """
    step = min(17, int((floor - head) / len(heights)))
    places = []
    for y in heights:
        places.append(max(y, places[-1] + step) if places else max(y, int(head)))
    bound = int(floor)
    for k in reversed(range(len(places))):
        places[k] = min(places[k], bound)
        bound = places[k] - step
    return places


def _paths(lines: list[list[Point]], style: str) -> str:
    drawn = "".join("M" + "L".join(f"{x} {y}" for x, y in points) for points in lines)
    return f'<path d="{drawn}" style="{style}"/>'


def _name(curve: dict[str, Any]) -> str:
    return f"{curve['function']}, {curve['letter']}"
