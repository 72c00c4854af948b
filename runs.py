"""What a run leaves in its folder: settings, losses, plot, receipt, samples and the model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.torch
from matplotlib.figure import Figure

from files import written_whole
from model import GPT
from scoring import Receipt
from tokenizer import Tokenizer


def new_folder(root: Path, name: str | None = None) -> Path:
    """Make `root/name`, or `root/001`, `002`, … with the next number after those that are there."""
    if name is not None:
        folder = root / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise ValueError(
                f"there is a run in {folder} already; give another --name, or none"
            ) from None
        return folder
    root.mkdir(parents=True, exist_ok=True)
    number = (
        max((int(path.name) for path in root.iterdir() if path.name.isdecimal()), default=0) + 1
    )
    while True:
        try:
            (folder := root / f"{number:03}").mkdir()
            return folder
        except FileExistsError:  # another run took it in this moment
            number += 1


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with `\\n` line ends, whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, indented, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


class Losses:
    """The losses of a run as they come, written to its `metrics.csv` and `loss.png`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[tuple[int, int, float]] = []
        self.validations: list[tuple[int, float, float]] = []

    def add(self, step: int, targets: int, train_loss: float) -> None:
        """Keep a step's number of targets and their mean loss, in nats."""
        self.steps.append((step, targets, train_loss))

    def validate(self, step: int, receipt: Receipt) -> float:
        """Keep a validation, write both files; the mean loss of the targets since the last one."""
        since = self.validations[-1][0] if self.validations else 0
        self.validations.append((step, receipt.nats_per_token, receipt.bits_per_byte))
        frame = self.frame()
        write_text(self.folder / "metrics.csv", frame.to_csv(index=False, lineterminator="\n"))
        with written_whole(self.folder / "loss.png") as temporary:
            plot_losses(frame).savefig(temporary, dpi=120)
        recent = frame[frame["step"] > since]
        return float(np.average(recent["train_loss"], weights=recent["targets"]))

    def frame(self) -> pd.DataFrame:
        """A row a step: `step`, `targets`, `train_loss`, and the numbers of a validation if any."""
        columns = ["step", "val_loss", "val_bits_per_byte"]
        steps = pd.DataFrame(self.steps, columns=["step", "targets", "train_loss"])
        return steps.merge(pd.DataFrame(self.validations, columns=columns), how="left", on="step")


def plot_losses(frame: pd.DataFrame) -> Figure:
    """Training and validation loss over the steps."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    span = max(1, len(frame) // 50)
    smooth = frame["train_loss"].rolling(span, min_periods=1).mean()
    axes.plot(frame["step"], frame["train_loss"], color="tab:blue", alpha=0.25, linewidth=0.8)
    axes.plot(frame["step"], smooth, color="tab:blue", label=f"training, mean of {span} steps")
    scored = frame.dropna(subset="val_loss")
    axes.plot(scored["step"], scored["val_loss"], "o-", color="tab:orange", label="validation")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats per token)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def save_checkpoint(folder: Path, model: GPT, state: dict[str, Any]) -> None:
    """`checkpoint/model.safetensors` and `checkpoint/state.json`."""
    (folder / "checkpoint").mkdir(exist_ok=True)
    weights = {
        name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()
    }
    with written_whole(folder / "checkpoint" / "model.safetensors") as temporary:
        safetensors.torch.save_file(weights, temporary)
    write_json(folder / "checkpoint" / "state.json", state)


def load_run(folder: Path | str) -> tuple[GPT, Tokenizer]:
    """The model and the tokenizer of a run, ready to use."""
    folder = Path(folder)
    if not (folder / "checkpoint" / "model.safetensors").is_file():
        raise FileNotFoundError(
            f"{folder}: no checkpoint there; give the folder of a run, such as runs/001"
        )
    tok = Tokenizer.load(folder / "tokenizer.json")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = GPT(tok.vocab_size, config["n_layer"], config["n_head"], config["d_model"])
    model.load_state_dict(safetensors.torch.load_file(folder / "checkpoint" / "model.safetensors"))
    return model, tok
