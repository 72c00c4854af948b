"""Whatever stands on a command line: it runs, or one line says what is wrong. Never a traceback.

Flags get numbers of any size and kind, names that are no names, folders for files, alone and
together, on top of a run that would be right.
"""

import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lab
import train
from config import Config
from files import memory_bytes, read_json, write_json

INTS = ["0", "-1", "1", "2", "3", "16", "17", "2147483647", "2147483648", "9223372036854775807"]
INTS += ["18446744073709551616", "1" + "0" * 30, "9" * 400, "9" * 5000, "٣", "1.0", "1e3", "nan"]
INTS += ["", "None", "True", "0x10", " 1", "+1"]
FLOATS = ["0", "-0.0", "1", "0.5", "nan", "inf", "-inf", "1e400", "1e-400", "5e-324", "1e308"]
FLOATS += ["0.9999999999999999", "-1e-9", "", "None", "0.1", "1e38", "٠.١"]
WORDS = ["", "a", "../x", "a/b", "/", "\0", "a\0b", "é", "\U0001f600", "\udcff", "x" * 300, "last"]
WORDS += [".", "..", "\n", "a\nb", "[red]x[/]", "[/]", "None", "-", "--", "%s", "con", "~", "text"]
FILES = ["own.csv", "folder", "empty.csv", "blank.csv", "one.csv", "bad.csv", "none.csv", ".", ""]
FILES += ["own.csv/x", "x" * 300, "\0", "\udcff.csv", "folder/x.json", "none/x.json", "new.json"]
DEVICES = ["cpu", "auto", "", "cpu:0", "cpu:x", "meta", "xla", "CPU", " cpu", "cpu:", "cpu:-1", "é"]
ENCODINGS = ["utf-8", "utf-16", "hex", "", "\0", "klingon", "cp1252", "undefined", "idna", "é"]
BY_NAME = {"device": DEVICES, "encoding": ENCODINGS, "corpus_path": FILES, "html": FILES}
BY_NAME |= {"tokens": FILES, "output_dir": FILES, "json_out": FILES}

CORPUS = "text\n" + "".join(f"the old man and the sea number {i}\n" for i in range(20))
SMALL = "--corpus-path=own.csv --max-rows=30 --num-merges=9 --seq-len=8 --stride=8 --n-layer=1"
SMALL += " --n-head=2 --d-model=8 --device=cpu --eval-every=6 --steps=1 --batch-size=4"
KINDS = ["", "--layout=eot", "--split=documents", "--sampling=random", "--explain=0"]
KINDS += ["--split=documents --layout=packed --stride=32", "--show-rows=1"]


def flags(config: type) -> st.SearchStrategy[str]:
    """Any flag of a command line with a value that is odd."""
    hints = get_type_hints(config)

    def odd(name: str) -> st.SearchStrategy[str]:
        kind, flag = hints[name], "--" + name.replace("_", "-")
        if kind is bool:
            return st.sampled_from([flag, flag + "=maybe"])
        values = BY_NAME.get(name) or (INTS if int in (kind, *get_args(kind)) else WORDS)
        values = FLOATS if kind is float else values
        if (
            kind not in (int, float, str)
            and str not in get_args(kind)
            and int not in get_args(kind)
        ):
            values = [*get_args(kind), "", "x"]
        return st.sampled_from(values).map(lambda value: f"{flag}={value}")

    return st.sampled_from(
        [name for name in hints if name not in ("compile", "benchmark")]
    ).flatmap(odd)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with files that are right and wrong; threads stay as they are."""
    contents = {"own": CORPUS, "empty": "", "blank": "text\n \n", "one": "text\na\n"}
    for name, content in contents.items():
        (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    return tmp_path


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """What a program writes to stderr; its output is not kept."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        yield err


def is_answered(prog: str, cli: Callable[[list[str]], int], args: list[str]) -> int:
    """Run a command line: its status, after a look at what a mistake wrote, and at the folder."""
    with quiet() as err:
        try:
            status = cli(args)
        except SystemExit as end:  # a flag that tyro refuses, in a box of its own
            assert end.code in (0, 2)
            return end.code
    told = err.getvalue()
    assert status in (0, 1, 2)
    if status == 2:
        assert told.startswith(f"{prog}: ")
        assert told.count("\n") == 1
        for word in ("Error", "Exception", "codec", "Traceback", "object at 0x"):
            assert word not in told.replace(str(args), "")
    assert not [path for path in Path().rglob("*") if ".tmp" in path.name]
    return status


def try_lines(prog: str, cli: Any, lines: st.SearchStrategy[list[str]], cases: int) -> None:
    @settings(max_examples=cases, suppress_health_check=list(HealthCheck))
    @given(lines)
    def each(args: list[str]) -> None:
        with tempfile.TemporaryDirectory(dir=".") as inner, contextlib.chdir(inner):
            for path in Path("..").glob("*.csv"):
                Path(path.name).write_bytes(path.read_bytes())
            Path("folder").mkdir()
            is_answered(prog, cli, args)

    each()


def train_lines(*kinds: str) -> st.SearchStrategy[list[str]]:
    odd = st.lists(flags(Config), min_size=1, max_size=3)
    pairs = st.tuples(st.sampled_from(KINDS), odd)
    return pairs.map(lambda a: [*SMALL.split(), *kinds, *a[0].split(), *a[1]])


def lab_lines() -> st.SearchStrategy[list[str]]:
    labs = {"tokens": lab.Tokens, "windows": lab.Windows, "packing": lab.Packing}
    return st.sampled_from(list(labs)).flatmap(
        lambda name: st.lists(flags(labs[name]), min_size=1, max_size=2).map(lambda f: [name, *f])
    )


def test_any_flags_of_train_are_planned_or_refused_in_one_line():
    try_lines("train.py", train.cli, train_lines("--plan"), settings.default.max_examples // 3)


@pytest.mark.slow
def test_hundreds_of_flags_of_train_run_or_are_refused_in_one_line():
    try_lines("train.py", train.cli, train_lines(), 10 * settings.default.max_examples)


@pytest.mark.slow
def test_any_flags_of_the_lab_run_or_are_refused_in_one_line():
    try_lines("lab.py", lab.cli, lab_lines(), settings.default.max_examples)


# ---- what the doors have let through before, each of a kind


def refused(*args: str) -> str:
    """What a run with these flags is told."""
    with quiet() as err:
        assert train.cli([*SMALL.split(), *args]) == 2
    assert not Path("runs").exists()
    return err.getvalue()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--batch-size=9999999999"], "--batch-size must be at most 2,147,483,647, got 9999999999"),
        (["--threads=100000"], "--threads must be at most 1,024, got 100000"),
        (["--seed=99999999999999999999"], "--seed must be at most 9,223,372,036,854,775,807, got"),
        (["--lr=1e308"], "--lr must be a number above 0, got 1e+308; 1e+38 at most"),
        (["--num-merges=2147483647"], "num_merges must be from 0 to 1,000,000, got 2,147,483,647"),
        (["--n-layer=2147483647"], "the weights and what trains them need "),
        (["--sampling=random", "--batch-size=2147483647"], "the logits of a batch need "),
        (["--steps=2147483647"], "the windows of all steps need "),
        (["--device=cpu:x"], "--device must be such as auto, cpu, cuda or cuda:1, got 'cpu:x'"),
        (["--name=a\nb"], r"--name must be a plain folder name, got 'a\nb'"),
        (["--name=\udcff"], r"--name must be a plain folder name, got '\udcff'"),
        (["--resume="], "there is no run to go on with; try --resume last"),
        (["--encoding=undefined"], "--encoding takes a text encoding such as utf-8"),
    ],
)
def test_a_number_that_nobody_can_mean_and_a_name_that_is_none_are_refused(args, told):
    if "need" in told and memory_bytes() >= 2**36:
        pytest.skip("this machine has the memory")
    assert told in refused(*args)


def test_a_row_as_long_as_a_library_is_refused():
    packed = ["--split=documents", "--layout=packed", "--stride=32"]
    assert "seq_len must be at most 16,777,215 for rows" in refused(*packed, "--seq-len=2147483647")


def test_a_path_that_is_no_unicode_is_trained_on_and_kept_in_the_settings(folder):
    """A name of bytes that are no UTF-8, which Linux allows, comes as halves of surrogate pairs."""
    odd = "\udcff.csv"
    try:
        (folder / odd).write_bytes((folder / "own.csv").read_bytes())
    except (OSError, UnicodeError):
        pytest.skip("this system has no such names")
    with quiet():
        assert train.cli([*SMALL.split(), f"--corpus-path={odd}"]) == 0
    assert read_json(Path("runs/001/config.json"))["corpus_path"] == odd


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A folder with a run of two steps that was stopped before its end."""
    folder = tmp_path_factory.mktemp("begun")
    with quiet(), contextlib.chdir(folder):
        Path("own.csv").write_text(CORPUS, encoding="utf-8")
        assert train.cli([*SMALL.split(), "--steps=2"]) == 0
        Path("runs/001/sample.txt").unlink()
    return folder


@pytest.fixture
def stopped(begun, folder) -> None:
    """The same run, here."""
    shutil.copytree(begun, folder, dirs_exist_ok=True)


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("state", lambda held: held["config"].pop("eval_every")),
        ("state", lambda held: held["config"].update(lr="fast")),
        ("state", lambda held: held.update(step=True)),
        ("config", lambda held: held.update(n_layer=True)),
        ("config", lambda held: held.pop("seq_len")),
        ("config", lambda held: held.update(lr=None)),
    ],
)
def test_a_run_whose_settings_were_edited_goes_on_or_is_refused_in_one_line(stopped, where, change):
    """A lost `eval_every` may change on the way, so the run goes on; the others are refused."""
    found = {
        "state": Path("runs/001/checkpoint/000002/state.json"),
        "config": Path("runs/001/config.json"),
    }
    held = json.loads(found[where].read_text(encoding="utf-8"))
    change(held)
    write_json(found[where], held)
    status = is_answered("train.py", train.cli, ["--resume=last"])
    assert status == (0 if "eval_every" not in held.get("config", {"eval_every": 0}) else 2)


def test_a_model_of_other_sizes_than_its_tensors_is_refused_in_one_line(stopped):
    for path in (Path("runs/001/config.json"), Path("runs/001/checkpoint/000002/state.json")):
        held = read_json(path)
        held.get("config", held).update(d_model=16)
        write_json(path, held)
    with quiet() as err:
        assert train.cli(["--resume=last"]) == 2
    assert "checkpoint/000002 is of another model (" in err.getvalue()
