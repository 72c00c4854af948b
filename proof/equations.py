"""The proof of tagged statements: run, killed, read back."""

import datetime
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from literate.ties import Index
from proof.mutants import Mutant, mutants
from proof.record import ROOT, equation_digest, equivalents, marked
from proof.run import Job, apart, fates, warm, watch


def prove(index: Index, names: list[str], workers: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each equation with what was found of it.

    `idle` are statements that no test marked for it runs, `survived` the mutants that its tests
    let live and that are not listed as equivalent.
    """
    tests = {name: marked(index, name) for name in names}
    every = list(dict.fromkeys(test for some in tests.values() for test in some))
    paths = sorted({tie.path for name in names for tie in index.computes(name)})
    warm(sorted({test.partition("::")[0] for test in every}), ROOT)
    watched = watch(every, paths, ROOT)
    listed = equivalents()
    for name in names:
        functions = _quickest(tests[name], watched.seconds)
        jobs = [Job(mutant, functions) for mutant in _of(index, name)]
        became = [(job.mutant.key, fate) for job, fate in fates(jobs, ROOT, workers)]
        lived = {key for key, fate in became if not fate}
        found = {
            "date": datetime.date.today().isoformat(),
            "digest": equation_digest(index, name),
            "tests": tests[name],
            "statements": [f"{tie.symbol}: {tie.code}" for tie in index.computes(name)],
            "idle": _idle(index, name, tests[name], watched.ran),
            "mutants": len(became),
            "killed": sum(bool(fate) for _, fate in became),
            "hung": sum(fate == "hung" for _, fate in became),
            "equivalent": sorted(lived & set(listed)),
            "survived": sorted(lived - set(listed)),
            "not_equivalent": sorted({key for key, fate in became if fate} & set(listed)),
            "read_back": apart(ROOT, _read_back, name, index.equations[name].latex),
        }
        yield name, found


def _of(index: Index, name: str) -> Iterable[Mutant]:
    for tie in index.computes(name):
        source = index.file(tie.path).text
        yield from mutants(tie.path, source, (tie.line, tie.last), every_name=True)


def _quickest(functions: list[str], seconds: dict[str, float]) -> dict[str, float]:
    total = dict.fromkeys(functions, 0.0)
    for test, took in seconds.items():
        if (function := test.partition("[")[0]) in total:
            total[function] += took
    return dict(sorted(total.items(), key=lambda item: item[1]))


def _idle(
    index: Index, name: str, tests: list[str], ran: dict[tuple[str, int], set[str]]
) -> list[str]:
    """The statements that none of the tests runs."""
    found = []
    for tie in index.computes(name):
        lines = range(tie.line, tie.last + 1)
        runners = set().union(*(ran.get((tie.path, line), set()) for line in lines))
        if not {test.partition("[")[0] for test in runners} & set(tests):
            found.append(f"{tie.symbol}: {tie.code}")
    return found


def _read_back(root: Path, name: str, latex: str) -> bool:
    """Whether the printed formula is compared with the code; it is, here."""
    from literate import readback  # which loads torch

    if name in readback.FORMULAS:
        readback.compare(name, latex)
    return name in readback.FORMULAS
