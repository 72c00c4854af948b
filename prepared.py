"""A prepared folder: the streams of the sides, their tokenizer, and the report of how they came.

The report, `prepared.json`, is written last. While a preparation is going on its shards are there,
with a plan that says what is being made.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from files import read_json, write_json
from intake import Measure, total
from partitions import CutFile
from sides import SPLITS
from stream import Stream
from streamfiles import load_stream
from tokenizer import Tokenizer

PREPARED, TOKENIZER = "prepared.json", "tokenizer.json"
SHARDS, PLAN = "shards", "plan.json"


@dataclass(frozen=True)
class Tokens:
    """What `prepare.py` left: the streams of the sides, mapped, their tokenizer, the report."""

    folder: Path
    tok: Tokenizer
    streams: dict[str, Stream]
    report: dict[str, Any]


def load_prepared(folder: Path | str, *, verify: bool = True) -> Tokens:
    """The streams `train`, `val` and, if there is one, `test` of a prepared folder.

    Raises:
        ValueError: When a file was altered, or is not of the others.
        FileNotFoundError: When a file is missing; the report is, until all is done.
    """
    folder = Path(folder)
    if not (folder / PREPARED).is_file():
        raise FileNotFoundError(
            f"{folder}: there is no {PREPARED}; python prepare.py --out {folder} writes it last"
        )
    report, tok = read_json(folder / PREPARED), Tokenizer.load(folder / TOKENIZER)
    counts = report.get("tokens")
    if not isinstance(counts, dict) or not {"train", "val"} <= set(counts) <= set(SPLITS):
        raise ValueError(f"{folder / PREPARED}: 'tokens' must be of train and val; prepare again")
    if not isinstance(report.get("corpus_sha256"), str):
        raise ValueError(f"{folder / PREPARED}: 'corpus_sha256' must be a text; prepare again")
    streams = {side: load_stream(folder / side, tok, verify=verify) for side in counts}
    for side, stream in streams.items():
        if len(stream) != counts[side]:
            raise ValueError(
                f"{folder}: {side} has {len(stream)} tokens, {PREPARED} says {counts[side]!r:.40}; "
                "a file is of another preparation, prepare again"
            )
    return Tokens(folder, tok, streams, report)


# ---- while it is made


def begin(folder: Path, begun: dict[str, Any]) -> dict[str, Any] | None:
    """Begin in a folder that is new, or go on; the report, if all was done and is whole."""
    going_on = False
    for file in (folder / PREPARED, folder / SHARDS / PLAN):
        if file.is_file():
            going_on = True
            _refuse_other(folder, read_json(file), begun)
    if (folder / PREPARED).is_file():
        try:
            report = load_prepared(folder).report
            shutil.rmtree(folder / SHARDS, ignore_errors=True)
            return report
        except (ValueError, OSError) as error:
            print(f"{error}; it is made again")
            (folder / PREPARED).unlink()
    foreign = {path.name for path in folder.iterdir()} - {".lock", SHARDS}
    if foreign and not going_on:
        raise ValueError(
            f"{folder} holds {min(foreign)}, which is of no preparation; give an empty --out"
        )
    (folder / SHARDS).mkdir(exist_ok=True)
    if not (folder / SHARDS / PLAN).is_file():
        write_json(folder / SHARDS / PLAN, begun)
    return None


def _refuse_other(folder: Path, before: dict[str, Any], begun: dict[str, Any]) -> None:
    was, now = before.get("settings", {}), begun["settings"]
    differs = [
        f"{name} was {was.get(name)!r}, now {now[name]!r}"
        for name in now
        if was.get(name) != now[name]
    ]
    if before.get("made_of") != begun["made_of"]:
        differs.append("the files hold other bytes")
    if differs:
        raise ValueError(
            f"{folder} holds another preparation ({'; '.join(differs)}); give another --out, or "
            "empty this one"
        )


def corpus_digest(files: Sequence[CutFile]) -> str:
    """The digest of the one file, or of the digests of several."""
    if len(files) == 1:
        return files[0].sha256
    return hashlib.sha256("\n".join(file.sha256 for file in files).encode()).hexdigest()


def counts(
    files: Sequence[CutFile], measures: Sequence[Measure], sides: Sequence[str]
) -> dict[str, Any]:
    """The numbers of the report."""
    left, reports = iter(measures), []
    for file in files:
        records = sum(next(left).records for _ in file.partitions)
        reports.append(
            {
                "address": file.address,
                "sha256": file.sha256,
                "bytes": file.size,
                "partitions": len(file.partitions),
                "records": records,
            }
        )
    documents, size = total(measures, "documents"), total(measures, "text_bytes")
    records, kept = sum(m.records for m in measures), sum(documents.values())
    return {
        "files": reports,
        "records": records,
        "kept": kept,
        "empty": records - kept,
        "documents": {side: documents[side] for side in sides},
        "text_bytes": {side: size[side] for side in sides},
    }
