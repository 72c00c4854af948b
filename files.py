"""A file, or a folder of files, appears whole or not at all."""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

_LONE = re.compile("[\ud800-\udfff]")  # half a surrogate pair, which UTF-8 does not have
_ASIDE = re.compile(r"\.\d+\.tmp(\.\w+)?")


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` when the block ends well.

    A crash, a full disk or Ctrl-C inside the block leaves the old file as it was, and no other. A
    device or a pipe is refused: it would be gone, and a file in its place.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "note.txt")) as temporary:
    ...         _ = temporary.write_text("all of it", encoding="utf-8")
    ...     Path(folder, "note.txt").read_text(encoding="utf-8")
    'all of it'
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(errno.EEXIST, "is no file but a device or a pipe", str(path))
    temporary = _aside(path)
    try:
        yield temporary
        _to_disk(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _name(error, path)
        raise


@contextmanager
def folder_written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The same for a folder with the files in it: `path` must be new."""
    path = Path(path)
    temporary = _aside(path)
    try:
        temporary.mkdir()
        yield temporary
        for file in temporary.iterdir():
            _to_disk(file)
        temporary.rename(path)
        _names_to_disk(path.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _name(error, path)
        raise


def sweep(folder: Path) -> None:
    """Remove what a killed process left half-written in `folder`; nobody else may write there."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if _ASIDE.search(path.name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def owned(folder: Path, *places: Path) -> Iterator[None]:
    """Keep `folder` for this process; clear it and `places` of what a killed one left half-written.

    Raises:
        ValueError: When another process is at work in it.
    """
    try:
        with FileLock(folder / ".lock", timeout=0):
            for place in (folder, *places):
                sweep(place)
            yield
    except Timeout:
        raise ValueError(
            f"{folder.as_posix()} is in use by another process; wait for its end, or stop it"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with `\\n` line ends, whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, indented, whole or not at all."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_text(path, _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", text))


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        ValueError: When it is damaged, or holds something else than an object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a bare ValueError
        raise ValueError(f"{path.as_posix()} is damaged, no JSON: {error}") from None
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise ValueError(f"{path.as_posix()} should hold a JSON object, it holds a {kind}")
    return content


def memory_bytes() -> int:
    """Bytes of memory that the machine has; where it does not say (Windows), 2⁶³."""
    if not hasattr(os, "sysconf"):
        return 1 << 63
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _aside(path: Path) -> Path:
    """A name of this process beside `path`, with its suffix, because writers look at suffixes."""
    return path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")


def _name(error: BaseException, path: Path) -> None:
    """Say which file a full disk is about: a failed write does not know its name."""
    if isinstance(error, OSError) and error.strerror and error.filename is None:
        error.filename = path.as_posix()


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _names_to_disk(folder: Path) -> None:
    """Make a rename last; Windows has no such call, and needs none."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
