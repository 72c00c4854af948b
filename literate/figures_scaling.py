"""The tables of the page past these machines: from the simulation whose results are committed."""

from typing import Any

from benchmarks.record import kept, shown
from literate.figures_speed import times

Table = tuple[list[str], list[list[str]]]

SIZES = {"ten_billion": "10 billion tokens", "ten_trillion": "10 trillion tokens"}
ORDERS = {"global": "all windows", "runs": "runs"}
GETS = 5_500  # requests a second for one prefix, as Amazon states for S3


def figures() -> dict[str, Any]:
    """What was simulated and measured."""
    return kept("scaling")["figures"]


def sizes() -> Table:
    """What is given for each size, and what follows."""
    f = figures()
    whole = {"tokens": "tokens", "batch_windows": "windows in a global batch", "ranks": "ranks"}
    whole |= {"tokens_per_second": "tokens a second, all ranks", "windows": "windows $W$"}
    whole |= {"shards": "shards", "steps": "steps in an epoch"}
    rows = [[told, *(f"{f[f'{size}_{key}']:,}" for size in SIZES)] for key, told in whole.items()]
    rows.append(["days an epoch takes", *(f"{f[f'{size}_days']:.1f}" for size in SIZES)])
    rows.append(
        ["order as a list, each rank", *(shown(f[f"{s}_list_bytes"], "bytes") for s in SIZES)]
    )
    rows.append(
        ["drawing that list", *(shown(f[f"{s}_windows"] * _list_seconds(), "s") for s in SIZES)]
    )
    return ["What", *SIZES.values()], rows


def _list_seconds() -> float:
    """Seconds a window of `rng.choice` at the largest size that was measured."""
    measured = kept("order")["figures"]
    count = max(int(name.split("_")[0]) for name in measured if name.endswith("_choice_seconds"))
    return measured[f"{count}_choice_seconds"] / count


def orders() -> Table:
    """What an order asks of the shards, by one bijection and by runs."""
    f = figures()
    forms = {
        "shards_a_batch": ("shards a global batch touches", lambda v: f"{v:,.0f}"),
        "alone": ("its windows that are alone of their run", lambda v: f"{v:.0%}"),
        "rank_shards": ("shards a rank touches", lambda v: f"{v:,}"),
        "rank_reads": ("reads of a rank", lambda v: f"{v:,}"),
        "bytes_a_token": ("bytes read for each token", lambda v: f"{v:.2f}"),
        "reads_per_second": (
            "reads a second, all ranks",
            lambda v: f"{v:,.2g}" if v < 10 else f"{v:,.0f}",
        ),
        "bytes_per_second": ("read a second, all ranks", lambda v: shown(v, "bytes")),
        "rank_buffer_bytes": ("kept in memory by a rank", lambda v: shown(v, "bytes")),
        "resume_seconds": ("the first batch after a stop", lambda v: shown(v, "s")),
    }
    ways = [(size, order) for size in SIZES for order in ORDERS]
    rows = [
        [told, *(form(f[f"{size}_{order}_{key}"]) for size, order in ways)]
        for key, (told, form) in forms.items()
    ]
    short = {"ten_billion": "10 billion", "ten_trillion": "10 trillion"}
    return ["What", *(f"{short[size]}, {ORDERS[order]}" for size, order in ways)], rows


def reads() -> Table:
    """How many disks or prefixes the reads of the larger job keep busy."""
    f = figures()
    asked = {order: f[f"ten_trillion_{order}_reads_per_second"] for order in ORDERS}
    rows = [["asked for", *(f"{asked[order]:,.0f} a second" for order in ORDERS)]]
    if "disk_reads_per_second" in f:
        given = {"global": f["disk_reads_per_second"], "runs": f["disk_run_reads_per_second"]}
        rows.append(["this disk gives", *(f"{given[order]:,.0f}" for order in ORDERS)])
        rows.append(["of such disks", *(_two(asked[o] / given[o]) for o in ORDERS)])
    rows.append(["one prefix of an object store gives", f"{GETS:,}", f"{GETS:,}"])
    rows.append(["of such prefixes", *(_two(asked[o] / GETS) for o in ORDERS)])
    return ["What", "Windows, 2 pages each", f"Runs, {shown(f['run_bytes'], 'bytes')} each"], rows


def once() -> Table:
    """What is done once for each token or document, by one core of this machine."""
    f = figures()
    encoding = kept("encoding")
    size = max(int(k.split("_")[0]) for k in encoding["figures"] if k.endswith("_ids"))
    e, cores = encoding["figures"], encoding["machine"]["cores"]
    ids_a_byte = e[f"{size}_ids"] / (size * 1e6)
    core_seconds = e[f"{size}_ours_seconds"] * cores / e[f"{size}_ids"]
    rows = []
    for name, form in (
        ("documents like ours", lambda n, d: _two(d)),
        ("encoding, core hours", lambda n, d: _two(n * core_seconds / 3600)),
        ("hashing documents, core hours", lambda n, d: _two(d / f["hashes_per_second"] / 3600)),
        ("ids on disk", lambda n, d: shown(2.0 * n, "bytes")),
        ("spans on disk", lambda n, d: shown(d * f["span_bytes_a_document"], "bytes")),
        (
            "spans of one shard",
            lambda n, d: shown(
                d * f["span_bytes_a_document"] / (-(-n * 2 // f["shard_bytes"])), "bytes"
            ),
        ),
    ):
        told = []
        for key in SIZES:
            n = f[f"{key}_tokens"]
            told.append(form(n, n / ids_a_byte / f["text_bytes_a_document"]))
        rows.append([name, *told])
    return ["Once for the corpus", *SIZES.values()], rows


def _two(number: float) -> str:
    """Two digits that count, written out: `0.42`, `13,000`."""
    return times(number).removesuffix("×")
