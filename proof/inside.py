"""What goes on inside one process: pytest on sources that are imported anew.

A mutant is in its source before that is imported, so constants, defaults, methods and names that
are imported elsewhere are all those of the mutant.
"""

import ast
import importlib.machinery
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from proof.mutants import Mutant, mutated

_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "--assert=plain"]


@dataclass
class Watched:
    """What a run of tests showed: seconds of each test, which tests run a line, who failed."""

    seconds: dict[str, float] = field(default_factory=dict)
    ran: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    failed: str = ""
    status: int = 0


def pytest_anew(
    root: Path, plugin: "Plugin", mutant: Mutant | None = None, *options: str
) -> Watched:
    """Run the tests of the plugin on sources that are imported anew, with the mutant in them."""
    os.chdir(root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of the project are named there
    for name, module in list(sys.modules.items()):
        if _is_ours(getattr(module, "__file__", None) or "", root):
            del sys.modules[name]
    sys.meta_path.insert(0, finder := _Finder(root, mutant))
    where = ["--rootdir", str(root), "-c", str(root / "pyproject.toml")]
    files = dict.fromkeys(test.partition("::")[0] for test in plugin.tests)
    plugin.watched.status = int(
        pytest.main([*_OPTIONS, *where, *options, *files], plugins=[plugin])
    )
    sys.meta_path.remove(finder)
    return plugin.watched


def _is_ours(file: str, root: Path) -> bool:
    """Whether a file belongs to the project, and not to its packages or to this one."""
    inside = Path(file).is_relative_to(root) and Path(file).suffix == ".py"
    return inside and Path(file).relative_to(root).parts[0] not in (".venv", "proof")


class _Finder:
    """Finds the modules of the project: the mutant for its file, compiled code for others."""

    def __init__(self, root: Path, mutant: Mutant | None) -> None:
        self.root, self.mutant = root, mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """As Python asks for it."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and _is_ours(spec.origin or "", self.root):
            spec.loader = _Loader(name, spec.origin, self.root, self.mutant)
            return spec
        return None


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, root: Path, mutant: Mutant | None) -> None:
        super().__init__(name, path)
        ours = mutant is not None and Path(path) == root / mutant.path
        self.mutant = mutant if ours else None

    def get_code(self, fullname: str) -> CodeType:
        """The code, with the mutant in it."""
        if self.mutant is None:
            return _compiled(self.path)
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutated(source, self.mutant.place), self.path, "exec")


@cache
def _compiled(path: str) -> CodeType:
    return compile(ast.parse(Path(path).read_bytes()), path, "exec", dont_inherit=True)


class Plugin:
    """Picks the tests that are asked for, in their order, and notes what becomes of them."""

    def __init__(self, tests: Iterable[str], patience: float = 0.0, lines: Any = None) -> None:
        self.tests, self.patience, self.lines = list(tests), patience, lines
        self.watched = Watched()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """A failing law needs no smallest case."""
        from hypothesis import Phase, settings

        settings.register_profile("quick to fail", phases=(Phase.explicit, Phase.generate))
        settings.load_profile("quick to fail")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those asked for by name, or every test of a file or a function."""
        places = {test: n for n, test in enumerate(self.tests)}
        found = defaultdict(list)
        for item in items:
            function = item.nodeid.partition("[")[0]
            for name in (item.nodeid, function, item.nodeid.partition("::")[0]):
                if name in places:
                    found[places[name]].append(item)
                    break
        items[:] = [item for n in sorted(found) for item in found[n]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The lines that run now are run by this test."""
        if self.lines:
            self.lines.switch_context(item.nodeid)
        if self.patience and hasattr(signal, "setitimer"):  # a busy machine makes no test hang
            signal.setitimer(signal.ITIMER_PROF, self.patience)
        begun = time.process_time()
        result = yield
        self.watched.seconds[item.nodeid] = round(time.process_time() - begun, 4)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first that fails has killed the mutant."""
        if report.failed:
            self.watched.failed = self.watched.failed or report.nodeid
