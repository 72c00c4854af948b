"""`python prepare.py`: its settings, its messages, and the same bytes whoever is killed."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from test_preparation import content, make

import prepare
import shards
from intake import Recipe
from prepared import load_prepared
from workers import open_workers

FAST = ["--num-merges", "50", "--partition-mb", "0.02", "--val-fraction", "0.2"]
FAST += ["--test-fraction", "0.2", "--seed", "0"]
needs_kill = pytest.mark.skipif(os.name == "nt", reason="needs signals and process groups")


def run_cli(capsys, *args: str) -> tuple[int, str, str]:
    status = prepare.cli(args)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_file_is_prepared_and_the_next_command_is_told(tmp_path, write_csv, capsys):
    path = write_csv("text\n" + "\n".join(f"story {i}" for i in range(30)) + "\n \n")
    out = tmp_path / "tokens"
    args = ["--corpus-path", str(path), "--out", str(out), "--workers", "1", "--num-merges", "5"]
    status, told, err = run_cli(capsys, *args)
    assert (status, err) == (0, "")
    assert "30 documents of 31 records in 1 files, 1 blank; 0 files left out" in told
    assert f"python train.py --tokens {out.as_posix()} trains from them" in told
    had = load_prepared(out)
    assert (
        f"val: {had.report['documents']['val']} documents, {len(had.streams['val'])} tokens" in told
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--partition-mb", "0"], "--partition-mb must be a number above 0, got 0.0"),
        (["--partition-mb", "nan"], "--partition-mb must be a number above 0, got nan"),
        (["--fit-mb", "inf"], "--fit-mb must be a number above 0, got inf"),
        (["--workers", "0"], "--workers must be at least 1, got 0"),
        (["--num-merges", "-1"], "--num-merges must be at least 0, got -1"),
        (["--seed", "-1"], "--seed must be at least 0, got -1"),
        (["--val-fraction", "0"], "--val-fraction must be above 0 and below 1, got 0.0"),
        (["--val-fraction", "nan"], "--val-fraction must be above 0 and below 1, got nan"),
        (["--test-fraction", "0.9"], "must leave something to train on, got 0.1 and 0.9"),
        (["--test-fraction", "-1"], "must leave something to train on, got 0.1 and -1.0"),
        (["--workers", "2", "--scheduler", "tcp://a:1"], "--scheduler has its own; give one"),
        (["--tokenizer", "t.json", "--num-merges", "9"], "--tokenizer brings one; give one"),
        (["--tokenizer", "t.json"], "t.json: No such file or directory"),
        (["--encoding", "klingon"], "--encoding takes a text encoding such as utf-8"),
        (["--corpus-column", "body"], "column 'body' is not there; the file has 'text'"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_status_2(
    tmp_path, write_csv, capsys, monkeypatch, args, message
):
    monkeypatch.chdir(tmp_path)
    path = write_csv("text\na\nb\n")
    workers = [] if "--workers" in args or "--scheduler" in args else ["--workers", "1"]
    base = ["--corpus-path", str(path), "--out", str(tmp_path / "out"), *workers]
    status, _, err = run_cli(capsys, *base, *args)
    assert status == 2 and err.count("\n") == 1
    assert err.startswith("prepare.py: ") and message in err


def test_no_file_and_a_folder_in_use_are_told(tmp_path, write_csv, capsys):
    args = ["--out", str(tmp_path / "out"), "--workers", "1"]
    status, _, err = run_cli(capsys, "--corpus-path", str(tmp_path / "*.csv"), *args)
    assert status == 2 and "there is no such file" in err
    path = write_csv("text\na\n")
    with prepare.owned(tmp_path):
        status, _, err = run_cli(
            capsys, "--corpus-path", str(path), "--out", str(tmp_path), "--workers", "1"
        )
    assert status == 2 and "is in use by another process" in err


def test_a_full_disk_is_told_with_what_to_do(tmp_path, write_csv, capsys, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device", "out/shards/000003-train.bin")

    monkeypatch.setattr(prepare, "prepare_tokens", full)
    path = write_csv("text\na\n")
    args = ["--corpus-path", str(path), "--out", str(tmp_path / "out"), "--workers", "1"]
    status, _, err = run_cli(capsys, *args)
    assert status == 2
    assert err == (
        "prepare.py: out/shards/000003-train.bin: No space left on device; what is finished is "
        "kept: make room, and run the same again\n"
    )


def test_the_command_loads_no_torch_and_one_worker_no_dask():
    code = "import sys, prepare; print(sorted({'torch', 'distributed', 'dask'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


# ---- slow: processes, and their deaths


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    """The stories that come with the project as four files of four kinds, in a folder."""
    folder = tmp_path_factory.mktemp("many")
    stories = pd.read_csv(ROOT / "data" / "corpus.csv")[["text"]]
    stories[:200].to_csv(folder / "1.csv", index=False)
    lines = [json.dumps({"text": text}) + "\n" for text in stories["text"][200:400]]
    (folder / "2.jsonl").write_text("".join(lines), encoding="utf-8")
    stories[400:600].to_parquet(folder / "3.parquet", row_group_size=20)
    (folder / "4.csv.gz").write_bytes(gzip.compress(stories[600:].to_csv(index=False).encode()))
    return folder


def command(files: Path, out: Path, *args: str) -> list[str]:
    place = ["--corpus-path", str(files / "*"), "--out", str(out)]
    return [sys.executable, str(ROOT / "prepare.py"), *place, *FAST, *args]


@pytest.fixture(scope="module")
def clean(tmp_path_factory, many) -> dict[str, bytes]:
    """What one process makes of them, undisturbed."""
    out = tmp_path_factory.mktemp("clean")
    done = subprocess.run(command(many, out, "--workers", "1"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return found(out)


def found(out: Path) -> dict[str, bytes]:
    return content(out) | {"": (out / "prepared.json").read_bytes()}


@pytest.mark.slow
def test_two_processes_write_the_bytes_of_one(tmp_path, many, clean):
    done = subprocess.run(
        command(many, tmp_path / "two", "--workers", "2"), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert found(tmp_path / "two") == clean
    assert json.loads(clean[""])["records"] == 800


@pytest.mark.slow
def test_the_files_of_a_cluster_somewhere_else_are_the_same(tmp_path, many, clean):
    import distributed

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as c:
        done = subprocess.run(
            command(many, tmp_path / "far", "--scheduler", c.scheduler_address),
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert found(tmp_path / "far") == clean


@pytest.mark.slow
@needs_kill
def test_a_worker_that_is_killed_loses_nothing(tmp_path, many, clean):
    """One of two dies when the first shard is there; another takes its place."""
    import psutil

    killed = []
    with open_workers(2) as run:

        def killing(work, jobs):
            for number, result in run(work, jobs):
                if work is shards.make_shard and not killed:
                    workers = psutil.Process().children()
                    victim = next(p for p in workers if "spawn_main" in " ".join(p.cmdline()))
                    victim.kill()
                    killed.append(victim.pid)
                yield number, result

        make(
            tmp_path / "out",
            *sorted(many.iterdir()),
            run=killing,
            recipe=Recipe(val_fraction=0.2, test_fraction=0.2, seed=0),
            partition_mb=0.02,
        )
    assert killed and found(tmp_path / "out") == clean


def some_shards(out: Path, process: subprocess.Popen, least: int) -> None:
    """Wait until that many shards are whole."""
    while len(list((out / "shards").glob("??????.json"))) < least:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.slow
@needs_kill
def test_a_run_that_is_killed_goes_on_with_its_finished_shards(tmp_path, many, clean, monkeypatch):
    """One of them was damaged meanwhile, and is made again; the others are not."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(many, out, "--workers", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    some_shards(out, process, 5)
    process.kill()
    process.wait()
    time.sleep(1)  # its workers end by themselves
    whole = sorted((out / "shards").glob("??????.json"))
    damaged = next((out / "shards").glob(f"{whole[2].stem}-*.bin"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0")
    made = []
    save = shards.save_stream
    monkeypatch.setattr(
        shards, "save_stream", lambda s, path, *a, **k: (made.append(path), save(s, path, *a, **k))
    )
    recipe = Recipe(val_fraction=0.2, test_fraction=0.2, seed=0)
    make(out, *sorted(many.iterdir()), recipe=recipe, partition_mb=0.02)
    again = {path.name.partition("-")[0] for path in made}
    assert whole[2].stem in again
    assert not again & {path.stem for n, path in enumerate(whole) if n != 2}
    assert found(out) == clean


@pytest.mark.slow
@needs_kill
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_it_in_one_line_with_status_130(tmp_path, many, workers):
    """The signal goes to all processes of the terminal, as a terminal sends it."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        [*command(many, out, "--workers", workers), "--partition-mb", "0.002"],  # some hundreds
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    some_shards(out, process, 2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (
        130,
        "prepare.py: stopped by Ctrl-C; what was written is whole\n",
    )
    assert not (out / "prepared.json").exists()


@pytest.mark.slow
def test_bad_files_among_many_are_skipped_by_all_workers_alike(tmp_path, many, clean):
    many = Path(shutil.copytree(many, tmp_path / "many"))
    (many / "5.csv").write_text("text\na\nb,c\n", encoding="utf-8")
    shutil.copy(ROOT / "README.md", many / "0.md")
    done = subprocess.run(
        command(many, tmp_path / "no", "--workers", "2"), capture_output=True, text=True
    )
    assert done.returncode == 2 and "0.md: cannot read this kind of file" in done.stderr
    done = subprocess.run(
        command(many, tmp_path / "yes", "--workers", "2", "--skip-bad"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "2 files left out" in done.stdout
    assert content(tmp_path / "yes") == {name: clean[name] for name in content(tmp_path / "yes")}
    skipped = json.loads((tmp_path / "yes" / "prepared.json").read_bytes())["skipped"]
    assert [Path(name).name for name in skipped] == ["0.md", "5.csv"]
