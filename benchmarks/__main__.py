"""`python -m benchmarks [ROW …] [--text FILE]`: measure rows, all unless named, and keep them."""

from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from benchmarks.record import RESULTS, keep, kept
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
        sources, measure = ROWS[name]
        figures = measure(text) if name == "shakespeare" else measure()
        if figures is None:
            console.print(f"[yellow]{name} left out[/yellow]: it needs --text FILE")
        else:
            keep(name, sources, figures)
            console.print(f"{name} measured")
    console.print(results_table())


def results_table() -> Table:
    """Every figure that is kept."""
    table = Table(title="Results", title_justify="left")
    for heading in ("row", "figure", "value", "date"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for path in sorted(RESULTS.glob("*.json")):
        result = kept(path.stem)
        for figure, value in result["figures"].items():
            shown = f"{value:,.4g}" if isinstance(value, float) else str(value)
            table.add_row(result["row"], figure.replace("_", " "), shown, result["date"])
    return table


if __name__ == "__main__":
    tyro.cli(main, prog="python -m benchmarks")
