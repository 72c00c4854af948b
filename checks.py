"""What `python lab.py` looks at: what the pipeline promises, on the stories in `data/`.

A check is a function that returns what it found, by name; it holds if every yes-or-no in it is yes.
Its docstring says what that proves and, in a paragraph of its own, what it does not.
"""

import inspect
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from batches import Batch, boundary_windows, get_batch, make_train_loader
from corpus import join_with_eot
from loaders import SequentialEvalDataset, SlidingWindowDataset, make_dataloader
from storage import CORPUS_SHA256, encode_all_splits, load_uint16, save_uint16, wrapped
from tokenizer import Tokenizer
from windows import count_windows, least_context, rows_view

STOP, END = 7, 12  # a loader is stopped before batch 7 and followed to batch 11: seed 000
B = 4  # windows in a batch of `windows`

Found = dict[str, bool | int | float | str]


@dataclass(frozen=True)
class Lab:
    """What the checks look at."""

    asked: Any
    T: int
    documents: pd.DataFrame
    tok: Tokenizer
    ids: Any
    random_before: list[Any]
    folder: Path


def look(check: Callable[[Lab], Found], lab: Lab) -> dict[str, Any]:
    """A row of the table: what was checked, what was found, and whether it holds."""
    proves, not_proved = (" ".join(part.split()) for part in inspect.getdoc(check).split("\n\n"))
    try:
        found = check(lab)
    except OSError:
        raise  # a full disk says nothing about the pipeline
    except Exception as error:
        found = {f"{type(error).__name__}, {error}": False}
    return {
        "check": check.__name__.replace("_", " "),
        "proves": proves,
        "does_not_prove": not_proved.removeprefix("Not "),
        "found": found,
        "ok": all(value for value in found.values() if isinstance(value, bool)),
    }


def random_state_untouched(lab: Lab) -> Found:
    """None of this drew from the global random state, so it moves nothing that does.

    Not that your own code leaves it alone.
    """
    same = map(np.array_equal, lab.random_before, random_state())
    return {
        f"{name} as before": bool(s)
        for name, s in zip(("Python", "NumPy", "torch"), same, strict=True)
    }


def random_state() -> list[Any]:
    """What decides the next draws of Python, NumPy and torch without a generator."""
    _, keys, place, *_ = np.random.get_state()  # noqa: NPY002, only looked at
    return [random.getstate()[1], np.append(keys, place), torch.get_rng_state()]


# ---- `tokens`


def splits(lab: Lab) -> Found:
    """Encoding loses nothing: each side reads back, with an end-of-text between two stories.

    Not that no story resembles one of another side.
    """
    sides = lab.documents.groupby("split")["text"].apply(join_with_eot)
    back = {split: lab.tok.decode(ids.tolist()) for split, ids in lab.ids.items()}
    return {
        **{f"{split} ids": len(ids) for split, ids in lab.ids.items()},
        "known stories": lab.documents.attrs["intake"].sha256 == CORPUS_SHA256,
        "read back": back == sides.to_dict(),
        "no text on two sides": bool(lab.documents.groupby("text")["split"].nunique().max() == 1),
    }


def copies(lab: Lab) -> Found:
    """Whoever writes into the ids of a split changes nobody else's.

    Not that nobody else changes yours: they are an ordinary tensor.
    """
    mine = encode_all_splits(lab.tok, lab.documents)["train"]
    mine += 1
    again = encode_all_splits(lab.tok, lab.documents)["train"]
    same = torch.equal(again + 1, mine)
    mine -= 1  # for the other checks, should it be theirs after all
    return {"encoded again, as before": same}


def files(lab: Lab) -> Found:
    """Two bytes hold an id, and bare NumPy reads the file as we do.

    Not which tokenizer made it: a bare file does not say, only one of save_stream does.
    """
    paths = {split: lab.folder / f"{split}.bin" for split in lab.ids}
    for split, path in paths.items():
        save_uint16(lab.ids[split], path)
    pairs = [(lab.ids[split], path) for split, path in paths.items()]
    return {
        **{f"{path.name} bytes": path.stat().st_size for path in paths.values()},
        "read back": all(torch.equal(load_uint16(path), ids) for ids, path in pairs),
        "NumPy reads the same": all(np.array_equal(np.fromfile(p, "<u2"), ids) for ids, p in pairs),
    }


def uint16_guard(lab: Lab) -> Found:
    """An id that two bytes cannot hold is refused, by its place, and the old file stays.

    Not that files from elsewhere were guarded: an id that a cast wrapped looks like any other.
    """
    edges, refused = [0, 511, 65_535], False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ids.bin")
        save_uint16(edges, path)
        survive = load_uint16(path).tolist() == edges
        try:
            save_uint16([*edges, 70_000], path)
        except ValueError as error:
            refused = "70000 at index 3" in str(error)
        stays = load_uint16(path).tolist() == edges and [*Path(folder).iterdir()] == [path]
    return {
        "0, 511, 65,535 kept": survive,
        "70,000 in a cast": wrapped(70_000),
        "70,000 refused": refused,
        "old file untouched": stays,
    }


def one_view(lab: Lab) -> Found:
    """All windows are one view: they take no memory beside the ids.

    Not that a batch is a view: gathering its rows copies them.
    """
    ids, rows = lab.ids["train"], rows_view(lab.ids["train"], lab.T)
    return {
        "windows": len(rows),
        "ids in them": rows.numel(),
        "ids in memory": rows.untyped_storage().nbytes() // rows.element_size(),
        "strides (1, 1)": rows.stride() == (1, 1),
        "same storage": rows.untyped_storage().data_ptr() == ids.untyped_storage().data_ptr(),
    }


def shift(lab: Lab) -> Found:
    """Each target is the id right after its input, and a row is a stretch of the stream.

    Not that every window is as likely as another.
    """
    ids, T, seed = lab.ids["train"], lab.T, lab.asked.seed
    x, y = get_batch(ids, T, lab.asked.batch_size, torch.Generator().manual_seed(seed))
    size, generator = (lab.asked.batch_size,), torch.Generator().manual_seed(seed)
    starts = torch.randint(0, len(ids) - T, size, generator=generator).tolist()
    rows = torch.stack([ids[start : start + T + 1] for start in starts])  # one by one
    return {
        "shape": str(tuple(x.shape)),
        "int64, contiguous": all(a.dtype == torch.int64 and a.is_contiguous() for a in (x, y)),
        "y[:, :-1] is x[:, 1:]": torch.equal(y[:, :-1], x[:, 1:]),
        "rows are in the stream": torch.equal(torch.column_stack([x, y[:, -1]]), rows),
    }


def end_of_texts(lab: Lab) -> Found:
    """The formula counts the windows that hold an end-of-text.

    Not what it does to a model that such a window runs from one story into the next.
    """
    ends = (lab.ids["train"] == lab.tok.eot_id).numpy()
    before = np.append(0, ends.cumsum())  # end-of-texts before each place
    held = int((before[lab.T + 1 :] > before[: -lab.T - 1]).sum())
    return {
        "end-of-texts": int(ends.sum()),
        "windows with one": held,
        "share of all": f"{held / count_windows(len(ends), lab.T):.3%}",
        "formula agrees": boundary_windows(np.flatnonzero(ends), len(ends), lab.T) == held,
    }


def scored_once(lab: Lab) -> Found:
    """Each validation target is scored exactly once, whatever the stride.

    Not that losses at two strides compare: a smaller one gives more context.
    """
    T, n = lab.T, len(lab.ids["val"])
    found, once, enough = {"targets": n - 1}, True, True
    for stride in sorted({T, T // 2 or 1, T // 4 or 1, lab.asked.stride}, reverse=True):
        times, contexts = _scoring(n, T, stride)
        low, high = times[1:].min(), times[1:].max()
        told = "once" if low == high == 1 else f"{low} to {high} times"
        found[f"stride {stride}"] = f"{told}, from {contexts.mean():.1f} ids"
        once &= bool(low == high == 1 and times[0] == 0)
        enough &= bool((contexts[T:] >= least_context(T, stride)).all())
    return found | {"each target once": once, "T - s + 1 ids or more": enough}


def _scoring(n: int, T: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each of `n` places is scored, and each time from how many ids."""
    data = SequentialEvalDataset(torch.arange(n), T, stride)  # here an id is its own place
    scored, contexts = [], []
    for x, y, mask in make_dataloader(data, 64, shuffle=False, drop_last=False):
        scored.append(y[mask])
        contexts.append((y - x[:, :1])[mask])
    return np.bincount(torch.cat(scored), minlength=n), torch.cat(contexts).double().numpy()


def resumed(lab: Lab) -> Found:
    """A loader that starts where another stopped gives the batches that were to come.

    Not that training goes on alike: that takes the weights and the optimiser too.
    """

    def loader(seed: int, step: int) -> Iterator[Batch]:
        return make_train_loader(lab.ids["train"], lab.T, lab.asked.batch_size, seed, step)

    stopped, seed = loader(lab.asked.seed, 0), lab.asked.seed
    whole = list(islice(loader(seed, 0), END))[STOP:]
    list(islice(stopped, STOP))
    state = stopped.state_dict()
    after = list(islice(loader(state["seed"], state["step"]), END - STOP))
    other = list(islice(loader(seed + 1, STOP), END - STOP))
    return {
        "state": f"step {state['step']}, seed {state['seed']}",
        f"batches {STOP} to {END - 1} the same": _same(whole, after),
        f"seed {seed + 1} gives others": not _same(whole, other),
    }


def _same(batches: Sequence[Batch], others: Sequence[Batch]) -> bool:
    pairs = zip(batches, others, strict=True)
    return all(torch.equal(x, a) and torch.equal(y, b) for (x, y), (a, b) in pairs)


TOKENS = [splits, copies, files, uint16_guard, one_view, shift, end_of_texts, scored_once, resumed]
TOKENS += [random_state_untouched]

# ---- `windows`


def windows_an_epoch(lab: Lab) -> Found:
    """One formula says beforehand how many windows an epoch has.

    Not which stride, or which T, trains best.
    """
    n, found, same = len(lab.ids), {"ids": len(lab.ids)}, True
    sizes = [(lab.T, lab.T), (lab.T, lab.T // 2 or 1), (lab.T, 1), (16, 16), (32, 32)]
    for T, stride in dict.fromkeys(sizes):
        found[f"T = {T}, stride {stride}"] = count = count_windows(n, T, stride)
        same &= count == len(SlidingWindowDataset(lab.ids, T, stride))
    return found | {"Dataset agrees": same}


def batch_of_windows(lab: Lab) -> Found:
    """A batch has its shape, and each target is the id right after its input.

    Not that a model can learn from it.
    """
    x, y = first_batch(lab)
    starts = range(0, len(lab.ids) - lab.T, lab.T)
    rows = [lab.ids[start : start + lab.T + 1].tolist() for start in starts]  # one by one
    items = [[*x.tolist(), int(y[-1])] for x, y in SlidingWindowDataset(lab.ids, lab.T)]
    return {
        "shape": str(tuple(x.shape)),
        f"({B}, T), int64": all(a.shape == (B, lab.T) and a.dtype == torch.int64 for a in (x, y)),
        "y[:, :-1] is x[:, 1:]": torch.equal(y[:, :-1], x[:, 1:]),
        "items as in the text": items == rows,
    }


def order_of_an_epoch(lab: Lab) -> Found:
    """Seed and epoch alone decide the order: to iterate again is to ask for the next epoch.

    Not that another version of torch draws the same order.
    """
    places = SlidingWindowDataset(np.arange(len(lab.ids)), lab.T)  # here an id is its own place

    def loader(epoch: int) -> Any:
        return make_dataloader(places, B, base_seed=42, epoch=epoch, drop_last=False)

    def order(loader: Any) -> list[int]:
        return torch.cat([x[:, 0] for x, _ in loader]).tolist()

    again = loader(0)
    first, second, fresh = order(again), order(again), order(loader(1))
    return {
        "same seed, same order": first == order(loader(0)),
        "next epoch, another": first != fresh,
        "iterated again as fresh": second == fresh,
        "each window once": sorted(first) == [*range(0, len(lab.ids) - lab.T, lab.T)],
    }


def dropped_tail(lab: Lab) -> Found:
    """What is left out is counted: ids after the last window, windows after the last batch.

    Not that it is little: of a short text it can be much.
    """
    n, T, found, same = len(lab.ids), lab.T, {}, True
    for stride in dict.fromkeys([T, T // 2 or 1, 1]):
        held = np.zeros(n, dtype=bool)
        for start in range(0, n - T, stride):
            held[start : start + T + 1] = True
        found[f"ids left, stride {stride}"] = SlidingWindowDataset(lab.ids, T, stride).unused
        same &= found[f"ids left, stride {stride}"] == n - held.sum()
    windows = SlidingWindowDataset(lab.ids, T)
    left = len(windows) - sum(len(x) for x, _ in make_dataloader(windows, B))
    found[f"windows left, B = {B}"] = left
    return found | {"counted one by one": bool(same), "less than a batch": 0 <= left < B}


def first_batch(lab: Lab) -> Batch:
    """The batch that is shown."""
    return next(iter(make_dataloader(SlidingWindowDataset(lab.ids, lab.T), B)))


WINDOWS = [windows_an_epoch, batch_of_windows, order_of_an_epoch, dropped_tail]
WINDOWS += [random_state_untouched]
