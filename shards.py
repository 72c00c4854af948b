"""A partition → a shard of each side's tokens; shards, in order → the streams that are trained on.

A shard is three files of `streamfiles` for each side that the partition has documents of, and last
a note of what they were made from. With that note it is kept; without it, or with any byte altered,
it is made again.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from addresses import Partition
from files import read_json, write_json
from intake import Recipe, divided
from readers import file_kind
from sides import SPLITS
from stream import Stream, encode_documents
from streamfiles import load_stream, save_parts, save_stream
from tokenizer import Tokenizer


def shard_identity(partition: Partition, sha256: str, recipe: Recipe, fingerprint: str) -> str:
    """A digest of all that decides the bytes of a shard."""
    place = [sha256, file_kind(partition), partition.start, partition.stop, partition.header]
    decisive = [place, asdict(recipe), fingerprint, unicodedata.unidata_version]
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()


def make_shard(
    partition: Partition,
    recipe: Recipe,
    records: int,
    path: Path,
    identity: str,
    tokenizer: Path,
    fingerprint: str,
) -> dict[str, Any]:
    """Write the shard of a partition, or keep the one that is there; its note.

    The note has the `identity`, the number of `records`, and of each side the `tokens`.

    Raises:
        ValueError: When the partition has not the `records` that were measured.
    """
    tok = _loaded(tokenizer, fingerprint)
    if (kept := kept_shard(path, identity, records, tok)) is not None:
        return kept
    documents, found = divided(partition, recipe)
    if found != records:
        raise ValueError(f"{partition}: changed while it was read; prepare again when it is still")
    tokens = {}
    for side in SPLITS:
        if len(some := documents[documents["split"] == side]):
            stream = encode_documents(some, tok)
            save_stream(stream, _side(path, side), tok, corpus_sha256=identity)
            tokens[side] = len(stream)
    note = {"identity": identity, "records": records, "tokens": tokens}
    write_json(path.with_suffix(".json"), note)
    return note


def kept_shard(path: Path, identity: str, records: int, tok: Tokenizer) -> dict[str, Any] | None:
    """The note of a shard, if it is the one asked for and every byte of it is as it was written."""
    try:
        note = read_json(path.with_suffix(".json"))
        lengths = {side: len(load_stream(_side(path, side), tok)) for side in note["tokens"]}
    except (ValueError, KeyError, TypeError, OSError):
        return None
    wanted = {"identity": identity, "records": records, "tokens": lengths}
    return note if note == wanted else None


def _side(path: Path, side: str) -> Path:
    return path.with_name(f"{path.name}-{side}")


@lru_cache(1)
def _loaded(path: Path, fingerprint: str) -> Tokenizer:
    """The tokenizer, which a worker loads once."""
    tok = Tokenizer.load(path)
    if tok.fingerprint != fingerprint:
        raise ValueError(f"{path}: not the tokenizer {fingerprint[:12]} that this run began with")
    return tok


# ---- the streams


def join_shards(
    notes: Sequence[tuple[Path, dict[str, Any]]],
    side: str,
    folder: Path,
    tok: Tokenizer,
    sha256: str,
) -> int:
    """Write the shards of a side one after the other as the stream `folder/side`; its tokens.

    A document is numbered by its record, counted over all partitions.
    """
    parts = _parts(notes, side, tok)
    return save_parts(parts, folder / side, tok, layout="eot", corpus_sha256=sha256).count


def _parts(
    notes: Sequence[tuple[Path, dict[str, Any]]], side: str, tok: Tokenizer
) -> Iterator[Stream]:
    before = 0  # records
    for path, note in notes:
        if side in note["tokens"]:
            shard = load_stream(_side(path, side), tok, verify=False)  # verified when it was kept
            spans = shard.spans.assign(doc_id=shard.spans["doc_id"] + before)
            yield Stream(shard.ids, spans, "eot")
        before += note["records"]
