"""A file, or a folder of files, appears whole or not at all."""

import os

import pytest

from files import folder_written_whole, read_json, sweep, write_json, write_text, written_whole

FAILURES = [
    OSError(28, "No space left on device"),
    PermissionError(13, "denied"),
    KeyboardInterrupt(),
]


def test_a_file_written_well_replaces_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    with written_whole(path) as temporary:
        temporary.write_text("new", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("error", FAILURES)
def test_a_failure_in_the_middle_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(type(error)), written_whole(path) as temporary:
        temporary.write_text("half", encoding="utf-8")
        raise error
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "old"


def test_half_a_surrogate_pair_such_as_a_name_of_a_file_may_have_is_kept_in_json(tmp_path):
    write_json(tmp_path / "a.json", {"path": "caf\u00e9 \udcff"})
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "path": "caf\xc3\xa9 \\udcff"\n}\n'
    assert read_json(tmp_path / "a.json") == {"path": "caf\u00e9 \udcff"}


def test_a_name_may_be_a_plain_string(tmp_path):
    with written_whole(str(tmp_path / "a.txt")) as temporary:
        temporary.touch()
    with folder_written_whole(str(tmp_path / "b")) as temporary:
        (temporary / "c").touch()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.txt", "b", "c"]


def test_a_folder_appears_with_all_its_files(tmp_path):
    path = tmp_path / "000300"
    with folder_written_whole(path) as temporary:
        (temporary / "a").write_text("one", encoding="utf-8")
        (temporary / "b").write_text("two", encoding="utf-8")
        assert not path.exists()
        assert temporary.parent == tmp_path  # a rename stays on one disk
    assert [p.name for p in tmp_path.iterdir()] == ["000300"]
    assert sorted(p.name for p in path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("error", FAILURES)
def test_a_failure_in_the_middle_leaves_no_folder(tmp_path, error):
    with pytest.raises(type(error)), folder_written_whole(tmp_path / "new") as temporary:
        (temporary / "a").write_text("half", encoding="utf-8")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_half_written_is_swept_and_nothing_else(tmp_path):
    """A kill is a block that never ends: the names are those of the real writers."""
    kept = ["a.txt", ".lock", "000300", ".hidden.txt", "notes.12.txt"]
    for name in kept:
        (tmp_path / name).touch()
    text, folder = written_whole(tmp_path / "b.csv"), folder_written_whole(tmp_path / "000400")
    text.__enter__().touch()
    (folder.__enter__() / "model").touch()
    assert len(list(tmp_path.iterdir())) == len(kept) + 2
    sweep(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(kept)
    sweep(tmp_path / "nowhere")


def test_two_processes_write_to_names_of_their_own(tmp_path, monkeypatch):
    with written_whole(tmp_path / "a.txt") as mine:
        mine.touch()
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with written_whole(tmp_path / "a.txt") as other:
            other.touch()
            assert mine.name != other.name
            assert mine.suffix == other.suffix == ".txt"


def test_text_and_json_are_written_as_utf_8_with_plain_line_ends(tmp_path):
    write_text(tmp_path / "a.txt", "café\n")
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xc3\xa9\n"
    write_json(tmp_path / "a.json", {"name": "café", "step": 3})
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "name": "caf\xc3\xa9",\n  "step": 3\n}\n'
    assert read_json(tmp_path / "a.json") == {"name": "café", "step": 3}


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    for writer in (written_whole, folder_written_whole):
        with pytest.raises(OSError, match="No space") as refused, writer(tmp_path / "a.txt"):
            raise OSError(28, "No space left on device")
        assert refused.value.filename == (tmp_path / "a.txt").as_posix()
    with pytest.raises(OSError, match="denied") as refused, written_whole(tmp_path / "a.txt"):
        raise PermissionError(13, "denied", "its own name")
    assert refused.value.filename == "its own name"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is damaged, no JSON: Expecting value"),
        (b'{"step": 3', "is damaged, no JSON: Expecting"),
        (b"\xff\xfe", "is damaged, no JSON: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "is damaged, no JSON: maximum recursion depth exceeded"),
        (b"[1, 2]", r"should hold a JSON object, it holds a list"),
    ],
)
def test_a_damaged_json_file_is_refused_by_name(tmp_path, content, told):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=f"a.json {told}"):
        read_json(tmp_path / "a.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name need a Unix")
def test_a_pipe_or_a_device_is_refused_and_stays_what_it_is(tmp_path):
    """Root could rename a file over /dev/null, and all programs would write to that."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError, match="is no file but a device or a pipe"):
        with written_whole(pipe) as temporary:
            temporary.write_text("lost")
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
