"""The lines of a text file, unpacked and decoded, or a refusal that names the place."""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tqdm import tqdm

from addresses import Partition

# Not of files: escapes, names of hosts, and one that never decodes. Some warn, none has a place.
_NO_ENCODINGS = ("idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape")
_TIMES = 100  # what a packed file may unpack to: so many times its size, text seldom makes 20,
_ALWAYS = 1 << 26  # or so many bytes
_AT_ONCE = 1 << 20  # bytes


@contextmanager
def text_lines(source: Partition, encoding: str) -> Iterator[Iterator[str]]:
    """The lines of a partition, cut at LF alone, whatever the locale, without byte order mark."""
    codec = _codec(encoding)
    if source.start:  # a byte order mark stands at the beginning of the file alone
        codec = codec.removesuffix("-sig")
    try:
        with (
            _bytes(source) as file,
            io.TextIOWrapper(file, encoding=codec, errors="strict", newline="\n") as lines,
        ):
            yield lines
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(source, codec, error)) from None
    except UnicodeError as error:  # UTF-16 or UTF-32 without its byte order mark
        raise ValueError(f"{source}: {error}; name another --encoding") from None


def _codec(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
        io.TextIOWrapper(io.BytesIO(), codec)  # knows that rot13 is none of bytes
        if codec.replace("-", "_") not in _NO_ENCODINGS:
            return "utf-8-sig" if codec == "utf-8" else codec
    except (LookupError, ValueError):  # a name with a NUL in it is a ValueError
        pass
    raise ValueError(
        f"{encoding!r:.40} is no encoding of files; --encoding takes a text encoding such as "
        "utf-8, utf-16 or cp1252"
    )


class _Counted(io.RawIOBase):
    """A file's next bytes, `limit` at most; the number of each read is told to `count`."""

    def __init__(
        self, file: BinaryIO, count: Callable[[int], object], limit: int | None = None
    ) -> None:
        self.file, self.count, self.limit = file, count, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        size = self.file.readinto(buffer[: self.limit])
        if self.limit is not None:
            self.limit -= size
        self.count(size)
        return size


class Unpacked:
    """Counts what a packed file gives, and refuses one made to fill memory."""

    def __init__(self, source: Partition) -> None:
        self.source = source
        self.most = self.left = max(_ALWAYS, _TIMES * source.size)

    def count(self, size: int) -> None:
        """Take `size` bytes or characters more, or refuse them.

        Raises:
            ValueError: When that is far more than text unpacks to.
        """
        self.left -= size
        if self.left < 0:
            raise ValueError(
                f"{self.source}: unpacks to over {self.most:,} bytes, {_TIMES} times its size, "
                "which text hardly does; if it is meant, unpack it first, or read fewer --max-rows"
            )


@contextmanager
def _bytes(source: Partition) -> Iterator[BinaryIO]:
    """The bytes of a partition, unpacked if .gz, with a progress bar after two seconds."""
    bar = tqdm(
        desc=f"reading {source.name}",
        total=source.size,
        unit="B",
        unit_scale=True,
        delay=2,
        disable=None,
    )
    limit = None if source.stop is None else source.stop - source.start
    with bar, source.open() as file:
        if source.start:
            file.seek(source.start)
        counted = io.BufferedReader(_Counted(file, bar.update, limit), _AT_ONCE)
        if not source.name.lower().endswith(".gz"):
            yield counted
            return
        try:
            packed = gzip.GzipFile(fileobj=counted)
            yield io.BufferedReader(_Counted(packed, Unpacked(source).count), _AT_ONCE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{source}: not a whole gzip file ({error}); make or copy it again"
            ) from None


def _undecodable(source: Partition, codec: str, error: UnicodeDecodeError) -> str:
    """Where the first bad bytes stand: the error counts from its last block, so decode again."""
    decoder = codecs.getincrementaldecoder(codec)()
    offset, place = source.start, ", at its end"
    with _bytes(source) as file:
        for number, line in enumerate(file, source.line):
            try:
                decoder.decode(line)
            except UnicodeDecodeError as again:
                error, place = (
                    again,
                    f", line {number}, byte {again.start + 1} (offset {offset + again.start})",
                )
                break
            offset += len(line)
    bad = error.object[error.start : error.start + 4].hex(" ")
    name = codec.removesuffix("-sig")
    return f"{source}{place}: bytes {bad} are not {name} ({error.reason}); name another --encoding"
