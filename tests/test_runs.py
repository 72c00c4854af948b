"""What a run leaves in its folder."""

import pandas as pd
import pytest
import torch
from test_report import RECEIPT

import checkpoint
import runs
from files import write_json
from model import GPT
from tokenizer import Tokenizer


def test_a_run_without_a_name_takes_the_next_number(tmp_path):
    """001 and 007 are there, and a name that is no number: 008."""
    root = tmp_path / "runs"
    assert runs.new_folder(root).name == "001"
    (root / "007").mkdir()
    (root / "notes").mkdir()
    assert runs.new_folder(root).name == "008"


def test_a_name_is_taken_once(tmp_path):
    assert runs.new_folder(tmp_path, "mine") == tmp_path / "mine"
    with pytest.raises(ValueError, match=r"there is a run in .*mine already; give another --name"):
        runs.new_folder(tmp_path, "mine")


def test_two_runs_at_once_do_not_share_a_folder(tmp_path, monkeypatch):
    """The other one takes 001 between the look and the mkdir."""
    monkeypatch.setattr(type(tmp_path), "iterdir", lambda self: iter(()))
    (tmp_path / "001").mkdir()
    assert runs.new_folder(tmp_path).name == "002"


def test_losses_without_a_folder_are_kept_and_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    losses = runs.Losses(None)
    losses.add(1, 30, 4.0)
    assert losses.validate(1, RECEIPT) == 4.0
    assert list(tmp_path.iterdir()) == []


def test_losses_are_a_row_a_step_with_the_validations_beside_them(tmp_path):
    losses = runs.Losses(tmp_path)
    for step, targets, loss in [(1, 30, 4.0), (2, 10, 2.0), (3, 30, 2.0)]:
        losses.add(step, targets, loss)
        if step == 2:
            assert losses.validate(step, RECEIPT) == 3.5  # (30 × 4 + 10 × 2) / 40, no mean of means
    assert losses.validate(3, RECEIPT) == 2.0  # the mean since the last one
    frame = pd.read_csv(tmp_path / "metrics.csv")
    assert frame["targets"].tolist() == [30, 10, 30]
    assert frame["train_loss"].tolist() == [4.0, 2.0, 2.0]
    assert frame["val_loss"].isna().tolist() == [True, False, False]
    assert frame["val_bits_per_byte"][1] == pytest.approx(0.962, abs=1e-3)
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["loss.png", "metrics.csv", "receipt.json"]


def test_the_plot_has_both_curves_and_names_its_axes_with_units():
    losses = runs.Losses(None)
    for step in range(1, 101):
        losses.add(step, 10, 1 / step)
    losses.validations.append((100, 0.5, 0.1))
    axes = runs.plot_losses(losses.frame()).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "loss (nats per token)")
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["training, mean of 2 steps", "validation"]


def test_the_model_and_tokenizer_of_a_run_can_be_loaded_again(tmp_path):
    tok = Tokenizer([(b"a", b"b")])
    model = GPT(tok.vocab_size, n_layer=1, n_head=2, d_model=8, seed=5)
    write_json(tmp_path / "config.json", {"n_layer": 1, "n_head": 2, "d_model": 8})
    tok.save(tmp_path / "tokenizer.json")
    state = {"step": 7, "seed": 5, "corpus": "", "tokenizer": "", "next_batch": ""}
    checkpoint.save(tmp_path, model.state_dict(), {}, state | {"device": "cpu", "config": {}})
    loaded, loaded_tok = runs.load_run(tmp_path)
    assert loaded_tok.fingerprint == tok.fingerprint
    for name, weight in loaded.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name])
    with pytest.raises(FileNotFoundError, match="no checkpoint there; give the folder of a run"):
        runs.load_run(tmp_path / "checkpoint")


def test_the_losses_of_a_run_are_read_back_up_to_a_step_bit_for_bit(tmp_path):
    """Validated at 2 and, by a stop, at 3: going on from 3 with one every 2 steps, 3 is dropped."""
    losses = runs.Losses(tmp_path)
    for step in (1, 2, 3, 4):
        losses.add(step, 32, 1 / 3**step)
        if step > 1:
            losses.validate(step, RECEIPT)
    for step, every, validated in ((4, 2, [2, 3, 4]), (3, 2, [2]), (3, 1, [2, 3]), (2, 2, [2])):
        back = runs.Losses.read(tmp_path, step, every)
        assert back.steps == losses.steps[:step]
        assert [row[0] for row in back.validations] == validated
        assert back.validations[0] == losses.validations[0]
    assert runs.Losses.read(tmp_path / "nowhere", 0, 2).steps == []
