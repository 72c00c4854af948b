"""What a stopped run needs to go on: whole, checked, and no other batch."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import checkpoint
from files import read_json, write_json

WEIGHTS = {"head.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3)}
OPTIMIZERS = {"0.0.average": torch.full((2, 3), 0.5), "1.0.step": torch.tensor(3.0)}
STATE = {
    "step": 3,
    "seed": 42,
    "corpus": "c" * 64,
    "tokenizer": "d" * 64,
    "next_batch": "e" * 64,
    "device": "cpu",
    "config": {"threads": 1},
}


def save(run, step: int) -> None:
    checkpoint.save(run, WEIGHTS, OPTIMIZERS, STATE | {"step": step})


@pytest.mark.contract("batch_digest")
def test_the_digest_of_a_batch_is_that_of_its_shape_and_its_numbers_of_8_bytes():
    """Shape (2, 1, 2), then 3 1 1 4, the lowest byte first."""
    numbers = b"".join(bytes([n, 0, 0, 0, 0, 0, 0, 0]) for n in (3, 1, 1, 4))
    expected = hashlib.sha256(b"(2, 1, 2)" + numbers).hexdigest()
    assert checkpoint.batch_digest(np.array([[3, 1]]), np.array([[1, 4]])) == expected
    assert checkpoint.batch_digest(torch.tensor([[3, 1]]), torch.tensor([[1, 4]])) == expected


@pytest.mark.contract("batch_digest")
@given(st.permutations(range(6)), st.sampled_from([(1, 6), (2, 3), (3, 2), (6, 1)]))
def test_another_batch_or_another_shape_has_another_digest(ids, shape):
    batch, plain = np.array(ids).reshape(shape), np.arange(6).reshape(2, 3)
    same = batch.shape == plain.shape and (batch == plain).all()
    assert (checkpoint.batch_digest(batch, batch) == checkpoint.batch_digest(plain, plain)) == same


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path):
    save(tmp_path, 3)
    saved = checkpoint.load(tmp_path)
    assert saved.run == tmp_path
    assert saved.path == tmp_path / "checkpoint" / "000003"
    for kept, came in ((WEIGHTS, saved.weights), (OPTIMIZERS, saved.optimizers)):
        assert sorted(kept) == sorted(came)
        assert all(torch.equal(kept[name], came[name]) for name in kept)
    assert {name: saved.state[name] for name in STATE} == STATE
    assert saved.state["versions"]["torch"] == torch.__version__


def test_the_newest_is_read_and_only_it_is_kept(tmp_path):
    """1,000,000 has more digits than the others, and comes last all the same."""
    for step in (0, 999_999, 1_000_000):
        save(tmp_path, step)
        assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == [f"{step:06}"]
        assert checkpoint.load(tmp_path).state["step"] == step


def test_a_new_one_is_whole_before_the_old_one_goes(tmp_path, monkeypatch):
    """A stop before, in and after the removal: each time a whole checkpoint is found."""
    save(tmp_path, 1)
    real = checkpoint.rmtree

    def killed(path):
        assert (tmp_path / "checkpoint" / "000002" / "state.json").exists()
        (path / "state.json").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2)
    assert checkpoint.load(tmp_path).state["step"] == 2
    monkeypatch.setattr(checkpoint, "rmtree", real)
    save(tmp_path, 3)
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["000003"]


@pytest.mark.parametrize("broken", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), PermissionError(13, "no")]
)
def test_a_disk_that_is_full_or_forbidden_leaves_the_last_good_one(
    tmp_path, monkeypatch, broken, error
):
    save(tmp_path, 1)
    write_bytes, write_text = type(tmp_path).write_bytes, type(tmp_path).write_text

    def fail(path, content, real, **settings):
        if broken.split(".")[0] in path.name:
            real(path, content[:10], **settings)
            raise error
        return real(path, content, **settings)

    monkeypatch.setattr(type(tmp_path), "write_bytes", lambda p, c: fail(p, c, write_bytes))
    monkeypatch.setattr(type(tmp_path), "write_text", lambda p, c, **s: fail(p, c, write_text, **s))
    with pytest.raises(type(error)):
        save(tmp_path, 2)
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["000001"]
    assert checkpoint.load(tmp_path).state["step"] == 1


@pytest.mark.parametrize("part", ["model", "optimizer"])
@pytest.mark.parametrize("damage", ["cut", "altered", "gone"])
def test_a_damaged_part_is_refused_by_name(tmp_path, part, damage):
    save(tmp_path, 3)
    file = tmp_path / "checkpoint" / "000003" / f"{part}.safetensors"
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[:-1] if damage == "cut" else content[:-1] + b"\x01")
    with pytest.raises(ValueError, match=f"{part}.safetensors is missing or is not what was saved"):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize("key", ["step", "seed", "corpus", "next_batch", "config", "sha256"])
def test_a_state_without_a_part_is_refused_by_name(tmp_path, key):
    save(tmp_path, 3)
    path = tmp_path / "checkpoint" / "000003" / "state.json"
    whole = read_json(path)
    write_json(path, {name: value for name, value in whole.items() if name != key})
    with pytest.raises(ValueError, match=f"state.json should have '{key}', of type .*has None"):
        checkpoint.load(tmp_path)
    write_json(path, whole | {key: 1.5})
    with pytest.raises(ValueError, match=f"state.json should have '{key}', of type .*has 1.5"):
        checkpoint.load(tmp_path)


def test_a_folder_without_a_checkpoint_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / ".000001.77.tmp").mkdir()  # a half-written one is none
    with pytest.raises(FileNotFoundError, match="no checkpoint there; give the folder of a run"):
        checkpoint.load(tmp_path)


@pytest.mark.quality("check_same")
@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("corpus", "the corpus is not what it was when the run was stopped (digest 111111111111"),
        ("tokenizer", "the tokenizer that is learned from the corpus is not what it was"),
        ("next_batch", "the next batch is not what it was"),
    ],
)
def test_what_would_feed_another_run_is_refused_by_name(what, told):
    state = {what: "1" * 64, "versions": checkpoint.versions()}
    checkpoint.check_same(state, **{what: "1" * 64})
    with pytest.raises(ValueError, match="bring it back, or start a new run") as refused:
        checkpoint.check_same(state, **{what: "2" * 64})
    assert str(refused.value).startswith(told)
    assert ("the code that makes it has changed" in str(refused.value)) == (what != "corpus")


@pytest.mark.contract("check_same")
def test_what_fed_a_run_may_feed_it_again_and_nothing_else():
    state = {"corpus": "1" * 64, "next_batch": "3" * 64, "versions": checkpoint.versions()}
    checkpoint.check_same(state, corpus="1" * 64, next_batch="3" * 64)
    for changed in ("corpus", "next_batch"):
        now = {"corpus": "1" * 64, "next_batch": "3" * 64} | {changed: "2" * 64}
        with pytest.raises(ValueError, match="bring it back, or start a new run"):
            checkpoint.check_same(state, **now)


@pytest.mark.quality("check_same")
def test_a_package_that_may_have_made_the_other_batch_is_named():
    state = {"next_batch": "1", "versions": checkpoint.versions() | {"numpy": "1.0", "gone": "2"}}
    with pytest.raises(ValueError, match=r"numpy was 1\.0, is ") as refused:
        checkpoint.check_same(state, next_batch="2")
    assert "gone was 2, is None" in str(refused.value)
    assert "the code" not in str(refused.value)


def test_what_may_change_the_last_bits_is_told():
    state = {"device": "cpu", "config": {"threads": 1}, "versions": checkpoint.versions()}
    assert checkpoint.moved(state, 1, "cpu") == []
    state["versions"] = {"torch": "2.0"}
    assert checkpoint.moved(state, 2, "cuda") == [
        "threads: 1 before, 2 now",
        "device: cpu before, cuda now",
        f"torch: 2.0 before, {torch.__version__} now",
    ]
