"""`python -m proof [NAME …]`: prove the tagged statements, or with `--modules` whole modules."""

import os
import sys
from typing import Annotated

import tyro
from rich.console import Console

from literate import ties
from proof import equations, modules
from proof.record import EQUATIONS, MODULES, keep, kept

console = Console(highlight=False, emoji=False)


def main(
    names: Annotated[list[str], tyro.conf.Positional] = [],  # noqa: B006
    modules: bool = False,
    workers: int = os.cpu_count() or 1,
    keep: bool = True,
) -> int:
    """Prove equations, or try whole modules, and keep what was found.

    Args:
        names: Equations, or modules with `--modules`; all of them if none is named.
        modules: Try every mutant of whole modules instead, with every fast test.
        workers: How many mutants are tried at once.
        keep: Write the results.
    """
    every = _modules if modules else _equations
    return every(names, workers, keep)


def _equations(names: list[str], workers: int, write: bool) -> int:
    index = ties.read()
    every = [name for name, e in index.equations.items() if e.kind == "equation"]
    _check(names, every)
    results = {name: found for name, found in kept(EQUATIONS).items() if name in every}
    wrong = 0
    for name, found in equations.prove(index, names or every, workers):
        results[name] = found
        if write:
            keep(EQUATIONS, results)
        told = f"{found['killed']} of {found['mutants']} killed, {found['hung']} of them hung"
        told += f", {len(found['equivalent'])} equivalent"
        console.print(f"{name}: {told}", markup=False)
        for what in ("idle", "survived", "not_equivalent"):
            wrong += len(found[what])
            for key in found[what]:
                console.print(f"    {what.replace('_', ' ')}  {key}", markup=False, soft_wrap=True)
    return int(wrong > 0)


def _modules(names: list[str], workers: int, write: bool) -> int:
    _check(names, modules.ROAD)
    results = kept(MODULES)
    for name, found in modules.measure(names or modules.ROAD, workers):
        results[name] = found
        console.print(f"{name}: {found['killed']} of {found['mutants']}", markup=False)
        for survivor in found["survived"]:
            console.print(f"    {survivor}", markup=False, soft_wrap=True)
        if write:
            keep(MODULES, results)
    return 0


def _check(names: list[str], every: list[str]) -> None:
    if unknown := sorted(set(names) - set(every)):
        print(f"there is no {', '.join(unknown)}; there are {', '.join(every)}", file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    raise SystemExit(tyro.cli(main, prog="python -m proof"))
