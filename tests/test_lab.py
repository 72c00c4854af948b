"""`python lab.py`: what it shows, what it refuses, what it leaves, and its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from test_checks import Holes, drawn_globally

import checks
import lab
from attention import causal
from checks import WINDOWS
from lab import Tokens


@pytest.fixture(scope="module", autouse=True)
def learn_once():
    """The tokenizers are learned once for the whole file."""
    real, learned = lab.build_tokenizer, {}

    def once(text: str, merges: int):
        if (text, merges) not in learned:
            learned[text, merges] = real(text, merges)
        return learned[text, merges]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lab, "build_tokenizer", once)
        yield


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder; its exit status, output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: str) -> tuple[int, str, str]:
        status = lab.cli(args)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


# ---- what holds


def test_the_run_of_tokens_tells_the_figures_of_the_stories(run):
    """631 end-of-texts among 632 stories; (128 + 1) / 2 = 64.5 ids at stride 128."""
    status, out, err = run("tokens")
    assert (status, err) == (0, "")
    for told in (
        *("train ids: 179,383", "val ids: 24,978", "test ids: 24,457"),
        *("train.bin bytes: 358,766", "70,000 in a cast: 4,464", "end-of-texts: 631"),
        *("windows with one: 78,368", "share of all: 43.719%", "targets: 24,977"),
        *("stride 128: once, from 64.5 ids", "batches 7 to 11 the same: yes"),
        "all 10 checks hold",
    ):
        assert told in out


def test_the_run_of_windows_shows_a_batch_as_text_and_counts_windows(run):
    """27,262 ids: ⌈27,246 / 16⌉ = 1,703, ⌈27,246 / 8⌉ = 3,406 and ⌈27,230 / 32⌉ = 851 windows."""
    status, out, err = run("windows")
    assert (status, err) == (0, "")
    for told in (
        *("ids: 27,262", "T = 16, stride 16: 1,703", "T = 16, stride 8: 3,406"),
        *("T = 16, stride 1: 27,246", "T = 32, stride 32: 851", "shape: (4, 16)"),
        *("ids left, stride 16: 13", "windows left, B = 4: 3", "all 5 checks hold"),
        " n|ow| he| b|ur|n|s| one|",
    ):
        assert told in out
    rows = [line.split("│") for line in out.splitlines() if line.count("│") == 4][:8]
    shown = [(cells[2].strip(), cells[3].strip().split("|")) for cells in rows]
    assert [name for name, _ in shown] == ["x", "y"] * 4
    for (_, x), (_, y) in zip(shown[::2], shown[1::2], strict=True):
        assert [token.strip() for token in x[1:]] == [token.strip() for token in y[:-1]]


def test_a_batch_that_is_too_wide_is_cut_and_says_so(run):
    out = run("windows", "--context-length", "40")[1]
    assert "A batch of 4 windows as text, the first 16 tokens of 40" in out
    assert "Z|o|\\xc3|\\xab|" in out  # a letter of two tokens is shown by its bytes


def test_the_run_of_packing_shows_rows_both_masks_lineage_and_ledger(run):
    """Rows of 9: 3 + 2 + 3 ids and a pad, and 9. Isolated, 21 and 40 follow another document's end.

    17 ids: the first of each row is no target, which leaves 15; two of them are masked.
    """
    status, out, err = run("packing", "--seq-len", "8")
    assert (status, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    row = lines.index("11 12 9 21 9 40 41 9 ·")
    assert lines[row + 1] == "   ▔▔ ▔ ▔▔ ▔ ▔▔ ▔▔ ▔"
    row = lines.index("11 12 9 21 9 40 41 9 ·", row + 1)
    assert lines[row + 1 : row + 3] == [
        "   ▔▔ ▔    ▔    ▔▔ ▔",
        "attention: places see only their own of 0–2, 3–4, 5–7",
    ]
    cells = [line.replace("│", " ").split() for line in lines]
    assert ["0", "5", "8", "2", "9", "12"] in cells  # the end of the long one, in row 0
    assert ["0", "3", "2", "2", "1", "0", "0"] in [c[:7] for c in cells]
    assert (
        "17 tokens read = 13 trained (13 predictions) + 2 context only + 2 masked + 0 dropped; "
        "1 padding"
    ) in lines
    for told in ("fragment keeps: 12 of 12 ids", "truncate keeps: 9 of 12 ids", "drop keeps: 0 of"):
        assert told in out
    assert "others move: 0.0e+00" in " ".join(out.replace("│", " ").split())
    assert lines[-1] == "all 8 checks hold"


@pytest.mark.parametrize(
    "args",
    [
        ("tokens", "--block-size", "1", "--stride", "1", "--batch-size", "1"),
        ("tokens", "--block-size", "24977", "--stride", "20000", "--batch-size", "2"),
        ("tokens", "--seed", "0", "--stride", "5", "--block-size", "7"),
        ("windows", "--context-length", "1"),
        ("windows", "--context-length", "1703"),
        ("packing", "--seq-len", "1"),
        ("packing", "--seq-len", "2"),
        ("packing", "--seq-len", "256"),
    ],
)
def test_the_checks_hold_at_the_smallest_and_the_largest_sizes(run, args):
    status, out, _ = run(*args)
    assert status == 0, out


# ---- what fails


def test_a_failed_check_is_named_and_the_exit_status_is_1(run, monkeypatch):
    monkeypatch.setattr(checks, "get_batch", drawn_globally)
    monkeypatch.setattr(checks, "SequentialEvalDataset", Holes)
    status, out, err = run("tokens", "--json-out", "found.json")
    assert (status, err) == (1, "")
    assert "3 of 10 checks failed: shift, scored once, random state untouched" in " ".join(
        out.split()
    )
    assert "stride 128: 0 to 1 times" in out
    assert "each target once: NO" in out
    written = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert written["ok"] is False
    failed = [row["check"] for row in written["checks"] if not row["ok"]]
    assert failed == ["shift", "scored once", "random state untouched"]


def test_documents_that_see_each_other_are_found_with_status_1(run, monkeypatch):
    monkeypatch.setattr("attention.masked", lambda segments: causal)
    status, out, err = run("packing", "--json-out", "found.json")
    assert (status, err) == (1, "")
    assert "1 of 8 checks failed: kept apart" in out
    written = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert (written["lab"], written["settings"]["seq_len"], written["ok"]) == ("packing", 8, False)
    assert [row["check"] for row in written["checks"] if not row["ok"]] == ["kept apart"]


def test_a_check_that_breaks_down_has_failed(run, monkeypatch):
    def broken(*sizes):
        raise IndexError("no [such] window")

    monkeypatch.setattr(checks, "count_windows", broken)
    status, out, _ = run("windows")
    assert status == 1
    assert "IndexError, no [such] window: NO" in " ".join(out.replace("│", " ").split())


# ---- mistakes


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("tokens", "--block-size", "30000"),
            "--block-size 30000 needs 30,001 ids, split 'val' has 24,978; take a smaller T",
        ),
        (
            ("tokens", "--block-size", "500000"),
            "--block-size 500000 needs 500,001 ids, split 'train' has 179,383; take a smaller T",
        ),
        (("tokens", "--stride", "129"), "--stride must be from 1 to --block-size, 128, got 129"),
        (("tokens", "--stride", "0"), "stride must be at least 1, got 0"),
        (("tokens", "--block-size", "0"), "block_size must be at least 1, got 0"),
        (("tokens", "--batch-size", "0"), "batch_size must be at least 1, got 0"),
        (("tokens", "--seed", "-1"), "seed must be a whole number from 0 on, got -1"),
        (("windows", "--context-length", "0"), "context_length must be at least 1, got 0"),
        (
            ("windows", "--context-length", "1704"),
            (
                "16 windows of --context-length 1704 need 27,265 ids, the text has 27,262; take "
                "a smaller T"
            ),
        ),
        (
            ("packing", "--seq-len", "0"),
            "--seq-len must be from 1 to 256, to be looked at, got 0",
        ),
        (
            ("packing", "--seq-len", "257"),
            "--seq-len must be from 1 to 256, to be looked at, got 257",
        ),
        (
            ("windows", "--json-out", "nowhere/found.json"),
            "--json-out nowhere/found.json: there is no such folder",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line_and_leaves_nothing(run, tmp_path, args, told):
    if "--json-out" not in args:
        args = (*args, "--json-out", "found.json")
    assert run(*args) == (2, "", f"lab.py: {told}\n")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "args", [(), ("packed",), ("tokens", "--blocksize", "3"), ("windows", "16")]
)
def test_a_wrong_command_line_exits_with_2(run, args):
    with pytest.raises(SystemExit) as stopped:
        run(*args)
    assert stopped.value.code == 2


def test_a_full_disk_is_told_in_one_line(run, monkeypatch):
    def full(ids, path):
        raise OSError(28, "No space left on device", "train.bin")

    monkeypatch.setattr(checks, "save_uint16", full)
    assert run("tokens") == (2, "", "lab.py: train.bin: No space left on device\n")


def test_ctrl_c_is_told_in_one_line(run, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(checks, "get_batch", stopped)
    assert run("tokens") == (130, "", "lab.py: stopped by Ctrl-C; what was written is whole\n")


# ---- what is left


def test_nothing_is_left_on_the_disk_unless_asked(run, tmp_path, monkeypatch):
    monkeypatch.setattr(lab.tempfile, "tempdir", str(tmp_path))
    assert run("tokens")[0] == run("windows")[0] == 0
    assert [*tmp_path.rglob("*")] == []


def test_the_files_of_the_output_folder_open_with_bare_numpy(run, tmp_path):
    assert run("tokens", "--output-dir", "deep/ids")[0] == 0
    folder = tmp_path / "deep" / "ids"
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [
        "test.bin",
        "train.bin",
        "val.bin",
    ]
    ids = np.memmap(folder / "val.bin", "<u2", "r")
    assert (len(ids), ids.max(), (ids == 511).sum()) == (24_978, 511, 87)  # 88 stories


def test_the_json_says_what_the_table_says(run, tmp_path):
    out = run("windows", "--json-out", "found.json")[1]
    written = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert list(written) == ["lab", "settings", "checks", "ok"]
    assert (written["lab"], written["ok"]) == ("windows", True)
    assert written["settings"] == {"context_length": 16, "json_out": "found.json"}
    assert [row["check"].replace(" ", "_") for row in written["checks"]] == [
        check.__name__ for check in WINDOWS
    ]
    first = written["checks"][0]
    assert list(first) == ["check", "proves", "does_not_prove", "found", "ok"]
    assert first["found"]["T = 32, stride 32"] == 851
    assert first["proves"] == "One formula says beforehand how many windows an epoch has."
    text = " ".join(out.replace("│", " ").split())
    assert all(f"{name}: " in out for row in written["checks"] for name in row["found"])
    assert "all 5 checks hold" in text


def test_two_runs_write_the_same(run, tmp_path):
    for name in ("a", "b"):
        assert run("windows", "--json-out", f"{name}.json")[0] == 0
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("a", "b"))
    assert one["checks"] == other["checks"]


def test_the_benchmark_times_three_feeds_in_the_same_rounds(tmp_path, monkeypatch):
    """Without the two workers, which no test of this file starts."""
    real = lab.make_dataloader
    monkeypatch.setattr(lab, "make_dataloader", lambda data, B, num_workers=0: real(data, B))
    monkeypatch.setattr(lab, "ROUNDS", 2)
    times = lab.timings(lab.token_lab(Tokens(), tmp_path))
    assert list(times) == ["make_train_loader", "DataLoader, 0 workers", "DataLoader, 2 workers"]
    assert all(took["us"] > 0 and took["first_ms"] > 0 for took in times.values())


@pytest.mark.slow
def test_a_real_process_runs_the_benchmark_and_writes_plain_text_to_a_pipe(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "lab.py", "tokens", "--benchmark", "--json-out", "found.json"],
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines()[1:])) <= 100
    timings = json.loads((tmp_path / "found.json").read_text())["timings"]
    assert timings["DataLoader, 2 workers"]["us"] > 0
