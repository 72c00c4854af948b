"""The floor plan: an import goes down, never sideways, and no module hides another."""

import ast
import importlib.metadata
import sys

import pytest
from conftest import ROOT

FLOORS = [
    [
        "config",
        "commands",
        "files",
        "addresses",
        "attention",
        "sides",
        "bijection",
        "ranks",
        "workers",
    ],
    ["lines", "idfiles"],
    ["readers"],
    ["corpus", "partitions", "tokenizer", "windows", "model", "checkpoint"],
    ["data", "stream", "intake", "optim"],
    ["plan", "streamfiles", "batches", "packing", "export", "lineage", "ledger"],
    ["storage", "shards", "prepared", "scoring", "loaders"],
    ["training", "report", "runs", "show", "checks", "preparation"],
    ["loop", "feed", "packing_checks"],
    ["train", "prepare", "lab"],
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
NO_TORCH = {
    "commands",
    "bijection",
    "config",
    "files",
    "idfiles",
    "addresses",
    "lines",
    "readers",
    "sides",
    "corpus",
    "tokenizer",
    "windows",
    "data",
    "stream",
    "streamfiles",
    "partitions",
    "shards",
    "prepared",
    "preparation",
    "intake",
    "workers",
    "prepare",
    "plan",
    "packing",
    "export",
    "lineage",
    "ledger",
}


def imports(name: str) -> set[str]:
    tree = ast.parse((ROOT / f"{name}.py").read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    return found


def test_every_module_has_a_floor():
    assert {path.stem for path in ROOT.glob("*.py")} == set(FLOOR)


@pytest.mark.parametrize("name", FLOOR)
def test_imports_go_down_only(name):
    ours = imports(name) & set(FLOOR)
    assert {other for other in ours if FLOOR[other] >= FLOOR[name]} == set()


@pytest.mark.parametrize("name", sorted(NO_TORCH))
def test_the_lower_floors_load_no_torch(name):
    assert "torch" not in imports(name)
    assert imports(name) & set(FLOOR) <= NO_TORCH


def test_only_what_sets_up_a_run_reads_a_config():
    assert [name for name in FLOOR if "config" in imports(name)] == ["feed", "train"]


def test_no_module_is_named_like_the_standard_library_or_a_package():
    packages = set(importlib.metadata.packages_distributions())
    assert set(FLOOR) & (set(sys.stdlib_module_names) | packages) == set()


def test_every_module_has_its_tests():
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}
    assert set(FLOOR) <= names
