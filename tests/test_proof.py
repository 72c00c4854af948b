"""Mutants are seen to die and to live, and the committed proof speaks of the code as it is."""

import dataclasses
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from literate import readback, ties
from proof import record
from proof.__main__ import main
from proof.modules import ROAD
from proof.mutants import mutants
from proof.run import Job, fates, watch

TOY = '''"""A toy."""

import functools
from dataclasses import dataclass

LIMIT = 3


@functools.cache
def half(n, keep=True):
    """Not 2 nor "two"."""
    if n > LIMIT:
        raise ValueError(f"{n} is more than {LIMIT}")
    return n // 2 + 0 * n


@dataclass
class Pair:
    a: int
    b: int = 5

    @property
    def sum(self):
        def both():
            return self.a + self.b

        return both()


def countdown(n):
    while n > 0:
        n -= 1
    return n
'''
TESTS = """from toy import LIMIT, Pair, countdown, half
import pytest


def test_half():
    assert half(3) == 1
    assert LIMIT == 3
    with pytest.raises(ValueError, match="4 is more than 3"):
        half(4)


def test_sum():
    assert Pair(1).sum == 6


def test_countdown():
    assert countdown(2) == 0
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    (root / "toy.py").write_text(TOY, encoding="utf-8")
    (root / "test_toy.py").write_text(TESTS, encoding="utf-8")
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\nmarkers = ["slow: long"]\n',
        encoding="utf-8",
    )
    return root


def after(source, **options):
    return [mutant.after for mutant in mutants("m.py", source, **options)]


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("x = a < 5", ["x = a <= 5", "x = a >= 5", "x = a < 6", "x = a < 4"]),
        ("x = a - b", ["x = a + b", "x = b - a"]),
        ("x = a + b * c", ["x = a - b * c", "x = a + (b + c)"]),
        ("x = a and not b", ["x = a or not b", "x = not b", "x = a", "x = a and b"]),
        ("x = math.floor(a)", ["x = math.ceil(a)"]),
        ("x = int(a)", ["x = a"]),
        ("x = a[1:]", ["x = a[:]", "x = a[1:-1]", "x = a[2:]", "x = a[0:]"]),
        ("f(a, b, k=True)", ["pass", "f(a, b)", "f(b, a, k=True)", "f(a, b, k=False)"]),
        ("x = max(a, b)", ["x = min(a, b)"]),
        ("x = a if b else c", ["x = c if b else a", "x = a if not b else c"]),
        ("x = 'start'", ["x = 'startx'"]),
        ("raise ValueError(f'{a + b} of them')", ["pass", "raise ValueError(f'{a - b} of them')"]),
        ("log.info('read %d', a + b)", ["pass", "log.info('read %d', a - b)"]),
        ("x: int = 1", ["x: int = 2", "x: int = 0"]),
        ("@cache\ndef f(a=1): pass", ["def f(a=2):", "def f(a=0):"]),
        ("'''Only told.'''", []),
    ],
)
def test_the_mutants_of_a_statement_are_these(source, made):
    assert after(source) == made


def test_a_name_is_swapped_with_those_that_are_known_there():
    source = "def f(self, a, b):\n    c = a\n    return b"
    assert after(source) == ["c = b", "return None", "return c"]
    assert after(source, every_name=True) == ["c = b", "return None", "return c", "return a"]
    assert after(source, lines=(2, 2)) == ["c = b"]


def test_each_mutant_is_one_change_that_compiles(toy):
    made = list(mutants("toy.py", TOY))
    assert len({mutant.place for mutant in made}) == len(made) > 25
    assert all(mutant.after != mutant.before for mutant in made)


def fate(toy, change, *tests):
    """What becomes of the mutant with that statement under these tests, or all."""
    (mutant,) = (one for one in mutants("toy.py", TOY) if one.after == change)
    names = [f"test_toy.py::test_{test}" for test in tests] or ["test_toy.py"]
    ((_, found),) = fates([Job(mutant, dict.fromkeys(names, 0.0))], toy)
    return found.removeprefix("test_toy.py::test_")


@pytest.mark.parametrize(
    ("change", "killer"),
    [
        ("return n // 3 + 0 * n", ""),  # 3 // 3 is 1 too: this test is too weak
        ("return n / 2 + 0 * n", "half"),  # in a function that a decorator holds
        ("LIMIT = 4", "half"),  # a constant that the test imports by name
        ("b: int = 6", "sum"),  # the default of a dataclass
        ("return self.a - self.b", "sum"),  # in a function in a property
        ("def half(n, keep=False):", ""),  # nothing reads it
        ("return n // 2 - 0 * n", ""),  # nothing changes
        ("raise ValueError(f'{n} is more than {LIMIT}')", None),
        ("pass", "half"),
    ],
)
def test_a_mutant_dies_where_a_test_sees_it_and_lives_where_none_does(toy, change, killer):
    if killer is None:
        assert change not in [one.after for one in mutants("toy.py", TOY)]
    else:
        assert fate(toy, change) == killer


def test_only_the_tests_that_are_asked_for_may_kill(toy):
    assert fate(toy, "b: int = 6", "half", "countdown") == ""
    assert fate(toy, "b: int = 6", "half", "sum") == "sum"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the timer of a Unix")
def test_a_mutant_that_hangs_is_ended_and_says_so(toy):
    """Five seconds of processor are what a test gets that takes no time."""
    assert fate(toy, "n += 1") == "hung"


def test_lines_are_run_by_the_tests_that_run_them(toy):
    """Line 14 is the `return` of `half`, line 24 that of `both`; line 6 runs when imported."""
    watched = watch(["test_toy.py"], ["toy.py"], toy)
    assert watched.ran["toy.py", 14] == {"test_toy.py::test_half"}
    assert watched.ran["toy.py", 25] == {"test_toy.py::test_sum"}
    assert watched.ran["toy.py", 6] == set()
    assert set(watched.seconds) == {f"test_toy.py::test_{n}" for n in ("half", "sum", "countdown")}


def test_tests_that_fail_without_a_mutant_prove_nothing(toy):
    (toy / "test_wrong.py").write_text("def test_it():\n    assert 0\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"must pass before .*: test_wrong.py::test_it"):
        watch(["test_wrong.py"], ["toy.py"], toy)


def test_a_test_that_is_not_there_is_no_test_that_passes(toy):
    with pytest.raises(ValueError, match=r"none of these tests was found: test_toy.py::test_"):
        fate(toy, "LIMIT = 4", "thirds")


# ---- the committed results


def test_every_equation_is_proved_as_it_is():
    """When this fails: `make proof ARGS=NAME`, look at what it says, commit the results."""
    index, results = ties.read(), record.kept(record.EQUATIONS)
    names = [name for name, equation in index.equations.items() if equation.kind == "equation"]
    assert sorted(results) == sorted(names)
    stale = [n for n in names if results[n]["digest"] != record.equation_digest(index, n)]
    assert stale == [], f"run `make proof ARGS='{' '.join(stale)}'`"


@pytest.mark.parametrize("name", record.kept(record.EQUATIONS))
def test_nothing_is_left_of_a_proof(name):
    found = record.kept(record.EQUATIONS)[name]
    assert found["mutants"] == found["killed"] + len(found["equivalent"]) > 0
    assert found["idle"] == found["survived"] == found["not_equivalent"] == []
    assert found["read_back"] == (name in readback.FORMULAS)
    assert found["tests"]


def test_an_equivalent_mutant_is_a_mutant_and_has_a_reason():
    listed = record.equivalents()
    modules = {re.split("[.:]", key)[0] for key in listed}
    made = set()
    for module in modules:
        source = (ROOT / f"{module}.py").read_text(encoding="utf-8")
        made |= {mutant.key for mutant in mutants(f"{module}.py", source, every_name=True)}
    assert sorted(set(listed) - made) == []
    assert all(reason.strip() for reason in listed.values())
    lines = record.EQUIVALENT.read_text(encoding="utf-8").splitlines()[1:]
    assert lines == sorted(lines)


def test_of_every_module_that_was_tried_the_numbers_add_up():
    results = record.kept(record.MODULES)
    assert set(results) <= set(ROAD)
    for found in results.values():
        lived = len(found["survived"]) + found["listed"]
        assert found["mutants"] == found["killed"] + lived


def test_the_digest_of_an_equation_moves_with_its_function_and_its_tests_only():
    index = ties.read()
    before = {name: record.equation_digest(index, name) for name in ("cut", "shift")}
    assert before["cut"] != before["shift"]
    for path, old, new in [
        ("data.py", "at least 0 and below 1", "0 or more"),
        ("tests/test_data.py", "ten_thousandths", "parts"),
    ]:
        file = index.files[path]
        assert old in file.text
        files = index.files | {path: type(file)(path, file.text.replace(old, new))}
        changed = dataclasses.replace(index, files=files)
        assert record.equation_digest(changed, "cut") != before["cut"]
        assert record.equation_digest(changed, "shift") == before["shift"]


@pytest.mark.parametrize(("name", "modules"), [("cute", False), ("window", True)])
def test_a_name_that_is_unknown_is_refused_in_one_line(name, modules, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main([name], modules=modules)
    assert capsys.readouterr().err.startswith(f"there is no {name}; there are ")


@pytest.mark.slow
def test_every_tagged_statement_is_proved_anew():
    command = [sys.executable, "-m", "proof", "--no-keep"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
