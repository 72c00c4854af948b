"""`python train.py`, from the command line to the folder of the run."""

import ast
import json
import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT

import checkpoint
import feed
import runs
import train
from config import Config
from model import GPT
from tokenizer import Tokenizer
from training import Trainer

SMALL = Config(
    corpus_path=str(ROOT / "data" / "corpus.csv"),
    max_rows=40,
    num_merges=100,
    seq_len=16,
    stride=16,
    n_layer=1,
    n_head=2,
    d_model=16,
    epochs=1,
    eval_every=10,
    device="cpu",
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder; its exit status, output and error."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str, **settings) -> tuple[int, str, str]:
        small = vars(SMALL) | settings
        flags = [
            f"--{name.replace('_', '-')}={value}"
            for name, value in small.items()
            if value is not None and not isinstance(value, bool)
        ]
        status = train.cli([*flags, *args])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_the_six_steps_are_called_in_the_documented_order_before_the_model_exists():
    tree = ast.parse((ROOT / "train.py").read_text(encoding="utf-8"))
    main = next(f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "main")
    calls = [
        (n.lineno, n.func.id)
        for n in ast.walk(main)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    road = ["load_corpus", "build_tokenizer", "encode_corpus", "split_ids", "make_windows", "GPT"]
    assert [name for _, name in sorted(calls) if name in road] == road


def test_a_run_leaves_its_folder_whole_and_says_where(run, tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        status, out, err = run()
    folder = tmp_path / "runs" / "001"
    assert (status, err) == (0, "")
    assert "40 rows read, 40 kept" in caplog.text
    assert "runs/001" in out
    assert sorted(p.name for p in folder.rglob("*")) == sorted(
        ["checkpoint", "000024", "model.safetensors", "optimizer.safetensors", "state.json"]
        + ["config.json", "tokenizer.json", "metrics.csv", "loss.png", "receipt.json"]
        + ["sample.txt", "ledger.csv", ".lock"]
    )
    assert json.loads((folder / "config.json").read_text()) == vars(SMALL)
    metrics = pd.read_csv(folder / "metrics.csv")
    receipt = json.loads((folder / "receipt.json").read_text())
    assert metrics["step"].tolist() == list(range(1, len(metrics) + 1))
    assert metrics["train_loss"].iloc[-1] < metrics["train_loss"].iloc[0]
    assert metrics["val_loss"].iloc[-1] == receipt["nats_per_token"]
    model, tok = runs.load_run(folder)
    assert receipt["tokenizer"] == tok.fingerprint
    assert model(torch.zeros(1, 3, dtype=torch.int64)).shape == (1, 3, tok.vocab_size)


def test_the_same_seed_gives_the_same_losses_and_text_bit_for_bit(run, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(name=name, seed=seed, steps=6, epochs=None)[0] == 0

    def left(name: str) -> list[str]:
        folder = tmp_path / "runs" / name
        return [(folder / f).read_text() for f in ("metrics.csv", "receipt.json", "sample.txt")]

    assert left("a") == left("b")
    assert all(one != other for one, other in zip(left("a"), left("c"), strict=True))


def test_the_plan_shows_numbers_leaks_and_tokens_and_stops_there(run, tmp_path):
    status, out, _ = run("--plan")
    assert status == 0
    asked = ("training windows W", "batches per epoch", "passes over the data", "leaks: the")
    for told in (*asked, "on two sides: 1 documents, 0 groups of equal texts"):
        assert told in out
    assert "What the tokenizer learned" in out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("args", [["--sampling", "random"], ["--layout", "eot"]])
def test_other_samplings_and_layouts_train_and_say_so(run, tmp_path, args):
    status, out, _ = run(*args)
    assert status == 0
    receipt = json.loads((tmp_path / "runs/001/receipt.json").read_text())
    assert receipt["layout"] == ("eot" if "eot" in args else "text")
    assert ("of the draws repeat one" in out) == ("random" in args)
    metrics = pd.read_csv(tmp_path / "runs/001/metrics.csv")
    assert metrics["train_loss"].iloc[-1] < metrics["train_loss"].iloc[0]


def test_with_an_end_of_text_a_document_gets_its_tokens_and_one_more():
    """Two documents of 2 and 3 bytes and no merges: 3 + 4 ids, and 5 bytes of text."""
    frame = pd.DataFrame({"text": ["hi", "you"]})
    tok = Tokenizer([])
    stream = train.encode_documents(frame, tok)
    train_side, val = train.cut_stream(stream, 4)
    had = feed.Prepared(frame, tok, train_side, train_side, val, None, "")
    plan = train.make_plan(SMALL, had, GPT(tok.vocab_size, 1, 2, 16))
    assert (plan.ids, plan.text_bytes, plan.documents) == (7, 5, 2)


def test_every_epoch_has_its_own_order_and_gives_every_window_once():
    """Two epochs of 10 windows in batches of 4, seeded 42 and 43."""
    inputs, targets = train.make_windows(np.arange(12), 2)
    config = Config(batch_size=4, seed=42)
    batches = train.epochs(config, inputs, targets)
    orders = [
        [i for xb, _ in (next(batches), next(batches), next(batches)) for i in xb[:, 0]]
        for _ in "ab"
    ]
    expected = [
        np.random.default_rng(seed).choice(10, 10, replace=False).tolist() for seed in (42, 43)
    ]
    assert orders == expected
    straight = train.epochs(Config(batch_size=4, shuffle="none"), inputs, targets)
    assert next(straight)[0][:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"corpus_path": "nothing.csv"}, "train.py: nothing.csv: there is no such file\n"),
        (
            {"corpus_column": "body"},
            "column 'body' is not there; the file has 'id', 'title', 'text'\n",
        ),
        ({"val_fraction": 1.5}, "train.py: --val-fraction must be above 0 and below 1, got 1.5\n"),
        ({"seq_len": 100_000, "stride": 1}, "the training side has "),
        ({"device": "tpu"}, "train.py: --device tpu is not on this machine, which has"),
        (
            {"epochs": 1, "steps": 1},
            "train.py: --epochs and --steps both set the length of the run",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line_before_any_work(run, tmp_path, settings, told):
    status, _, err = run(**settings)
    assert status == 2
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_no_space_left_is_told_in_one_line_and_leaves_no_half_file(run, tmp_path, monkeypatch):
    def full(*args, **settings):
        raise OSError(28, "No space left on device", "loss.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    status, _, err = run()
    assert (status, err) == (2, "train.py: loss.png: No space left on device\n")
    left = sorted(p.name for p in (tmp_path / "runs" / "001").iterdir())
    names = ["checkpoint", "config.json", "ledger.csv", "metrics.csv", "tokenizer.json"]
    assert left == [".lock", *names]
    assert [p.name for p in (tmp_path / "runs/001/checkpoint").iterdir()] == ["000000"]


def test_ctrl_c_in_a_step_finishes_it_and_keeps_what_was_done(run, tmp_path, monkeypatch):
    real = Trainer.train_on

    def interrupted(self, *batch):
        if self.step == 4:
            signal.raise_signal(signal.SIGINT)
        return real(self, *batch)

    monkeypatch.setattr(Trainer, "train_on", interrupted)
    status, out, _ = run()
    assert status == 130
    assert "stopped by Ctrl-C after step 5 of" in out
    assert len(pd.read_csv(tmp_path / "runs" / "001" / "metrics.csv")) == 5
    assert checkpoint.load(tmp_path / "runs" / "001").state["step"] == 5
    runs.load_run(tmp_path / "runs" / "001")


def test_importing_every_module_touches_no_global_random_state():
    names = sorted(path.stem for path in ROOT.glob("*.py"))
    program = (
        "import random, numpy, torch\n"
        "def state():\n"
        "    return random.getstate(), repr(numpy.random.mtrand._rand.get_state()), "
        "torch.get_rng_state().tolist()\n"
        f"before = state()\nimport {', '.join(names)}\nassert state() == before"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def process(folder, *args: str) -> subprocess.Popen:
    flags = ["--num-merges=100", "--n-layer=1", "--d-model=32", "--eval-every=5", "--device=cpu"]
    return subprocess.Popen(
        [sys.executable, ROOT / "train.py", *flags, *args],
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGINT to another process needs a Unix")
def test_ctrl_c_ends_a_real_process_cleanly(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "corpus.csv").write_bytes((ROOT / "data" / "corpus.csv").read_bytes())
    running = process(tmp_path, "--steps=100000")
    metrics = tmp_path / "runs" / "001" / "metrics.csv"
    deadline = time.time() + 120
    while not metrics.exists() and time.time() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "stopped by Ctrl-C after step" in out
    assert "Traceback" not in out + err
    runs.load_run(tmp_path / "runs" / "001")


@pytest.mark.slow
def test_two_processes_give_the_same_losses_bit_for_bit(tmp_path):
    corpus = f"--corpus-path={ROOT / 'data' / 'corpus.csv'}"
    for name in ("a", "b"):
        out, err = process(tmp_path, corpus, "--steps=12", f"--name={name}").communicate(
            timeout=300
        )
        assert "runs/" in out, err
    left = [(tmp_path / "runs" / name / "metrics.csv").read_bytes() for name in ("a", "b")]
    assert left[0] == left[1]


@pytest.mark.slow
def test_training_from_prepared_streams_is_the_run_that_the_file_gives(tmp_path):
    """Losses, receipt and ledger byte for byte; only the file's own words are not looked up."""
    corpus = f"--corpus-path={ROOT / 'data' / 'corpus.csv'}"
    prepared = [sys.executable, ROOT / "prepare.py", corpus, "--num-merges=100", "--out=tokens"]
    subprocess.run([*prepared, "--workers=1"], cwd=tmp_path, check=True, capture_output=True)
    flags = ["--steps=20", "--n-layer=1", "--d-model=32", "--eval-every=5", "--device=cpu"]
    flags += ["--shuffle=bijection", "--boundaries=isolated"]
    divided = [corpus, "--num-merges=100", "--split=documents", "--layout=eot"]
    for name, where in (("file", divided), ("tokens", ["--tokens=tokens"])):
        command = [sys.executable, ROOT / "train.py", *flags, *where, f"--name={name}"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for file in ("metrics.csv", "receipt.json", "ledger.csv", "tokenizer.json"):
        left = [(tmp_path / "runs" / name / file).read_bytes() for name in ("file", "tokens")]
        assert left[0] == left[1], file


def test_divided_and_packed_documents_are_told_trained_on_and_accounted_for(run, tmp_path):
    args = ["--split", "documents", "--layout", "packed", "--boundaries", "isolated"]
    status, out, _ = run(*args, "--test-fraction", "0.2", max_rows=80, stride=Config.stride)
    folder = tmp_path / "runs" / "001"
    assert status == 0
    assert "no document, group or window is on two sides" in out
    assert "% full" in out
    receipts = [json.loads((folder / f"receipt{n}.json").read_text()) for n in ("", "-test")]
    assert {(r["layout"], r["boundaries"]) for r in receipts} == {("eot", "isolated")}
    assert receipts[0]["documents"] != receipts[1]["documents"]
    book = pd.read_csv(folder / "ledger.csv")
    parts = book[["trained", "context_only", "masked", "dropped"]].sum(axis=1)
    assert (book["read"] == parts).all()
    metrics = pd.read_csv(folder / "metrics.csv")
    assert book["times"].sum() == metrics["targets"].sum()
    assert (folder / "rows.png").exists()


@pytest.mark.parametrize("args", [[], ["--sampling", "random"], ["--layout", "eot"]])
def test_the_ledger_counts_the_targets_that_the_steps_counted(run, tmp_path, args):
    """Over two epochs and a half: the run's own sum of targets, and the ledger's predictions."""
    assert run(*args, epochs=None, steps=30)[0] == 0
    folder = tmp_path / "runs" / "001"
    metrics = pd.read_csv(folder / "metrics.csv")
    assert pd.read_csv(folder / "ledger.csv")["times"].sum() == metrics["targets"].sum()


def test_a_window_is_explained_and_rows_are_shown_instead_of_training(run, tmp_path):
    status, out, _ = run("--explain", "3", "--html", "window.html", "--show-rows", "2")
    assert status == 0
    assert "window 0\n" in out
    assert "Window 3 of" in out
    assert (tmp_path / "window.html").exists()
    assert not (tmp_path / "runs").exists()
    status, _, err = run("--explain", "99999")
    assert status == 2
    assert err.startswith("train.py: there is no window 99999; choose one")


def test_groups_of_a_column_stay_on_one_side(run, tmp_path):
    lines = ["id,text"]
    lines += [f"{k % 7},story {k} of the old man and the sea and more {k}" for k in range(140)]
    (tmp_path / "own.csv").write_text("\n".join(lines), encoding="utf-8")
    args = ["--split", "documents", "--group-column", "id", "--val-fraction", "0.4"]
    status, out, err = run(*args, corpus_path="own.csv", max_rows=None)
    assert (status, err) == (0, "")
    table = out.split("Sides")[1].split("no document")[0]
    rows = [line.split("│")[1:] for line in table.splitlines() if "│" in line]
    assert sum(int(groups) for _, _, groups, *_ in rows) == 7
    assert sum(int(documents) for _, documents, *_ in rows) == 140
