"""`python -m benchmarks [ROW …] [--text FILE]`: measure rows, all unless named, and keep them."""

import time
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from benchmarks.measure import fresh
from benchmarks.record import RESULTS, fastest, keep, kept, kept_lines, ratio_of, shown
from benchmarks.rows import ROWS


def main(
    rows: Annotated[list[str], tyro.conf.Positional] = [],  # noqa: B006
    text: str | None = None,
    show: bool = False,
) -> None:
    """Measure rows and keep their results, then show all that are kept.

    Args:
        rows: The rows to measure; all of them if none is named.
        text: Path of tiny-shakespeare, which the row `shakespeare` needs and this project has not.
        show: Measure nothing.
    """
    if unknown := set(rows) - set(ROWS):
        raise SystemExit(f"no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    console = Console(highlight=False)
    for name in [] if show else rows or ROWS:
        row, begun = ROWS[name], time.perf_counter()
        threads = {} if row.threads is None else {"OMP_NUM_THREADS": str(row.threads)}
        figures = fresh(row.measure, *([text] if name == "shakespeare" else []), **threads)
        if figures is None:
            console.print(f"[yellow]{name} left out[/yellow]: it needs --text FILE")
        else:
            keep(name, row.sources, figures)
            console.print(f"{name} measured in {time.perf_counter() - begun:.0f} s")
    console.print(results_table())
    console.print(lines_table())


def results_table() -> Table:
    """Every figure that is kept."""
    table = Table(title="Results", title_justify="left")
    for heading in ("row", "figure", "value", "date"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for path in sorted(RESULTS.glob("*.json")):
        result = kept(path.stem)
        for figure, value in result["figures"].items():
            if figure == "lines":
                continue
            shown = f"{value:,.4g}" if isinstance(value, float) else str(value)
            table.add_row(result["row"], figure.replace("_", " "), shown, result["date"])
    return table


def lines_table() -> Table:
    """Ours beside the fastest that does the same work with the same guarantees."""
    table = Table(title="Beside peers", title_justify="left")
    for heading in ("what", "ours", "fastest", "ratio", "of the limit"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for line in kept_lines():
        peer, ratio = fastest(line), ratio_of(line)
        limit = f"{line['ours'] / line['limit']:,.3g}×" if line["limit"] else ""
        told = (peer or "", f"{ratio:.3g}×" if ratio else "", limit)
        table.add_row(line["what"], shown(line["ours"], line["unit"]), *told)
    return table


if __name__ == "__main__":
    tyro.cli(main, prog="python -m benchmarks")
