"""What `python lab.py packing` looks at: rows, both masks, lineage and ledger.

Two short documents and one longer than a row, made of numbers that are easy to follow, in which
9 ends a document; and some of the stories in `data/`. Checks are as in `checks.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch

from attention import MASK_UP_TO
from checks import Found, Lab, random_state_untouched
from ledger import ledger
from lineage import window_lineage
from model import GPT
from packing import count_tokens, fill, pack
from stream import Stream, segment_ids
from windows import attention_mask, gather, loss_mask, sliding_windows

EOT = 9  # what ends a document: seed 003
POLICIES = [
    ("best-fit", "fragment", "pad"),
    ("best-fit", "truncate", "pad"),
    ("sequential", "fragment", "pad"),
    ("sequential", "fragment", "drop"),
    ("sequential", "truncate", "pad"),
]
DROPPING = [("best-fit", "drop", "pad"), ("sequential", "drop", "pad")]
SMALLEST_T = 8  # in rows of which the end of the long document stands beside a short one


def hand_documents(T: int) -> list[list[int]]:
    """Two short documents, and one 3 ids longer than a row, which has a 9 inside as well.

    >>> hand_documents(4)
    [[11, 12, 9], [21, 9], [31, 9, 33, 34, 35, 36, 37, 9]]
    """
    return [[11, 12, EOT], [21, EOT], [31, EOT, *range(33, 34 + T), EOT]]


def stream_of(documents: list[list[int]]) -> Stream:
    """Documents of ids, one after the other."""
    stops = np.cumsum([len(ids) for ids in documents])
    spans = {"start": np.append(0, stops[:-1]), "stop": stops}
    spans |= {"doc_id": np.arange(len(documents)), "doc_start": 0}
    return Stream(np.concatenate(documents), pd.DataFrame(spans), "eot")


def rows_of(stream: Stream, T: int, pad_id: int, policy: tuple[str, str, str]) -> Stream:
    """The stream in rows of T + 1 ids, by a policy `(order, long_doc, tail)`."""
    order, long_doc, tail = policy
    return pack(stream, T, pad_id, long_doc, order=order, tail=tail)


def row_windows(laid: Stream, T: int) -> pd.DataFrame:
    """One window a row."""
    return sliding_windows(len(laid), T, T + 1)


def sources(lab: Lab) -> dict[str, Stream]:
    """What is packed: the documents made by hand, and the stories."""
    return {"hand": stream_of(hand_documents(lab.T)), "stories": lab.ids}


def nothing_lost(lab: Lab) -> Found:
    """Whatever the policy, each token of each document is in a row or is counted as dropped.

    Not that few are dropped: of long documents in short rows, most are.
    """
    found, kept_and_dropped, placed, whole = {}, True, True, True
    for name, source in sources(lab).items():
        read = _lengths(source)
        for policy in POLICIES + (DROPPING if name == "hand" else []):
            laid = rows_of(source, lab.T, EOT, policy)
            frame = ledger(source, laid, row_windows(laid, lab.T), "isolated")
            frame = frame.set_index("doc_id")  # or it has raised, for a sum that does not balance
            kept = _lengths(laid).reindex(read.index, fill_value=0)
            kept_and_dropped &= bool((kept + frame["dropped"] == read).all())
            placed &= frame.attrs["padding"] == len(laid) - kept.sum()
            if policy[1:] == ("fragment", "pad"):
                whole &= not frame["dropped"].any()
            if name == "stories":
                told = f"{fill(laid):.4f} full, {frame['dropped'].sum():,} dropped"
                found[" · ".join(policy)] = told
    return found | {
        "kept + dropped = read": kept_and_dropped,
        "the rest is padding": bool(placed),
        "fragments keep all": bool(whole),
    }


def _lengths(stream: Stream) -> pd.Series:
    """How many tokens of each document are in the stream."""
    lengths = stream.spans["stop"] - stream.spans["start"]
    return lengths.groupby(stream.spans["doc_id"]).sum()


def read_back(lab: Lab) -> Found:
    """From the rows and their spans alone, each document is put together again, id by id.

    Not that it is in one piece: what is longer than a row is in several.
    """
    found = {}
    for policy in (POLICIES[0], POLICIES[2]):
        for name, source in sources(lab).items():
            laid = rows_of(source, lab.T, EOT, policy)
            whole = {doc: ids.tolist() for doc, ids in documents_in(source)}
            again = {doc: ids.tolist() for doc, ids in documents_in(laid)}
            found[f"{name}, {policy[0]}"] = again == whole
    texts = {doc: lab.tok.decode(ids[:-1]) for doc, ids in again.items()}
    return found | {"as text": texts == lab.documents["text"].to_dict()}


def documents_in(stream: Stream) -> Iterator[tuple[int, np.ndarray]]:
    """Each document's number and its ids, its pieces put in their order."""
    for doc_id, pieces in stream.spans.sort_values("doc_start").groupby("doc_id"):
        runs = zip(pieces["start"], pieces["stop"], strict=True)
        yield int(doc_id), np.concatenate([stream.ids[start:stop] for start, stop in runs])


def rows_and_lineage(lab: Lab) -> Found:
    """No span runs on into the next row, and the lineage of each row names the tokens that it has.

    Not which characters a token stands for: `explain` says that.
    """
    source, T = lab.ids, lab.T
    laid = rows_of(source, T, EOT, POLICIES[0])
    rows, spans = laid.ids.reshape(-1, T + 1), laid.spans
    owned, same = dict(documents_in(source)), True
    lineage = window_lineage(row_windows(laid, T), spans)
    for window, start, stop, doc, doc_start, doc_stop in lineage.itertuples(index=False):
        same &= np.array_equal(rows[window, start:stop], owned[doc][doc_start:doc_stop])
    first_row, last_row = spans["start"] // (T + 1), (spans["stop"] - 1) // (T + 1)
    named = int((lineage["row_stop"] - lineage["row_start"]).sum())
    return {
        "rows": len(rows),
        "stretches": len(lineage),
        "no span crosses": bool((first_row == last_row).all()),
        "lineage finds the ids": bool(same),
        "and all of them": named == count_tokens(laid),
    }


def masks_by_hand(lab: Lab) -> Found:
    """Both masks of the rows of seed 003 are those worked out by hand.

    Not that a model obeys them: the check `kept apart` looks at that.
    """
    one, other = [[11, 12, EOT], [21, 22, EOT]], [[11, 12, EOT], [21, EOT]]
    full, padded = (rows_of(stream_of(d), T, 0, POLICIES[2]) for d, T in ((one, 5), (other, 6)))
    y = gather(full.ids, row_windows(full, 5))[1].tolist()
    table = attention_mask(segment_ids(full.spans, 6)[:-1]).astype(int).tolist()
    return {
        "11 12 9 21 22 9, targets": y == [[12, EOT, 21, 22, EOT]],
        "isolated 1 1 0 1 1": masks(full, 5)["isolated"] == [[1, 1, 0, 1, 1]],
        "attention in two triangles": table
        == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1]],
        "11 12 9 21 9 · ·, isolated 1 1 0 1 0 0": masks(padded, 6)["isolated"]
        == [[1, 1, 0, 1, 0, 0]],
        "continuous 1 1 1 1 0 0": masks(padded, 6)["continuous"] == [[1, 1, 1, 1, 0, 0]],
    }


def masks(laid: Stream, T: int) -> dict[str, list[list[int]]]:
    """Which targets of each row count, 1 or 0, under both boundaries."""
    segments, windows = segment_ids(laid.spans, len(laid)), row_windows(laid, T)
    return {
        boundaries: loss_mask(windows, segments, boundaries).astype(int).tolist()
        for boundaries in ("continuous", "isolated")
    }


def padding_by_place(lab: Lab) -> Found:
    """Padded with the id that ends documents, rows have the masks that they have padded with 0.

    Not that rows from elsewhere do: without spans, such padding and such an end look alike.
    """
    source, T = stream_of(hand_documents(lab.T)[:2]), lab.T + 6  # one row, with padding
    by_end, by_zero = (rows_of(source, T, pad, POLICIES[2]) for pad in (EOT, 0))
    y = gather(by_end.ids, row_windows(by_end, T))[1]
    ends = int((y[np.array(masks(by_end, T)["isolated"], dtype=bool)] == EOT).sum())
    return {
        "places of padding": len(by_end) - count_tokens(by_end),
        "ends that count": ends,
        "padded differently": by_end.ids.tolist() != by_zero.ids.tolist(),
        "the same masks": masks(by_end, T) == masks(by_zero, T),
        "each document's end counts": ends == len(source.spans),
    }


def long_documents(lab: Lab) -> Found:
    """A document longer than a row is cut, cut off or left out, as the policy says.

    Not which is best: a table on the page about packing compares what a model learns.
    """
    size, documents, found = lab.T + 1, hand_documents(lab.T), {}
    ways: dict[str, Callable[[list[int]], list[int]]] = {
        "fragment": lambda ids: ids,
        "truncate": lambda ids: ids[:size],
        "drop": lambda ids: ids if len(ids) <= size else [],
    }
    for long_doc, left in ways.items():
        expected = {doc: left(ids) for doc, ids in enumerate(documents) if left(ids)}
        for order in ("best-fit", "sequential"):
            laid = rows_of(stream_of(documents), lab.T, 0, (order, long_doc, "pad"))
            there = {doc: ids.tolist() for doc, ids in documents_in(laid)}
            found[f"{long_doc}, {order}"] = there == expected
        found[f"{long_doc} keeps"] = f"{len(left(documents[2]))} of {len(documents[2])} ids"
    return found


def kept_apart(lab: Lab) -> Found:
    """In a model, a token of one document moves no logit of another, if documents are isolated.

    Not that isolation makes a better model, nor that your model obeys the masks.
    """
    found = {}
    for way, T in (("mask", max(lab.T, SMALLEST_T)), ("buckets", MASK_UP_TO + 1)):
        laid = rows_of(stream_of(hand_documents(T)), T, 0, POLICIES[0])
        moved = {b: moved_logits(laid, T, b) for b in ("isolated", "continuous")}
        own, others = moved["isolated"]
        found[f"{way}, T = {T}: others move"] = f"{others:.1e}"
        found[f"{way}: 10⁻¹² at most"] = others <= 1e-12
        found[f"{way}: its own do"] = own > 1e-3
        found[f"{way}: all do if continuous"] = moved["continuous"][1] > 1e-3
    return found


def moved_logits(laid: Stream, T: int, boundaries: str) -> tuple[float, float]:
    """How far the logits of document 0 move when its first token changes, and all others at most.

    Others are those of padding too.
    """
    model = any_model(int(laid.ids.max()) + 1)
    segments = torch.from_numpy(segment_ids(laid.spans, len(laid)).astype(np.int64)).view(-1, T + 1)
    ids = torch.from_numpy(laid.ids).view(-1, T + 1)
    first = int(laid.spans.loc[laid.spans["doc_id"] == 0, "start"].iloc[0])
    changed = ids.flatten().clone()
    changed[first] += 1
    apart = segments[:, :-1] if boundaries == "isolated" else None
    with torch.inference_mode():
        pair = [model(i[:, :-1], apart) for i in (ids, changed.view_as(ids))]
    far = (pair[1] - pair[0]).abs().amax(-1)  # (W, T)
    mine = segments[:, :-1] == segments.flatten()[first]
    return far[mine].max().item(), far[~mine].max().item()


def any_model(vocab_size: int) -> Any:
    """A small model in float64 with weights at random: fresh ones make all logits 0."""
    model, generator = GPT(vocab_size, 2, 2, 16).double(), torch.Generator().manual_seed(0)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5, generator=generator)
    return model.eval()


PACKING = [nothing_lost, read_back, rows_and_lineage, masks_by_hand, padding_by_place]
PACKING += [long_documents, kept_apart, random_state_untouched]
