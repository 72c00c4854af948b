"""Where bytes are: a file, or any address that fsspec knows; all of them, or one partition."""

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO


@dataclass(frozen=True)
class Partition:
    """A part of a file that holds whole records; without `start` and `stop` all of it.

    `start` and `stop` are bytes, or row groups of a Parquet file; `line` is the number of the first
    line, or row, for messages. A part of a CSV file after its first has the `header` with it.
    `size` is how many bytes of the file that is.
    """

    address: str
    start: int = 0
    stop: int | None = None
    line: int = 1
    header: tuple[str, ...] = ()
    size: int = 0

    def __str__(self) -> str:
        return self.address

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.replace("\\", "/").rpartition("/")[2]

    @property
    def whole(self) -> bool:
        """Whether it is the whole file."""
        return self.start == 0 and self.stop is None

    def open(self) -> BinaryIO:
        """The file, at its beginning; it can be sought in."""
        if not is_remote(self.address):
            return Path(self.address).open("rb")
        system, path = _file_system(self.address)
        return _asked(self.address, lambda: system.open(path, "rb"))


def whole_file(source: str | os.PathLike[str]) -> Partition:
    """A file as one partition."""
    address = os.fspath(source)
    if not is_remote(address):
        return Partition(address, size=Path(address).stat().st_size)
    system, path = _file_system(address)
    return Partition(address, size=_asked(address, lambda: system.size(path)) or 0)


def is_remote(address: str) -> bool:
    """Whether an address begins with a protocol.

    >>> is_remote("s3://corpus/a.csv"), is_remote("C:/corpus/a.csv")
    (True, False)
    """
    return "://" in address


def find_files(patterns: Iterable[str]) -> list[str]:
    """The files that the patterns name, each once: in the order named, those of a pattern sorted.

    Raises:
        FileNotFoundError: When there is none for a pattern, or a folder is named.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if is_remote(pattern):
            files = _remote_files(pattern)
        elif Path(pattern).is_file():
            files = [pattern]
        else:
            named = glob.glob(pattern, recursive=True)  # noqa: PTH207, it takes absolute ones too
            files = sorted(file for file in named if Path(file).is_file())
        if not files:
            told = "is a folder; name files" if Path(pattern).is_dir() else "there is no such file"
            raise FileNotFoundError(f"{pattern}: {told}, as in {Path(pattern).parent / '*.csv'}")
        found |= dict.fromkeys(files)
    return list(found)


def _remote_files(pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        return [pattern]
    system, path = _file_system(pattern)
    return sorted(map(system.unstrip_protocol, _asked(pattern, lambda: system.glob(path))))


def _file_system(address: str) -> tuple[Any, str]:
    import fsspec  # only who names an address waits for it

    try:
        return fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{address}: fsspec cannot open this: {error}") from None


def _asked(address: str, ask: Any) -> Any:
    """What a file system answers; its errors are of many kinds, and are told as an OSError."""
    try:
        return ask()
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{address}: {str(error) or type(error).__name__}") from None
