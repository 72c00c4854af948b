"""A file appears whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` when the block ends well.

    A crash, a full disk or Ctrl-C inside the block leaves the old file as it was, and no other.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "note.txt")) as temporary:
    ...         _ = temporary.write_text("all of it", encoding="utf-8")
    ...     Path(folder, "note.txt").read_text(encoding="utf-8")
    'all of it'
    """
    path = Path(path)
    temporary = path.with_name(
        f".{path.stem}.{os.getpid()}{path.suffix}"
    )  # writers look at suffixes
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
