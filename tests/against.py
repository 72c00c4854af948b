"""`pytest --against my_data.py`: the tests of this project, on functions that somebody else wrote.

The file is ordinary Python, and it is run. A test marked `contract("make_windows")` gets that one
function of the file in the place of ours, in its own names alone: everything else stays ours, so
every function is graded by itself. `--quality` adds the tests marked `quality`.
"""

import functools
import importlib
import inspect
import linecache
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tasks import OWNERS, frames, load, module_name, wanted

TESTS = Path(__file__).parent
KINDS = ("contract", "quality")
UNWRITTEN = "not written yet"


# ---- the file


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("grading")
    told = "run the tests on the functions of FILE, which is run; FILE::NAME takes only that one"
    group.addoption("--against", metavar="FILE", help=told)
    group.addoption("--quality", action="store_true", help="grade no copies, exactness, …, too")


def pytest_configure(config: pytest.Config) -> None:
    """Load the file, if there is one to grade."""
    given = config.getoption("against")
    if given is None:
        if config.getoption("quality"):
            raise pytest.UsageError("--quality goes with --against FILE")
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in conftest.py, which may come later
    name, _, only = given.partition("::")
    path = Path(config.invocation_params.dir, name).resolve()
    attempt = load(path, name)
    tasks = wanted([task for task in OWNERS if task in attempt], only, name)
    if config.args_source != config.ArgsSource.ARGS:
        config.args = [str(TESTS)]
    config.addinivalue_line("filterwarnings", f"default:::{module_name(path)}")
    kinds = KINDS if config.getoption("quality") else KINDS[:1]
    config.pluginmanager.register(Grader(given, path, attempt, tasks, kinds), "grader")


# ---- the run


class Grader:
    """The hooks of a run that grades: which tests, with what in them, and what is told."""

    def __init__(
        self, given: str, path: Path, attempt: dict[str, Any], tasks: list[str], kinds: tuple
    ) -> None:
        self.given, self.path, self.kinds = given, path, kinds
        self.attempt = {name: self.watched(attempt[name]) for name in tasks if name in attempt}
        self.ends: dict[str, list[tuple[str, str]]] = {task: [] for task in tasks}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out files in which no test is marked for a function of the file."""
        if collection_path.suffix != ".py":
            return None
        text = collection_path.read_text(encoding="utf-8")
        marked = collection_path.parent == TESTS and any(f"mark.{k}(" in text for k in self.kinds)
        return not (marked and any(f'"{name}"' in text for name in self.attempt)) or None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test that is marked for several functions is run once for each, on that one alone."""
        if names := self.graded(metafunc.definition):
            metafunc.fixturenames.append("graded")
            metafunc.parametrize("graded", names)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what grades, and note of each test what it is about.

        Of a test that takes the functions themselves one by one, that is the case with its own.
        """
        items[:] = [item for item in items if "graded" in params(item)]
        one_by_one = {about(item) for item in items if has_it(item)}
        items[:] = [item for item in items if has_it(item) or about(item) not in one_by_one]
        items.sort(key=lambda item: item.path.name.startswith("test_laws"))  # hand figures first
        for item in items:
            item.user_properties.append(("function", params(item)["graded"]))

    def graded(self, node: pytest.Item) -> list[str]:
        """The functions of the file that a test is marked for."""
        marked = {name for kind in self.kinds for m in node.iter_markers(kind) for name in m.args}
        return [name for name in self.attempt if name in marked]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test with one function of the file among the names that it knows."""
        name = params(item)["graded"]
        owner = importlib.import_module(OWNERS[name])
        twin, own = ModuleType(owner.__name__), self.attempt[name]
        vars(twin).update(vars(owner) | {name: own})
        theirs = {id(getattr(owner, name)): own, id(owner): twin}
        with pytest.MonkeyPatch.context() as patch:
            for space in (vars(item.module), params(item)):
                for key, value in [*space.items()]:
                    if id(value) in theirs:
                        patch.setitem(space, key, theirs[id(value)])
            if "quality" not in self.kinds:
                patch.setattr(pytest, "raises", by_type)
            return (yield)

    def watched(self, thing: Any) -> Any:
        """The same, but that it skips a test where it is not written: no law looks for more."""
        if inspect.isclass(thing):
            for key, method in [*vars(thing).items()]:
                if inspect.isfunction(method):
                    setattr(thing, key, self.watched(method))
        if not inspect.isfunction(thing):
            return thing

        @functools.wraps(thing)
        def call(*args: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            try:
                return thing(*args, **named)
            except NotImplementedError as error:
                if self.is_unwritten(error):
                    pytest.skip(UNWRITTEN)
                raise

        return call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        """A test that ends there in a class, or after a `yield`, has nothing to grade either."""
        report = yield
        if call.excinfo and self.is_unwritten(call.excinfo.value):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1], UNWRITTEN)
        return report

    def is_unwritten(self, error: BaseException) -> bool:
        """Whether the file itself raised it, and no library that it called."""
        if isinstance(error, BaseExceptionGroup):
            return all(map(self.is_unwritten, error.exceptions))
        file, line = frames(error)[-1]
        return (
            isinstance(error, NotImplementedError)
            and file == str(self.path)
            and "raise " in linecache.getline(file, line)
        )

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count them apart from what is skipped."""
        return (UNWRITTEN, "n", UNWRITTEN.upper()) if unwritten(report) else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test ended."""
        name = dict(report.user_properties).get("function")
        if name in self.ends and (report.when == "call" or not report.passed):
            sentence = report.nodeid.partition("::test_")[2].partition("[")[0].replace("_", " ")
            self.ends[name].append((UNWRITTEN if unwritten(report) else report.outcome, sentence))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """What is not written does not pass."""
        if session.exitstatus in (0, 5) and UNWRITTEN in map(self.state, self.ends):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """The last word: how far the file is."""
        yield
        states = {name: self.state(name) for name in self.ends}
        terminalreporter.section(self.given)
        for name, state in states.items():
            colour = {"written": "green", UNWRITTEN: "yellow"}.get(state, "red")
            terminalreporter.write(f"{name:<{max(map(len, states))}}  ")
            terminalreporter.write_line(state, **{colour: True})
        left = [name for name, state in states.items() if state != "written"]
        told = f"{len(states) - len(left)} of {len(states)} done"
        terminalreporter.write_line(f"{told}, next: {left[0]}" if left else told)

    def state(self, name: str) -> str:
        """Written, wrong (with the sentence of its first test), not written yet, or not tried."""
        ends = self.ends[name]
        if wrong := [sentence for end, sentence in ends if end == "failed"]:
            return f"wrong: {wrong[0]}"
        if name not in self.attempt or UNWRITTEN in [end for end, _ in ends]:
            return UNWRITTEN
        return "written" if ends else "not tried"


def params(item: pytest.Item) -> dict[str, Any]:
    """What a test is run with: its parameters, and the function that it grades."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def about(item: pytest.Item) -> tuple[Path, str, str]:
    """The test, without its case, and the function that it grades."""
    return item.path, item.originalname, params(item)["graded"]


def has_it(item: pytest.Item) -> bool:
    """Whether that function is one of the parameters."""
    names = [getattr(value, "__name__", None) for value in params(item).values()]
    return params(item)["graded"] in names


_raises = pytest.raises


def by_type(*expected: Any, match: Any = None, **how: Any) -> Any:
    """`pytest.raises` without a look at the words, which are quality and no contract."""
    return _raises(*expected, **how)


def unwritten(report: pytest.TestReport) -> bool:
    """Whether a test had nothing to grade yet."""
    return report.skipped and UNWRITTEN in str(report.longrepr)
