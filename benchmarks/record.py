"""Results kept as data: the figures, the machine, the versions, and a digest of the sources."""

import ast
import datetime
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import tokenize
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "pandas", "pyarrow", "tiktoken", "tokenizers", "torch")


def code_of(source: str) -> str:
    """The source without comments, docstrings and empty lines, which change no figure."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for n in range(node.lineno - 1, node.end_lineno):
                lines[n] = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def digest(sources: list[str]) -> str:
    """A digest of the code of these files, named from the root."""
    code = "\n".join(code_of((ROOT / s).read_text(encoding="utf-8")) for s in sorted(sources))
    return hashlib.sha256(code.encode()).hexdigest()


def machine() -> dict[str, Any]:
    """The processor, its cores, the memory, and the versions that matter."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = next(
            (x.split(": ")[1] for x in text.splitlines() if x.startswith("model name")), name
        )
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **versions,
    }


def keep(row: str, sources: list[str], figures: dict[str, Any]) -> None:
    """Write `results/<row>.json`."""
    RESULTS.mkdir(exist_ok=True)
    content = {
        "row": row,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "sources": sorted(sources),
        "digest": digest(sources),
        "figures": figures,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    (RESULTS / f"{row}.json").write_text(text, encoding="utf-8", newline="\n")


def kept(row: str) -> dict[str, Any]:
    """The figures of a row."""
    return json.loads((RESULTS / f"{row}.json").read_text(encoding="utf-8"))


# ---- lines of the table beside peers, as `benchmarks.measure.line` makes them


def kept_lines() -> list[dict[str, Any]]:
    """Every line of every row that is kept, with its `row`."""
    rows = [kept(path.stem) for path in sorted(RESULTS.glob("*.json"))]
    return [{**line, "row": r["row"]} for r in rows for line in r["figures"].get("lines", [])]


def fastest(line: dict[str, Any], among: str = "same") -> str | None:
    """The best of those that do the same work with the same guarantees, or `less`."""
    return min(line[among], key=line[among].get, default=None)


def ratio_of(line: dict[str, Any], among: str = "same") -> float | None:
    """How many times as good as it ours is.

    >>> ratio_of({"ours": 2.0, "same": {"a": 3.0, "b": 5.0}})
    1.5
    """
    name = fastest(line, among)
    return None if name is None else line[among][name] / line["ours"]


def shown(value: float, unit: str) -> str:
    """Three digits that count, in a unit that suits.

    >>> shown(0.00123, "s"), shown(2.5e9, "bytes"), shown(2.1, "bits")
    ('1.23 ms', '2.5 GB', '2.1 bits')
    """
    scales = {
        "s": [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        "bytes": [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes")],
    }.get(unit, [(1, unit)])
    scale, name = next(((s, n) for s, n in scales if value >= s), scales[-1])
    return f"{float(f'{value / scale:.3g}'):,g} {name}"
