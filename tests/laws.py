"""What every public function must keep to, whatever else it does: the machine of the laws.

A law has cases, and says what holds of each result. Beside that, of every function: twice the same
gives the same, what it is given is not written to, and no global random state moves.
"""

import dataclasses
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokenizer import Tokenizer

# What a caller may give by mistake in place of a number.
ODD = [0, -1, -(2**63), 2**63, 10**30, 2.5, float("nan"), float("inf"), None, "7", [1], True]
SHARE = 10  # of the profile's cases that a law takes, for there are many laws


@dataclass(frozen=True)
class Law:
    """What holds of a function: `holds(result, *arguments)` asserts it, for arguments from `cases`.

    `call(function, *arguments)` gives the result, where that takes more than a plain call.
    """

    function: Callable
    cases: st.SearchStrategy[tuple]
    holds: Callable[..., None]
    call: Callable[..., Any]


def plain(function: Callable, *args: Any) -> Any:
    """The call that most functions need."""
    return function(*args)


class Laws(dict[str, Law]):
    """The laws of some functions, by name."""

    def of(self, function: Callable, *cases: st.SearchStrategy, call: Any = plain) -> Callable:
        """A decorator for what holds of `function`, for a strategy for each of its arguments.

        One strategy that draws tuples draws all arguments together.
        """
        name = getattr(function, "__qualname__", None)
        assert name not in self, f"{name} has a law already"

        def keep(holds: Callable) -> Callable:
            together = len(cases) == 1 and len(inspect.signature(holds).parameters) > 2
            drawn = cases[0] if together else st.tuples(*cases)
            self[name] = Law(function, drawn, holds, call)
            return holds

        return keep

    @property
    def of_numbers(self) -> list[Callable]:
        """Those that take a number."""
        return [law.function for law in self.values() if number_places(law.function)]

    @property
    def functions(self) -> list[Callable]:
        """The functions themselves, without methods."""
        return [law.function for law in self.values() if "." not in law.function.__qualname__]

    def missing(self, *modules: ModuleType) -> set[str]:
        """The public functions and classes of modules that have no law here."""
        public = {
            name
            for module in modules
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
            if inspect.isfunction(thing) or inspect.isclass(thing)
        }
        return public - set(self)


def some() -> settings:
    """A share of the profile's cases; drawing frames may take long on a busy machine."""
    most = max(5, settings.default.max_examples // SHARE)
    return settings(max_examples=most, suppress_health_check=list(HealthCheck))


def check(law: Law, function: Callable) -> None:
    """The law, and that the function is pure: the same again, nothing written to."""

    @some()
    @given(law.cases)
    def holds(args: tuple) -> None:
        state, given_args = random_states(), [copied(arg) for arg in args]
        result = settled(law.call(function, *given_args))
        for arg, before in zip(given_args, args, strict=True):
            assert same(arg, before), "an argument was written to"
        law.holds(result, *args)
        again = settled(law.call(function, *map(copied, args)))
        assert same(result, again), "twice the same gave two results"
        assert same(random_states(), state), "a global random state moved"

    holds()


def number_places(function: Callable) -> list[int]:
    """Which parameters of a plain function are numbers."""
    if not inspect.isfunction(function):
        return []
    kinds = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
    return [place for place, kind in enumerate(kinds) if kind in (int, float, int | None)]


def check_odd(law: Law, function: Callable) -> None:
    """A number that cannot be gives a result, or a plain ValueError or TypeError."""

    @some()
    @given(law.cases, st.sampled_from(number_places(function)), st.integers(0, len(ODD) - 1))
    def holds(args: tuple, place: int, odd: int) -> None:
        if place >= len(args):
            return
        wrong = [copied(arg) for arg in args]
        wrong[place] = ODD[odd]
        try:
            settled(law.call(function, *wrong))
        except (ValueError, TypeError) as error:
            if isinstance(ODD[odd], int | float):  # of a string, a library may say it
                assert type(error) in (ValueError, TypeError), repr(error)
                assert "\n" not in str(error), repr(error)

    holds()


# ---- values


def settled(result: Any) -> Any:
    """A result that can be looked at twice: of an iterator, what it gives."""
    return list(result) if isinstance(result, Iterator) else result


def copied(value: Any) -> Any:
    """A copy; of an array one that cannot be written to."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.copy()
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, tuple | list):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return {key: copied(some) for key, some in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: copied(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return type(value)(**fields)
    return value


def same(a: Any, b: Any) -> bool:
    """Equal in value and in type; two NaN are equal."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, _floats(a))
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, pd.DataFrame):
        return a.equals(b) and a.index.equals(b.index) and same(a.attrs, b.attrs)
    if isinstance(a, pd.Series):
        return a.equals(b) and a.index.equals(b.index)
    if isinstance(a, torch.nn.Module):
        return same(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Tokenizer):
        return a.fingerprint == b.fingerprint
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b) or (a != a and b != b)


def _floats(a: np.ndarray) -> bool:
    return a.dtype.kind == "f"


def random_states() -> tuple:
    """Python's, NumPy's and torch's global random states."""
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002
    return random.getstate(), numpy_state, torch.get_rng_state()
