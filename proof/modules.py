"""Whole modules: every mutant against the fast tests that run its line."""

import ast
import datetime
import time
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from proof.inside import Watched
from proof.mutants import Mutant, mutants
from proof.record import ROOT, equivalents, module_digest
from proof.run import Job, fates, warm, watch

ROAD = [
    "windows",
    "data",
    "stream",
    "packing",
    "sides",
    "batches",
    "tokenizer",
    "corpus",
    "readers",
    "storage",
    "streamfiles",
    "loaders",
    "scoring",
    "lineage",
    "ledger",
    "checkpoint",
    "files",
    "plan",
]


_SITE = {"literate", "proof", "claims", "playwright", "benchmarks", "against"}
_OTHERS = 20.0  # seconds of tests of other files that a mutant must live through


def measure(names: list[str], workers: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each module with its number of mutants, those killed, and those that lived."""
    tests = sorted({test for name in names for test in _tests(name)})
    warm(tests, ROOT)
    watched = watch(tests, [f"{name}.py" for name in names], ROOT, seconds=3600)
    for name in names:
        yield name, _measured(name, watched, workers)


def _tests(name: str) -> list[str]:
    """Its doctests, its tests, and those that import it, those of the site left out."""
    found = [f"{name}.py"]
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        imported = _imports(path.read_text(encoding="utf-8"))
        own = path.stem == f"test_{name}"
        if own or (name in imported and not imported & _SITE):
            found.append(path.relative_to(ROOT).as_posix())
    return found


def _imports(source: str) -> set[str]:
    named = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add((node.module or "").split(".")[0])
    return named


def _measured(name: str, watched: Watched, workers: int) -> dict[str, Any]:
    begun, path, listed = time.monotonic(), f"{name}.py", equivalents()
    every = list(mutants(path, (ROOT / path).read_text(encoding="utf-8")))
    hopeful = [mutant for mutant in every if mutant.key not in listed]
    hung, lived = 0, hopeful
    for own in (True, False):  # its own tests first: their files are few
        jobs = [Job(mutant, _tests_of(mutant, watched, own)) for mutant in lived]
        lived = [job.mutant for job in jobs if not job.tests]
        for job, fate in fates([job for job in jobs if job.tests], ROOT, workers):
            hung += fate == "hung"
            lived += [] if fate else [job.mutant]
    return {
        "date": datetime.date.today().isoformat(),
        "digest": module_digest(path),
        "seconds": round(time.monotonic() - begun),
        "mutants": len(every),
        "killed": len(hopeful) - len(lived),
        "listed": len(every) - len(hopeful),
        "hung": hung,
        "equivalent": sorted({m.key for m in every} & set(listed)),
        "survived": [f"{m.line} {m.key}" for m in sorted(lived, key=lambda m: m.place)],
    }


def _tests_of(mutant: Mutant, watched: Watched, own: bool) -> dict[str, float]:
    """The tests that run its statement, quickest first; a constant may matter to all of a file."""
    ran = [watched.ran.get((mutant.path, n), set()) for n in range(mutant.line, mutant.last + 1)]
    tests = set().union(*ran)
    if not tests:
        tests = set().union(*(t for (path, _), t in watched.ran.items() if path == mutant.path))
    places = (f"tests/test_{mutant.path}", mutant.path)
    seconds = {test: watched.seconds[test] for test in tests if test.startswith(places) == own}
    quickest = sorted(seconds.items(), key=lambda item: (item[1], item[0]))
    sums = accumulate(took for _, took in quickest)
    return dict(item for item, total in zip(quickest, sums, strict=True) if own or total < _OTHERS)
