"""`python prepare.py`: files of any size → token streams that `python train.py --tokens` maps.

Here is the command line; the steps stand in `preparation.py`.
"""

import errno
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import tyro

import commands
from addresses import find_files
from files import owned
from intake import Recipe
from preparation import Making, prepare_tokens
from prepared import SHARDS
from tokenizer import Tokenizer
from workers import open_workers


@dataclass(frozen=True)
class Settings:
    """Prepare token streams from files that need not fit in memory, for train.py --tokens."""

    corpus_path: tuple[str, ...]
    """Files, patterns such as 'stories/*.csv', or addresses such as s3://bucket/*.parquet."""
    out: str
    """Folder to write to. It is empty, or holds the same preparation, which then goes on."""
    corpus_column: str = "text"
    """Column, or JSON key, that holds the text."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    group_column: str | None = None
    """Column that says which documents stay on one side. None: those with the same text."""
    val_fraction: float = 0.1
    """Part of the documents that is kept for validation."""
    test_fraction: float = 0.0
    """Part of the documents that is kept for a test."""
    seed: int = 42
    """Seed of the sides, and of the documents that the tokenizer is fitted on."""
    num_merges: int = 1024
    """Merges to learn."""
    tokenizer: str | None = None
    """A tokenizer.json to use instead of fitting one."""
    fit_mb: float = 64
    """Text to fit the tokenizer on: the training side, or a part of it drawn by a hash."""
    partition_mb: float = 32
    """Bytes of a file that one worker takes at a time; its memory grows with them."""
    workers: int | None = None
    """Processes on this machine. None: as many as it has cores."""
    scheduler: str | None = None
    """Address of a Dask cluster to use instead, such as tcp://10.0.0.1:8786."""
    skip_bad: bool = False
    """Leave out files that cannot be read whole, and report them."""

    def check(self) -> None:
        """Refuse, before any work, a value or a combination that cannot work."""
        for name in ("fit_mb", "partition_mb"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{_flag(name)} must be a number above 0, got {value}")
        for name, least in (("num_merges", 0), ("seed", 0), ("workers", 1)):
            if (value := getattr(self, name)) is not None and value < least:
                raise ValueError(f"{_flag(name)} must be at least {least}, got {value}")
        if not 0 < self.val_fraction < 1:
            raise ValueError(f"--val-fraction must be above 0 and below 1, got {self.val_fraction}")
        if not 0 <= self.test_fraction < 1 - self.val_fraction:
            raise ValueError(
                "--val-fraction and --test-fraction must leave something to train on, got "
                f"{self.val_fraction} and {self.test_fraction}"
            )
        if self.workers and self.scheduler:
            raise ValueError("--workers are of this machine, --scheduler has its own; give one")
        if self.tokenizer and self.num_merges != Settings.num_merges:
            raise ValueError("--num-merges fits a tokenizer, and --tokenizer brings one; give one")

    @property
    def recipe(self) -> Recipe:
        """How rows become documents with sides."""
        names = [field.name for field in fields(Recipe) if field.name != "column"]
        return Recipe(self.corpus_column, **{name: getattr(self, name) for name in names})


def main(settings: Settings) -> int:
    """Prepare as the settings say, and tell what is there now; the exit status."""
    settings.check()
    files, folder = find_files(settings.corpus_path), Path(settings.out)
    tok = Tokenizer.load(settings.tokenizer) if settings.tokenizer else None
    folder.mkdir(parents=True, exist_ok=True)
    workers = settings.workers or os.cpu_count() or 1
    with (
        owned(folder, folder / SHARDS),
        open_workers(workers, settings.scheduler) as run,
    ):
        sizes = settings.num_merges, settings.fit_mb, settings.partition_mb
        making = Making(settings.recipe, run, *sizes, tok, settings.skip_bad)
        report = prepare_tokens(files, folder, making)
    print(
        f"{report['kept']:,} documents of {report['records']:,} records in "
        f"{len(report['files']):,} files, {report['empty']:,} blank; {len(report['skipped'])} "
        "files left out"
    )
    for side, count in report["tokens"].items():
        print(f"{side}: {report['documents'][side]:,} documents, {count:,} tokens")
    print(f"python train.py --tokens {folder.as_posix()} trains from them")
    return 0


def parse(args: Sequence[str] | None = None) -> Settings:
    """The settings of a command line, `sys.argv` if None; a misspelt one exits with 2."""
    return tyro.cli(Settings, args=args, prog="python prepare.py")


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line; a mistake is told in one line, with exit status 2."""
    settings = parse(args)
    return commands.told("prepare.py", lambda: _roomy(settings))


def _roomy(settings: Settings) -> int:
    try:
        return main(settings)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.strerror += "; what is finished is kept: make room, and run the same again"
        raise


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")


if __name__ == "__main__":
    sys.exit(cli())
