"""A resumed run is the same run: stopped anywhere, it ends with the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from filelock import FileLock

import checkpoint
import config
import runs
import train
from files import read_json, write_json
from training import Trainer

FLAGS = f"--corpus-path {(ROOT / 'data' / 'corpus.csv').as_posix()} --max-rows 40 --num-merges 100"
FLAGS += " --seq-len 16 --stride 16 --n-layer 1 --n-head 2 --d-model 16 --device cpu"
FLAGS += " --eval-every 6 --epochs 2 --batch-size 64"  # 744 windows: 12 batches an epoch, 24 steps
SCHEMES = ["--sampling epoch", "--sampling random", "--layout eot", "--shuffle none"]
SCHEMES += ["--shuffle bijection"]
SCHEMES += ["--layout eot --boundaries isolated --sampling random"]
PACKED = FLAGS.replace("--stride 16", "--split documents --layout packed --boundaries isolated")


class Killed(BaseException):
    """Ends a run where it stands; nothing catches it."""


def cli(*args: str, scheme: str = "") -> int:
    return train.cli([*FLAGS.split(), *scheme.split(), *args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def stopped(monkeypatch, step: int, *args: str, scheme: str = "") -> None:
    """A run that is killed in the step after `step` steps."""
    real = Trainer.train_on

    def train_on(self, *batch):
        if self.step == step:
            raise Killed
        return real(self, *batch)

    monkeypatch.setattr(Trainer, "train_on", train_on)
    with pytest.raises(Killed):
        cli(*args, scheme=scheme)
    monkeypatch.setattr(Trainer, "train_on", real)


def left(run: Path) -> dict[str, bytes]:
    """All that a run leaves but its plot, by name; settings without the run's own name."""
    files = {p.relative_to(run).as_posix(): p for p in run.rglob("*") if p.is_file()}
    content = {name: p.read_bytes() for name, p in files.items() if p.suffix != ".png"}
    return {name: b.replace(run.name.encode(), b"NAME") for name, b in content.items()}


def assert_same_run(one: Path, other: Path) -> None:
    first, second = left(one), left(other)
    assert list(first) != []
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.parametrize(
    "scheme", [SCHEMES[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SCHEMES[1:])]
)
def test_a_run_that_is_killed_three_times_ends_with_the_same_bytes(folder, monkeypatch, scheme):
    """It goes on from the start, from an epoch's end (step 12), and from the middle of one."""
    assert cli("--name", "whole", scheme=scheme) == 0
    stopped(monkeypatch, 5, "--name", "parts", scheme=scheme)
    for step in (13, 20):
        stopped(monkeypatch, step, "--resume", "runs/parts", scheme=scheme)
    assert train.cli(["--resume", "runs/parts"]) == 0
    assert_same_run(folder / "whole", folder / "parts")


@pytest.mark.parametrize(("step", "epoch", "batch"), [(0, 0, 0), (2, 0, 2), (3, 1, 0), (7, 2, 1)])
def test_a_run_from_a_step_on_begins_inside_its_epoch(step, epoch, batch):
    """10 windows in batches of 4: three batches an epoch, so step 7 is batch 1 of epoch 2."""
    inputs, targets = train.make_windows(np.arange(12), 2)
    settings = config.Config(batch_size=4, seed=42)
    order = np.random.default_rng(42 + epoch).choice(10, 10, replace=False)
    xb, _ = next(train.epochs(settings, inputs, targets, step))
    assert xb[:, 0].tolist() == order[4 * batch : 4 * batch + 4].tolist()


def test_batches_from_a_step_on_are_those_of_the_run_that_was_not_stopped():
    inputs, targets = train.make_windows(np.arange(12), 2)
    settings = config.Config(batch_size=4, seed=1)
    whole = train.epochs(settings, inputs, targets)
    run = [next(whole)[0].tolist() for _ in range(9)]
    for step in range(9):
        coming = train.epochs(settings, inputs, targets, step)
        assert [next(coming)[0].tolist() for _ in range(9 - step)] == run[step:]


def test_a_packed_isolated_run_that_is_killed_ends_with_the_same_bytes(folder, monkeypatch):
    monkeypatch.setattr("test_resume.FLAGS", PACKED + " --test-fraction 0.1")
    assert cli("--name", "whole") == 0
    stopped(monkeypatch, 7, "--name", "parts")
    stopped(monkeypatch, 13, "--resume", "runs/parts")
    assert train.cli(["--resume", "runs/parts"]) == 0
    assert_same_run(folder / "whole", folder / "parts")
    assert (folder / "parts" / "receipt-test.json").exists()


@pytest.mark.parametrize("step", [12, 24])
def test_a_stop_at_an_epochs_end_or_after_the_last_step_repeats_and_skips_nothing(
    folder, monkeypatch, step
):
    """Killed right after the checkpoint of that step: 24 is the last, its samples are to come."""
    args = ("--eval-every", "12")
    assert cli("--name", "whole", *args) == 0
    real = checkpoint.save

    def save(run, weights, optimizers, state):
        real(run, weights, optimizers, state)
        if state["step"] == step:
            raise Killed

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.raises(Killed):
        cli("--name", "parts", *args)
    monkeypatch.setattr(checkpoint, "save", real)
    assert train.cli(["--resume", "last"]) == 0
    assert_same_run(folder / "whole", folder / "parts")


def test_a_run_that_ctrl_c_stopped_goes_on_as_if_it_had_not(folder, monkeypatch, capsys):
    """Its validation in between, at step 7, is no longer among its losses."""
    assert cli("--name", "whole") == 0
    real = Trainer.train_on

    def train_on(self, *batch):
        if self.step == 6:
            signal.raise_signal(signal.SIGINT)
        return real(self, *batch)

    monkeypatch.setattr(Trainer, "train_on", train_on)
    assert cli("--name", "parts") == 130
    told = " ".join(capsys.readouterr().out.split())
    assert "what was trained is kept, and --resume runs/parts goes on" in told
    assert checkpoint.load(folder / "parts").state["step"] == 7
    monkeypatch.setattr(Trainer, "train_on", real)
    assert train.cli(["--resume", "last"]) == 0
    assert_same_run(folder / "whole", folder / "parts")


def test_a_finished_run_says_so_and_is_left_alone(folder, capsys):
    assert cli() == 0
    before = left(folder / "001")
    assert train.cli(["--resume", "last"]) == 0
    assert "runs/001 is finished: all 24 steps are done" in capsys.readouterr().out
    assert left(folder / "001") == before


def test_last_is_the_run_that_was_saved_last(folder, tmp_path):
    assert cli("--steps", "2", "--epochs", "None", "--name", "b") == 0
    assert cli("--steps", "2", "--epochs", "None", "--name", "a") == 0
    assert runs.find(folder, "last") == folder / "a"
    os.utime(next((folder / "b").glob("checkpoint/*/state.json")))
    assert runs.find(folder, "last") == folder / "b"
    assert runs.find(folder, str(folder / "a")) == folder / "a"


# ---- what may change, and what is refused


@pytest.fixture
def begun(folder, monkeypatch, capsys):
    """A run that was killed after seven steps; gives what `--resume` says to it."""
    copy = folder.parent / "own.csv"
    lines = (ROOT / "data" / "corpus.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    copy.write_text("".join(lines[:600]), encoding="utf-8", newline="")
    stopped(monkeypatch, 7, "--corpus-path", "own.csv")
    capsys.readouterr()

    def resume(*args: str) -> tuple[int, str, str]:
        status = train.cli(["--resume", "runs/001", *args])
        return status, *capsys.readouterr()

    return resume


def refused(begun, told: str, *args: str) -> None:
    before = left(Path("runs/001"))
    status, _, err = begun(*args)
    assert (status, err.count("\n")) == (2, 1)
    assert told in err
    assert left(Path("runs/001")) == before


@pytest.mark.parametrize(
    "args",
    ["--lr 0.1", "--batch-size 32", "--seed 1", "--sampling random", "--layout eot", "--steps 9"]
    + ["--name mine", "--max-rows 41", "--amp", "--epochs 3", "--shuffle none"]
    + ["--val-fraction 0.2"],
)
def test_a_setting_that_would_make_another_run_is_refused_by_name(begun, args):
    flag = args.split()[0]
    refused(begun, f"train.py: {flag} was ", *args.split())


def test_settings_that_do_not_feed_a_run_may_change(begun, capsys):
    status, _, _ = begun("--eval-stride", "4", "--eval-every", "9")
    assert status == 0
    assert read_json(Path("runs/001/receipt.json"))["stride"] == 4
    assert runs.Losses.read(Path("runs/001"), 24, 9).validations[-1][0] == 18


def test_a_change_of_threads_is_told(begun, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)  # two are slow beside other tests
    status, out, _ = begun("--threads", "2")
    assert status == 0
    assert "the last bits may differ: threads: 1 before, 2 now" in out


def test_a_changed_corpus_is_refused_and_one_that_moved_is_not(begun):
    corpus = Path("own.csv")
    content = corpus.read_bytes()
    corpus.write_bytes(content + b'700,"new","One more story."\n')
    refused(begun, "train.py: the corpus is not what it was when the run was stopped")
    corpus.write_bytes(content)
    corpus.rename("moved.csv")
    refused(begun, "train.py: own.csv: there is no such file")
    assert begun("--corpus-path", "moved.csv")[0] == 0


def test_another_tokenizer_is_refused(begun, monkeypatch):
    real = train.build_tokenizer
    monkeypatch.setattr(train, "build_tokenizer", lambda text, n: real(text, n - 1))
    refused(begun, "train.py: the tokenizer that is learned from the corpus is not what it was")


def test_code_that_would_feed_another_batch_is_refused(begun, monkeypatch):
    real = train.epoch_order
    monkeypatch.setattr(train, "epoch_order", lambda *of: real(*of)[::-1])
    refused(begun, "train.py: the next batch is not what it was when the run was stopped")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("batch_size", 65, "train.py: --batch-size was 64 in this run and cannot change"),
        ("batch_size", "64", "config.json has '64' for 'batch_size', which cannot be"),
        ("sampling", "often", "config.json has 'often' for 'sampling', which cannot be"),
        ("n_heads", 2, "config.json has 'n_heads', a setting that is not known here"),
    ],
)
def test_a_config_that_was_edited_is_refused_by_name(begun, name, value, told):
    path = Path("runs/001/config.json")
    write_json(path, read_json(path) | {name: value})
    refused(begun, told)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: "", "metrics.csv is damaged: "),
        (lambda text: text.replace("train_loss", "loss"), "metrics.csv is damaged: "),
        (lambda text: text.replace("\n3,", "\n4,"), "should have the losses of steps 1 to 6"),
        (lambda text: "\n".join(text.splitlines()[:3]), "should have the losses of steps 1 to 6"),
    ],
)
def test_damaged_losses_are_refused(begun, damage, told):
    path = Path("runs/001/metrics.csv")
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    refused(begun, told)


def test_a_run_that_another_process_is_at_is_refused(begun):
    with FileLock("runs/001/.lock", timeout=0):
        refused(begun, "train.py: runs/001 is in use by another process; wait for its end")


def test_a_run_that_is_training_is_not_resumed_beside_it(folder, monkeypatch, capsys):
    real = Trainer.train_on

    def train_on(self, *batch):
        if self.step == 2:
            assert train.cli(["--resume", "runs/001"]) == 2
        return real(self, *batch)

    monkeypatch.setattr(Trainer, "train_on", train_on)
    assert cli() == 0
    assert "runs/001 is in use by another process" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("which", "told"),
    [
        ("last", "train.py: runs: no run there has a checkpoint to go on with\n"),
        ("runs/007", "train.py: runs/007: there is no run to go on with; try --resume last\n"),
    ],
)
def test_a_run_that_is_not_there_is_refused(folder, capsys, which, told):
    assert train.cli(["--resume", which]) == 2
    assert capsys.readouterr().err == told


def test_a_run_that_was_killed_before_its_first_checkpoint_is_refused(folder, monkeypatch, capsys):
    def killed(*args):
        raise Killed

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(Killed):
        cli()
    assert train.cli(["--resume", "runs/001"]) == 2
    assert "runs/001: no checkpoint there" in capsys.readouterr().err


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_last_checkpoint(folder, capsys):
    assert cli("--lr", "1e38") == 2
    assert "; use a smaller --lr\n" in capsys.readouterr().err
    assert checkpoint.load(folder / "001").state["step"] in (0, 6)


# ---- real processes


def process(folder: Path, *args: str) -> subprocess.Popen:
    command = [sys.executable, ROOT / "train.py", *args]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL needs a Unix")
@pytest.mark.parametrize("scheme", SCHEMES[:2])
def test_a_process_killed_at_random_moments_ends_with_the_same_bytes(tmp_path, scheme):
    """Every other kill comes while a checkpoint is being written."""
    flags = [*FLAGS.split(), *scheme.split(), "--d-model", "64", "--eval-every", "2"]
    whole = process(tmp_path, *flags, "--name", "whole")
    whole.communicate(timeout=300)
    assert whole.returncode == 0
    run, rng, half_written = tmp_path / "runs" / "parts", random.Random(7), 0
    begin = [*flags, "--name", "parts"]
    for kill in range(6):
        running = process(tmp_path, *begin)
        before = set(run.glob("checkpoint/*"))
        while running.poll() is None and set(run.glob("checkpoint/[0-9]*")) <= before:
            time.sleep(0.001)
        if kill % 2:
            time.sleep(rng.uniform(0, 0.15))
        else:
            while running.poll() is None and not list(run.glob("checkpoint/.*.tmp")):
                time.sleep(0.0002)
        running.kill()
        running.communicate()
        half_written += len(list(run.glob("checkpoint/.*.tmp")))
        begin = ["--resume", "runs/parts"]
    last = process(tmp_path, *begin)
    out, _ = last.communicate(timeout=300)
    assert last.returncode == 0, out.decode()
    assert half_written >= 1
    assert_same_run(tmp_path / "runs" / "whole", run)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="limits on the size of files need a Unix")
def test_a_process_without_space_ends_in_one_line_with_its_last_checkpoint(tmp_path):
    """The first checkpoint has no averages yet; that of step 6 is larger than may be written."""
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (450_000, resource.RLIM_INFINITY))\n"
        f"sys.path.insert(0, {str(ROOT)!r})\nimport train\nsys.exit(train.cli(sys.argv[1:]))"
    )
    flags = [*FLAGS.split(), "--d-model", "64"]
    command = [sys.executable, "-c", program, *flags, "--name", "parts"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    run = tmp_path / "runs" / "parts"
    told = [line for line in done.stderr.splitlines() if line.startswith("train.py:")]
    assert done.returncode == 2, done.stderr
    assert told == ["train.py: runs/parts/checkpoint/000006: File too large"]
    assert "Traceback" not in done.stderr
    assert [path.name for path in (run / "checkpoint").iterdir()] == ["000000"]
    for args in (["--resume", "last"], [*flags, "--name", "whole"]):
        finished = process(tmp_path, *args)
        finished.communicate(timeout=300)
        assert finished.returncode == 0
    assert_same_run(tmp_path / "runs" / "whole", run)


def test_everything_a_checkpoint_holds_is_needed():
    """Without any one of the optimisers' tensors, the weights of the next step differ."""
    rng = np.random.default_rng(0)
    batches = [rng.integers(0, 20, size=(4, 9)) for _ in range(4)]

    def trainer() -> Trainer:
        return Trainer(train.GPT(20, 1, 2, 16, seed=3), 9, 32, lr=0.02, warmup=2)

    def step(t: Trainer, k: int) -> dict[str, torch.Tensor]:
        t.train_on(batches[k][:, :-1], batches[k][:, 1:])
        return t.weights()

    first = trainer()
    for k in range(3):
        step(first, k)
    weights = {name: w.clone() for name, w in first.weights().items()}
    tensors = {name: t.clone() for name, t in first.optimizer_tensors().items()}
    after = step(first, 3)
    for gone in [None, *tensors]:
        second = trainer()
        held = {n: torch.zeros_like(t) if n == gone else t.clone() for n, t in tensors.items()}
        second.restore(3, weights, held)
        same = all(torch.equal(after[n], w) for n, w in step(second, 3).items())
        assert same == (gone is None), gone


def test_the_settings_of_a_run_are_read_back_as_they_were():
    begun = config.parse(["--max-rows", "None", "--steps", "9", "--amp", "--lr", "0.1"])
    written = json.loads(json.dumps(vars(begun)))
    assert config.read_settings(written, "config.json") == begun
