"""Files of any size → the streams of their sides, step by step: cut, measure, fit, encode, join.

Each step is a function of the bytes and the settings. So workers, their number, their order and
their deaths change nothing, and a preparation that was killed goes on with the shards it had.
"""

import shutil
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from addresses import Partition
from corpus import text_bytes
from data import build_tokenizer
from files import read_json, write_json
from intake import Measure, Recipe, check_groups, check_sides, lessons, measure, share_below, total
from partitions import CutFile, cut_file
from prepared import PLAN, PREPARED, SHARDS, TOKENIZER, begin, corpus_digest, counts
from shards import join_shards, make_shard, shard_identity
from sides import SPLITS
from tokenizer import Tokenizer
from workers import Refused, Run, attempt

MB = 10**6


@dataclass(frozen=True)
class Making:
    """What is made, and by what means: `run` and `partition_mb` change no byte of it."""

    recipe: Recipe
    run: Run
    num_merges: int = 1024
    fit_mb: float = 64
    partition_mb: float = 32
    tok: Tokenizer | None = None
    skip_bad: bool = False

    @property
    def decisive(self) -> dict[str, Any]:
        """All that decides the bytes of the streams, but the files."""
        fitted = self.tok is None
        return asdict(self.recipe) | {
            "num_merges": self.num_merges if fitted else None,
            "fit_mb": self.fit_mb if fitted else None,
            "tokenizer": None if fitted else self.tok.fingerprint,
            "unidata_version": unicodedata.unidata_version,
        }


def prepare_tokens(addresses: Sequence[str], folder: Path, making: Making) -> dict[str, Any]:
    """Write the streams of the files' documents to `folder`; the report, as in `prepared.json`.

    Raises:
        ValueError: For a file that cannot be read whole, unless such are skipped; for a side that
            gets no document; for a folder that holds something else.
    """
    bad: dict[str, str] = {}
    files = _cut(addresses, bad, making)
    begun = {"settings": making.decisive, "made_of": [file.sha256 for file in files]}
    if (done := begin(folder, begun)) is not None:
        return done
    files, measures = _measured(files, bad, making)
    partitions = [partition for file in files for partition in file.partitions]
    sides = SPLITS if making.recipe.test_fraction else SPLITS[:2]
    check_sides(measures, sides)
    if making.recipe.group_column:
        check_groups(partitions, measures)
    tok = _fitted(partitions, measures, folder, begun, making)
    notes = _encoded(files, measures, folder, tok, making)
    corpus = corpus_digest(files)
    tokens = {side: join_shards(notes, side, folder, tok, corpus) for side in sides}
    report = begun | counts(files, measures, sides) | {"skipped": bad, "tokens": tokens}
    report |= {"layout": "eot", "vocab_size": tok.vocab_size, "tokenizer": tok.fingerprint}
    report |= {"corpus_sha256": corpus}
    write_json(folder / PREPARED, report)
    shutil.rmtree(folder / SHARDS)
    return report


def _all(
    run: Run,
    what: str,
    work: Callable[..., Any],
    jobs: Sequence[tuple],
    sizes: Sequence[int] | None = None,
) -> list[Any]:
    """What the jobs give, in their order, with a bar of the bytes, or files, that are done."""
    results: list[Any] = [None] * len(jobs)
    whole, unit = (sum(sizes), "B") if sizes else (len(jobs), " files")
    with tqdm(desc=what, total=whole, unit=unit, unit_scale=bool(sizes), disable=None) as bar:
        for number, result in run(work, jobs):
            results[number] = result
            bar.update(sizes[number] if sizes else 1)
    return results


# ---- cut and measure


def _cut(addresses: Sequence[str], bad: dict[str, str], making: Making) -> list[CutFile]:
    """The files, cut; a bad one is left out, if it may be."""
    size = int(making.partition_mb * MB) or 1
    jobs = [(cut_file, address, making.recipe.encoding, size) for address in addresses]
    found = []
    for cut, address in zip(_all(making.run, "cutting", attempt, jobs), addresses, strict=True):
        if isinstance(cut, Refused):
            _leave_out(address, cut.told, bad, making)
        else:
            found.append(cut)
            if cut.note:
                print(f"{address}: {cut.note}")
    return found


def _measured(
    files: Sequence[CutFile], bad: dict[str, str], making: Making
) -> tuple[list[CutFile], list[Measure]]:
    """The files that can be read whole, and the measures of their partitions, in order."""
    partitions = [partition for file in files for partition in file.partitions]
    jobs = [(measure, partition, making.recipe) for partition in partitions]
    sizes = [partition.size for partition in partitions]
    found = iter(_all(making.run, "reading", attempt, jobs, sizes))
    good, measures = [], []
    for file in files:
        measured = [next(found) for _ in file.partitions]
        if told := _fault(file, measured, making.recipe.column):
            _leave_out(file.address, told, bad, making)
        else:
            good.append(file)
            measures += measured
    if not good:
        raise ValueError("every file was left out; mend one of them at least")
    return good, measures


def _fault(file: CutFile, measured: Sequence[Measure | Refused], column: str) -> str:
    """What is wrong with a file, by the first partition of which anything is."""
    for found in measured:
        if isinstance(found, Refused):
            return found.told
    if any(sum(found.documents.values()) for found in measured):
        return ""
    records = sum(found.records for found in measured)
    return f"{file.address}: {records} rows read, and none has text in column {column!r}"


def _leave_out(address: str, told: str, bad: dict[str, str], making: Making) -> None:
    if not making.skip_bad:
        raise ValueError(f"{told} (or leave such files out with --skip-bad)")
    print(f"left out: {told}")
    bad[address] = told


# ---- fit and encode


def _fitted(
    partitions: Sequence[Partition],
    measures: Sequence[Measure],
    folder: Path,
    begun: dict[str, Any],
    making: Making,
) -> Tokenizer:
    """The tokenizer: given, of the run that goes on, or fitted; it is in the folder then."""
    plan, file = folder / SHARDS / PLAN, folder / TOKENIZER
    tok, fingerprint = making.tok, read_json(plan).get("fitted")
    if tok is None and fingerprint and file.is_file():
        tok = Tokenizer.load(file)
        if tok.fingerprint == fingerprint:
            return tok
        tok = None
    if tok is None:
        size = total(measures, "text_bytes")["train"]
        below = share_below(size, int(making.fit_mb * MB))
        held = [n for n, m in enumerate(measures) if m.documents["train"]]
        jobs = [(partitions[n], making.recipe, below) for n in held]
        found = _all(making.run, "fitting", lessons, jobs, [partitions[n].size for n in held])
        texts = [*chain.from_iterable(found)]
        if not texts:
            raise ValueError(f"--fit-mb {making.fit_mb} takes no document; fit on more")
        part = text_bytes(texts) / size
        print(
            f"the tokenizer is fitted on {len(texts):,} documents, {part:.1%} of the training text"
        )
        tok = build_tokenizer("\n".join(texts) + "\n", making.num_merges)
    tok.save(file)
    write_json(plan, begun | {"fitted": tok.fingerprint})
    return tok


def _encoded(
    files: Sequence[CutFile],
    measures: Sequence[Measure],
    folder: Path,
    tok: Tokenizer,
    making: Making,
) -> list[tuple[Path, dict[str, Any]]]:
    """The paths and notes of all shards, each made or found whole."""
    jobs, left = [], iter(measures)
    loading = folder / TOKENIZER, tok.fingerprint
    for file in files:
        for partition in file.partitions:
            identity = shard_identity(partition, file.sha256, making.recipe, tok.fingerprint)
            path = folder / SHARDS / f"{len(jobs):06}"
            jobs.append((partition, making.recipe, next(left).records, path, identity, *loading))
    sizes = [partition.size for partition, *_ in jobs]
    notes = _all(making.run, "encoding", make_shard, jobs, sizes)
    return [(path, note) for (_, _, _, path, *_), note in zip(jobs, notes, strict=True)]
