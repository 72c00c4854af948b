"""What a stopped run needs to go on as if nothing had happened.

A checkpoint is a folder `checkpoint/000300`, named after the steps done: `model.safetensors`,
`optimizer.safetensors` and `state.json`. It appears whole, and only then the one before it goes.
Its state holds the *resume receipt*: digests of the corpus, the tokenizer and the next batch.
"""

import hashlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import safetensors.torch
from torch import Tensor

from files import folder_written_whole, read_json, write_json

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """What was read from a checkpoint: weights, the optimisers' tensors and the state."""

    path: Path
    weights: Tensors
    optimizers: Tensors
    state: dict[str, Any]

    @property
    def run(self) -> Path:
        """The folder of its run."""
        return self.path.parents[1]


_PARTS = ("model", "optimizer")
_KEYS = {"step": int, "seed": int, "corpus": str, "tokenizer": str, "next_batch": str}
_KEYS |= {"device": str, "config": dict, "versions": dict, "sha256": dict}
_NAMES = {
    "corpus": "the corpus",
    "tokenizer": "the tokenizer that is learned from the corpus",
    "next_batch": "the next batch",
}


def batch_digest(xb: Any, yb: Any) -> str:
    """SHA-256 of a batch: its shape and its ids, inputs before targets.

    >>> ids = np.array([[3, 1]])
    >>> batch_digest(ids, ids)[:12], batch_digest(ids, ids + 1)[:12]
    ('aa9c5b8fd7e7', '386689364845')
    """
    both = np.stack([np.asarray(xb), np.asarray(yb)]).astype("<i8")  # (2, B, T)
    return _sha256(str(both.shape).encode() + both.tobytes())


def save(run: Path, weights: Tensors, optimizers: Tensors, state: dict[str, Any]) -> None:
    """Write the checkpoint of `state["step"]` in the folder of a run, then remove older ones."""
    (run / "checkpoint").mkdir(exist_ok=True)
    path = run / "checkpoint" / f"{state['step']:06}"
    if path.exists():  # a run that was resumed and had nothing left to do
        return
    before = _whole(run)
    with folder_written_whole(path) as temporary:
        sums = {}
        for part, tensors in zip(_PARTS, (weights, optimizers), strict=True):
            content = safetensors.torch.save(tensors)
            (temporary / f"{part}.safetensors").write_bytes(content)
            sums[part] = _sha256(content)
        write_json(temporary / "state.json", state | {"versions": versions(), "sha256": sums})
    for old in before:
        rmtree(old)


def load(run: Path) -> Checkpoint:
    """The checkpoint with the most steps in the folder of a run, just as it was saved.

    Raises:
        FileNotFoundError: When there is none.
        ValueError: When a file of it is missing, cut or altered.
    """
    if not (found := _whole(run)):
        raise FileNotFoundError(
            f"{run.as_posix()}: no checkpoint there; give the folder of a run, such as runs/001"
        )
    path = found[-1]
    state = read_json(path / "state.json")
    for key, kind in _KEYS.items():
        if type(state.get(key)) is not kind:  # True is an int, and no step
            raise ValueError(
                f"{path.as_posix()}/state.json should have {key!r}, of type {kind.__name__}; "
                f"it has {state.get(key)!r:.40}"
            )
    if state["step"] != int(path.name):
        raise ValueError(f"{path.as_posix()}/state.json was altered: its step is {state['step']}")
    weights, optimizers = (_tensors(path, part, state["sha256"]) for part in _PARTS)
    return Checkpoint(path, weights, optimizers, state)


def check_same(state: dict[str, Any], **now: str) -> None:
    """Refuse to go on when what feeds the run is not what fed it, and name what changed.

    >>> check_same({"corpus": "1a2b", "versions": versions()}, corpus="3c4d")
    Traceback (most recent call last):
    ValueError: the corpus is not what it was when the run was stopped (digest 1a2b, now 3c4d); \
bring it back, or start a new run
    """
    for what, value in now.items():
        if state[what] != value:
            raise ValueError(
                f"{_NAMES[what]} is not what it was when the run was stopped (digest "
                f"{state[what]:.12}, now {value:.12}); {_suspect(what, state)}"
                "bring it back, or start a new run"
            )


def moved(state: dict[str, Any], threads: int, device: str, processes: int = 1) -> list[str]:
    """What may change a run's last bits: threads, device, processes, a version of torch."""
    now = {"threads": threads, "device": device, "torch": versions()["torch"]}
    now |= {"processes": processes}
    was = {"device": state["device"], "torch": state["versions"].get("torch")}
    was |= {"processes": state.get("processes", 1)}
    was |= {"threads": state["config"].get("threads")}
    return [
        f"{name}: {was[name]} before, {now[name]} now" for name in now if was[name] != now[name]
    ]


def versions() -> dict[str, str]:
    """The packages that batches and sums depend on."""
    names = ("numpy", "pandas", "tiktoken", "tokenizers", "torch")
    return {name: importlib.metadata.version(name) for name in names}


def _suspect(what: str, state: dict[str, Any]) -> str:
    """What else than the thing itself may have changed it."""
    if what == "corpus":
        return ""
    now = versions()
    changed = [
        f"{name} was {before}, is {now.get(name)}"
        for name, before in state["versions"].items()
        if now.get(name) != before
    ]
    return f"{', '.join(changed) or 'the code that makes it has changed'}; "


def _whole(run: Path) -> list[Path]:
    """Whole checkpoints, the newest last."""
    found = [path for path in run.glob("checkpoint/*") if path.name.isdecimal()]
    return sorted(found, key=lambda path: int(path.name))


def _tensors(path: Path, part: str, sums: dict[str, str]) -> Tensors:
    file = path / f"{part}.safetensors"
    content = file.read_bytes() if file.is_file() else b""
    if _sha256(content) != sums.get(part):
        raise ValueError(f"{file.as_posix()} is missing or is not what was saved: it was altered")
    try:
        return safetensors.torch.load(content)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{file.as_posix()} holds no tensors: {error}") from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
