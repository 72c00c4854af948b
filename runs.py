"""What a run leaves in its folder: settings, losses, plot, receipt, samples and the model."""

import math
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import checkpoint
from files import read_json, write_json, write_text, written_whole
from model import GPT
from scoring import Receipt
from tokenizer import Tokenizer

_STEP = ["step", "targets", "train_loss"]
_VALIDATION = ["step", "val_loss", "val_bits_per_byte"]


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


def find(root: Path, which: str) -> Path:
    """The folder of a run: `which` itself, or for `last` the one in `root` that was saved last."""
    if which != "last":
        if not (Path(which) / "config.json").is_file():
            raise FileNotFoundError(f"{which}: there is no run to go on with; try --resume last")
        return Path(which)
    saved = list(root.glob("*/checkpoint/*/state.json"))
    if not saved:
        raise FileNotFoundError(f"{root.as_posix()}: no run there has a checkpoint to go on with")
    return max(saved, key=lambda path: path.stat().st_mtime_ns).parents[2]


class Losses:
    """The losses of a run as they come, written to files of its folder, if it has one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.steps: list[tuple[int, int, float]] = []
        self.validations: list[tuple[int, float, float]] = []

    @classmethod
    def read(cls, folder: Path, step: int, eval_every: int) -> "Losses":
        """The losses up to `step`, as they were; without the validation of a stop in between."""
        losses, path = cls(folder), folder / "metrics.csv"
        if step == 0:
            return losses
        try:
            frame = pd.read_csv(path, dtype="float64")
            whole = frame[_STEP[:2]]
            if not (whole.ge(0) & whole.lt(2**53) & whole.mod(1).eq(0)).all(axis=None):
                raise ValueError("step and targets must be whole numbers")
            frame = frame.astype(dict.fromkeys(_STEP[:2], "int64"))
            frame = frame[frame["step"] <= step]
            steps, scored = frame[_STEP], frame[_VALIDATION].dropna()
        except (ValueError, KeyError) as error:
            told = " ".join(str(error).split())
            raise ValueError(f"{path.as_posix()} is damaged: {told:.200}") from None
        if steps["step"].tolist() != list(range(1, step + 1)):
            raise ValueError(f"{path.as_posix()} should have the losses of steps 1 to {step}")
        if step % eval_every:
            scored = scored[scored["step"] < step]
        losses.steps = list(steps.itertuples(index=False, name=None))
        losses.validations = list(scored.itertuples(index=False, name=None))
        return losses

    def add(self, step: int, targets: int, train_loss: float) -> None:
        """Keep a step's number of targets and their mean loss, in nats."""
        self.steps.append((step, targets, train_loss))

    def validate(self, step: int, receipt: Receipt) -> float:
        """Keep a validation; the mean loss of the targets since the last one.

        It is written to `metrics.csv`, `loss.png` and `receipt.json`.
        """
        since = self.validations[-1][0] if self.validations else 0
        self.validations.append((step, receipt.nats_per_token, receipt.bits_per_byte))
        frame = self.frame()
        if self.folder:
            self._write(frame, receipt)
        recent = frame[(frame["step"] > since) & (frame["targets"] > 0)]
        nats, targets = recent["train_loss"] * recent["targets"], recent["targets"].sum()
        return float(nats.sum() / targets) if targets else math.nan

    def _write(self, frame: pd.DataFrame, receipt: Receipt) -> None:
        write_text(self.folder / "metrics.csv", frame.to_csv(index=False, lineterminator="\n"))
        with written_whole(self.folder / "loss.png") as temporary:
            plot_losses(frame).savefig(temporary, dpi=120)
        write_json(self.folder / "receipt.json", receipt.as_dict())

    def frame(self) -> pd.DataFrame:
        """A row a step: `step`, `targets`, `train_loss`, and the numbers of a validation if any."""
        steps = pd.DataFrame(self.steps, columns=_STEP)
        validations = pd.DataFrame(self.validations, columns=_VALIDATION)
        return steps.merge(validations, how="left", on="step")


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


def load_run(folder: Path | str) -> tuple[GPT, Tokenizer]:
    """The model and the tokenizer of a run, ready to use.

    Raises:
        ValueError: When a file of it is damaged, or they do not fit each other.
    """
    folder = Path(folder)
    weights = checkpoint.load(folder).weights
    tok = Tokenizer.load(folder / "tokenizer.json")
    written = read_json(folder / "config.json")
    try:
        sizes = [int(written[name]) for name in ("n_layer", "n_head", "d_model")]
        held = sum(name.endswith(".qkv.weight") for name in weights)
        if sizes[0] != held:  # first, for a model of a billion layers would never be made
            raise ValueError(f"n_layer is {sizes[0]}, the weights have {held} layers")
        if weights["embed.weight"].shape != (tok.vocab_size, sizes[2]):
            raise ValueError(f"the embedding is {tuple(weights['embed.weight'].shape)}")
        model = GPT(tok.vocab_size, *sizes)
        model.load_state_dict(weights)
    except (ValueError, TypeError, KeyError, ArithmeticError, RuntimeError) as error:
        told = " ".join(str(error).split())
        raise ValueError(
            f"{folder.as_posix()}: config.json, tokenizer.json and the weights do not fit each "
            f"other ({told:.200})"
        ) from None
    return model, tok
