"""The tables of the page about proof: from the results that are committed, and the ties as is."""

from collections.abc import Callable
from typing import Any

from literate import ties
from literate.ties import Tie, source_page
from proof.record import EQUATIONS, MODULES, equivalents, kept, module_digest

Table = tuple[list[str], list[list[str]]]


def equations() -> Table:
    """Every equation: its lines, how many tests, the mutants killed, whether it is read back."""
    index, results = ties.read(), kept(EQUATIONS)
    rows = []
    for name, equation in index.equations.items():
        if found := results.get(name):
            lines = ", ".join(_line(tie) for tie in index.computes(name))
            lived = len(found["equivalent"])
            killed = f"{found['killed']} of {found['mutants']}"
            rows.append(
                [
                    f"[{equation.title}]({equation.page}#eq-{name})<br>{lines}",
                    str(len(found["tests"])),
                    killed + (f"<br>{lived} equivalent" if lived else ""),
                    "yes" if found["read_back"] else "no",
                ]
            )
    return ["Equation, and its lines", "Tests", "Killed", "Read back"], rows


def modules() -> Table:
    """Every module that was tried as a whole: its mutants, and how many of them died."""
    rows = []
    for name, found in kept(MODULES).items():
        same = found["digest"] == module_digest(f"{name}.py")
        when = found["date"] if same else f"{found['date']}, changed since"
        numbers = [found["mutants"], found["listed"], found["killed"], len(found["survived"])]
        score = f"{100 * found['killed'] / (found['mutants'] - found['listed']):.1f} %"
        page = f"[`{name}.py`]({source_page(f'{name}.py')})"
        rows.append([f"{page}<br>{when}", *map("{:,}".format, numbers), score])
    return ["Module", "Mutants", "Equivalent", "Killed", "Alive", "Score"], rows


def alive() -> Table:
    """Every mutant of a module that no test kills and that is not known to be equivalent."""
    rows = [
        ["<br>".join(_split(survivor.partition(" ")[2]))]
        for found in kept(MODULES).values()
        for survivor in found["survived"]
    ]
    return ["Where, and what the mutant makes of it"], rows


def not_to_be_told() -> Table:
    """Every mutant that is listed as equivalent, and why."""
    rows = []
    for key, reason in equivalents().items():
        where, code = _split(key)
        rows.append([f"{where}: {reason}<br>{code}"])
    return ["Where, why nothing changes, and what the mutant makes of it"], rows


def _split(key: str) -> tuple[str, str]:
    symbol, _, code = key.partition(": ")
    return f"`{symbol}`", f"`` {code} ``"


def _line(tie: Tie) -> str:
    return f"[{tie.path}:{tie.line}]({source_page(tie.path)}#L{tie.line})"


def _sum(of: str, what: Callable[[dict[str, Any]], int]) -> Callable[[], str]:
    path = {"equations": EQUATIONS, "modules": MODULES}[of]
    return lambda: f"{sum(what(found) for found in kept(path).values()):,}"


VALUES = {
    "proof.equations": _sum("equations", lambda found: 1),
    "proof.mutants": _sum("equations", lambda found: found["mutants"]),
    "proof.killed": _sum("equations", lambda found: found["killed"]),
    "proof.hung": _sum("equations", lambda found: found["hung"]),
    "proof.equivalent": _sum("equations", lambda found: len(found["equivalent"])),
    "proof.read_back": _sum("equations", lambda found: found["read_back"]),
    "proof.modules": _sum("modules", lambda found: 1),
    "proof.module_mutants": _sum("modules", lambda found: found["mutants"]),
    "proof.module_alive": _sum("modules", lambda found: len(found["survived"])),
}
