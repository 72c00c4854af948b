"""Several processes that train one model: what each takes, and that together they are as one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

import checkpoint
import ranks
import runs
import train
from model import GPT
from ranks import Group, joined
from scoring import Receipt
from training import Trainer

CPU = torch.device("cpu")
TOLERANCE = 1e-5  # of a loss, in float32


class Alone(Group):
    """One of several, without the others: what it would send is kept."""

    def wrap(self, model):
        return model

    def sum(self, number):
        return number


# ---- the rows of each


@pytest.mark.eq("rank-rows")
def test_of_seven_rows_three_processes_take_every_third():
    """0 3 6, 1 4, 2 5."""
    shares = [Group(rank, 3).share(list(range(7))) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4], [2, 5]]  # eq: rank-rows


@given(st.integers(0, 40), st.integers(1, 8))
def test_every_row_is_taken_once_and_shares_differ_by_one_row_at_most(rows, world_size):
    shares = [Group(rank, world_size).share(np.arange(rows)) for rank in range(world_size)]
    assert sorted(np.concatenate(shares)) == list(range(rows))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


BATCH = np.random.default_rng(0).integers(0, 20, size=(5, 9))


def small_model() -> GPT:
    """A model in float64 whose every weight has a gradient."""
    model = GPT(20, n_layer=1, n_head=2, d_model=16, seed=3).double()
    torch.nn.init.normal_(model.head.weight, generator=torch.Generator().manual_seed(0))
    return model


def gradients(rows: int, rank: int, world_size: int, segments=None) -> list[torch.Tensor]:
    """The gradients that a process has of a batch of `rows` windows, in float64."""
    model = small_model()
    how = {} if segments is None else {"boundaries": "isolated"}
    group = Alone(rank, world_size)
    trainer = Trainer(model, 9, 5 * 8, lr=0.02, warmup=2, clip=1e9, group=group, **how)
    found: list[torch.Tensor] = []
    for weight in model.parameters():
        weight.register_post_accumulate_grad_hook(lambda w: found.append(w.grad.clone()))
    batch = BATCH[:rows]
    given = None if segments is None else segments[:rows]
    trainer.train_on(batch[:, :-1], batch[:, 1:], given)
    assert len(found) == len(list(model.parameters()))
    return found


@pytest.mark.eq("rank-gradient")
@pytest.mark.parametrize("rows", [5, 4, 2, 1])
@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("isolated", [False, True])
def test_the_mean_of_the_gradients_of_all_is_the_gradient_of_one_alone(rows, world_size, isolated):
    """Also of a short last batch of which some get no row, and with targets that do not count."""
    segments = np.repeat([[1, 1, 1, 2, 2, 2, 2, 0, 0]], 5, axis=0) if isolated else None
    one = gradients(rows, 0, 1, segments)
    each = [gradients(rows, rank, world_size, segments) for rank in range(world_size)]
    for alone, *of_all in zip(one, *each, strict=True):
        mean = sum(of_all) / world_size
        assert torch.allclose(mean, alone, rtol=1e-12, atol=1e-15)  # eq: rank-gradient


@pytest.mark.eq("rank-gradient")
@pytest.mark.parametrize("rows", [5, 2])
def test_a_loss_is_divided_by_the_targets_of_a_full_batch(rows):
    """5 × 8 of them: a full batch weighs as its mean loss does, two rows two fifths of theirs."""
    model, batch = small_model(), torch.from_numpy(BATCH[:rows])
    logits = model(batch[:, :-1]).flatten(0, 1)
    (F.cross_entropy(logits, batch[:, 1:].flatten()) * rows / 5).backward()
    length = sum(weight.grad.square().sum().item() for weight in model.parameters())
    found = sum(own.square().sum().item() for own in gradients(rows, 0, 1))
    assert found == pytest.approx(length, rel=1e-5)  # eq: rank-gradient


def test_a_receipt_of_two_processes_is_the_sum_of_theirs():
    class Twin(Group):
        def add(self, numbers):
            return [2 * number for number in numbers]

    both = train.summed(Receipt(5, 3, 4, seq_len=8, stride=4), Twin(0, 2))
    assert both == Receipt(10, 6, 8, seq_len=8, stride=4)


# ---- joining


@pytest.fixture
def torchrun(monkeypatch):
    """The environment that `torchrun` gives a process."""

    def given(rank: int, world_size: int) -> None:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world_size))

    return given


def test_without_torchrun_there_is_one_process_that_leads_and_adds_nothing():
    with joined(CPU, 7) as group:
        model = torch.nn.Linear(1, 1)
        assert (group.rank, group.world_size, group.leads) == (0, 1, True)
        assert group.wrap(model) is model
        assert (group.sum(2.5), group.any(True), group.add([3, -4])) == (2.5, True, [3, -4])


@pytest.mark.parametrize(
    ("device", "batch_size", "message"),
    [
        ("cpu", 7, "that of all 2 processes together and must divide by their number, got 7"),
        ("mps", 8, "several processes train on cpu or cuda, not mps; use --device cpu"),
    ],
)
def test_what_cannot_be_shared_out_is_refused(torchrun, device, batch_size, message):
    torchrun(0, 2)
    with pytest.raises(ValueError, match=message), joined(torch.device(device), batch_size):
        pass


def test_a_process_that_is_gone_is_told_with_the_way_out(torchrun, monkeypatch):
    torchrun(1, 2)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda *args, **how: None)
    with pytest.raises(ConnectionError, match="rank 1 of 2 lost another process") as told:
        with joined(CPU, 4):
            raise RuntimeError("[gloo/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:1234")
    assert "start the job again with --resume last" in str(told.value)


@pytest.mark.skipif(os.name == "nt", reason="torchrun sends SIGTERM on a Unix")
def test_told_to_end_it_says_why_that_may_be(torchrun, monkeypatch):
    torchrun(0, 2)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda *args, **how: None)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ConnectionError, match="rank 0 of 2 was told to end, as torchrun does"):
        with joined(CPU, 4):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_mistake_of_ours_is_not_told_as_a_lost_process(torchrun, monkeypatch):
    torchrun(1, 2)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda *args, **how: None)
    with pytest.raises(RuntimeError, match="documents are on two sides"), joined(CPU, 4):
        raise RuntimeError("documents are on two sides, which is a mistake of ours")


def test_another_than_the_first_process_shows_nothing_and_tells_its_rank(torchrun, capsys):
    torchrun(3, 4)
    assert train.cli(["--batch-size", "6", "--device", "cpu"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("train.py (rank 3): --batch-size is that of all 4 processes together")


def test_on_a_gpu_each_process_has_its_own(torchrun, monkeypatch):
    """Nothing here needs a GPU: what would be asked of torch is written down."""
    torchrun(3, 4)
    monkeypatch.setenv("LOCAL_RANK", "1")
    asked = []
    monkeypatch.setattr(torch.cuda, "set_device", asked.append)
    monkeypatch.setattr(ranks.dist, "init_process_group", lambda *args, **how: asked.append(args))
    monkeypatch.setattr(ranks.dist, "barrier", lambda: asked.append("barrier"))
    with joined(torch.device("cuda"), 8) as group:
        assert group == Group(3, 4, torch.device("cuda", 1))
    assert asked == [torch.device("cuda", 1), ("nccl",), "barrier"]


# ---- real processes

FLAGS = f"--corpus-path {(ROOT / 'data' / 'corpus.csv').as_posix()} --max-rows 40 --num-merges 100"
FLAGS += " --seq-len 16 --n-layer 1 --n-head 2 --d-model 16 --device cpu --eval-every 4"
SCHEMES = ["--batch-size 20", "--batch-size 20 --sampling random", "--batch-size 20"]
SCHEMES[2] += " --shuffle bijection --layout packed --split documents --boundaries isolated"


def job(folder: Path, processes: int, flags: str, **how) -> subprocess.Popen:
    launch = [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone"]
    launch += [] if processes == 1 else ["--nproc-per-node", str(processes)]
    return subprocess.Popen(
        [sys.executable, *launch, ROOT / "train.py", *FLAGS.split(), *flags.split()],
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


def finished(folder: Path, processes: int, flags: str) -> str:
    running = job(folder, processes, flags)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    return out


def left(folder: Path, name: str) -> tuple[pd.DataFrame, dict]:
    run = folder / "runs" / name
    receipt = json.loads((run / "receipt.json").read_text(encoding="utf-8"))
    return pd.read_csv(run / "metrics.csv"), receipt


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_two_and_four_processes_are_the_same_run(tmp_path, scheme):
    """Losses to float32's accuracy; counts, settings and what comes next exactly."""
    for processes in (1, 2, 4):
        told = finished(tmp_path, processes, f"{scheme} --steps 14 --name of-{processes}")
        assert told.count("parameters") == 1  # one process shows things
    metrics, receipt = left(tmp_path, "of-1")
    state = checkpoint.load(tmp_path / "runs/of-1").state
    for processes in (2, 4):
        others, other = left(tmp_path, f"of-{processes}")
        assert others["targets"].tolist() == metrics["targets"].tolist()
        assert np.allclose(others["train_loss"], metrics["train_loss"], rtol=TOLERANCE)
        exact = ("count", "text_bytes", "data", "documents", "tokenizer")
        assert [other[name] for name in exact] == [receipt[name] for name in exact]
        assert other["sum_nats"] == pytest.approx(receipt["sum_nats"], rel=TOLERANCE)
        kept = checkpoint.load(tmp_path / f"runs/of-{processes}").state
        assert (kept["next_batch"], kept["processes"]) == (state["next_batch"], processes)


@pytest.mark.slow
def test_the_short_last_batch_of_an_epoch_may_leave_a_process_without_rows(tmp_path):
    """Of W windows in batches of 100 the last has W mod 100; two epochs over few documents."""
    flags = "--max-rows 10 --stride 16 --batch-size 100 --epochs 2"
    for processes in (1, 4):
        finished(tmp_path, processes, f"{flags} --name of-{processes}")
    (one, _), (four, _) = left(tmp_path, "of-1"), left(tmp_path, "of-4")
    assert one["targets"].nunique() == 2
    assert four["targets"].tolist() == one["targets"].tolist()
    assert np.allclose(four["train_loss"], one["train_loss"], rtol=TOLERANCE)


@pytest.mark.slow
def test_a_run_saved_by_two_processes_goes_on_with_one_and_with_four(tmp_path):
    """The batches are the same: the digest of the next one is checked before it goes on."""
    flags = "--batch-size 20 --steps 12"
    finished(tmp_path, 1, f"{flags} --name whole")
    whole, _ = left(tmp_path, "whole")
    for processes in (1, 4):
        name = f"then-{processes}"
        running = job(tmp_path, 2, f"{flags} --name {name}")
        wait_for(tmp_path / "runs" / name / "checkpoint" / "000004", running)
        end(running)
        told = finished(tmp_path, processes, f"--resume runs/{name}")
        assert f"processes: 2 before, {processes} now" in told
        metrics, _ = left(tmp_path, name)
        assert np.allclose(metrics["train_loss"], whole["train_loss"], rtol=TOLERANCE)


def wait_for(path: Path, running: subprocess.Popen) -> None:
    deadline = time.time() + 200
    while not path.exists() and time.time() < deadline and running.poll() is None:
        time.sleep(0.02)
    assert path.exists(), running.communicate()


def workers(running: subprocess.Popen) -> list[psutil.Process]:
    """The training processes of a job, by rank."""
    children = psutil.Process(running.pid).children(recursive=True)
    ours = [child for child in children if any("train.py" in word for word in child.cmdline())]
    return sorted(ours, key=lambda child: int(child.environ()["RANK"]))


def end(running: subprocess.Popen) -> None:
    for process in [*workers(running), psutil.Process(running.pid)]:
        process.kill()
    running.communicate(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_dies_ends_the_job_and_leaves_a_whole_checkpoint(tmp_path, rank):
    running = job(tmp_path, 2, "--batch-size 20 --steps 100000 --name a")
    wait_for(tmp_path / "runs/a/checkpoint/000004", running)
    workers(running)[rank].kill()
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1
    told = [line for line in err.splitlines() if line.startswith("train.py")]
    assert [f"rank {1 - rank} of 2" in line and "--resume last" in line for line in told] == [True]
    step = checkpoint.load(tmp_path / "runs/a").state["step"]
    runs.load_run(tmp_path / "runs/a")
    again = job(tmp_path, 2, "--resume runs/a")
    wait_for(tmp_path / f"runs/a/checkpoint/{step + 4:06}", again)
    end(again)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGINT to another process needs a Unix")
def test_ctrl_c_stops_all_processes_after_one_step_and_keeps_it(tmp_path):
    running = job(tmp_path, 2, "--batch-size 20 --steps 100000 --name a", start_new_session=True)
    wait_for(tmp_path / "runs/a/checkpoint/000004", running)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to torchrun and its processes
    out, err = running.communicate(timeout=120)
    assert "stopped by Ctrl-C after step" in out, err
    step = checkpoint.load(tmp_path / "runs/a").state["step"]
    assert len(left(tmp_path, "a")[0]) == step


@pytest.mark.slow
def test_four_processes_leave_together(tmp_path):
    """Without a barrier at the end five of nine such jobs ended badly (docs/decisions.md)."""
    for k in range(3):
        finished(tmp_path, 4, f"--batch-size 20 --steps 1 --name n{k}")
