"""Every setting, the command line made from it, and what is refused before any work."""

import dataclasses
import math
import re

import pytest

from config import Config, parse


def test_a_bare_command_line_gives_the_defaults():
    assert parse([]) == Config()
    Config().check()


def test_the_settings_of_the_seed_document_can_be_asked_for():
    config = parse(
        ["--seq-len", "16", "--stride", "1", "--batch-size", "16", "--num-merges", "255"]
    )
    assert (config.seq_len, config.stride, config.batch_size, config.num_merges) == (16, 1, 16, 255)


def test_switches_have_a_no_form_and_none_can_be_written():
    assert parse(["--amp", "--max-rows", "None"]) == Config(amp=True, max_rows=None)
    assert parse(["--no-amp", "--no-plan"]) == Config()


def test_help_explains_every_setting_with_its_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as done:
        parse(["--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    for field in dataclasses.fields(Config):
        flag = f"--{field.name.replace('_', '-')}"
        line = next(row for row in shown.splitlines() if re.match(rf"\W*{flag}\b", row))
        assert f"(default: {field.default})" in line
        assert len(line.split("(default")[0].split()) > 4


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("--batch-siz 8", "--batch-size"),
        ("--batch-size eight", "invalid"),
        ("--shuffle often", "invalid choice"),
        ("--batch-size", "Missing argument"),
        ("8", "8"),
    ],
)
def test_a_command_line_that_is_not_understood_exits_with_2_and_says_why(args, told, capsys):
    with pytest.raises(SystemExit) as done:
        parse(args.split())
    assert done.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seq_len": 0}, "--seq-len must be at least 1, got 0"),
        ({"stride": -1}, "--stride must be at least 1, got -1"),
        ({"batch_size": 0}, "--batch-size must be at least 1, got 0"),
        ({"n_layer": 0}, "--n-layer must be at least 1, got 0"),
        ({"n_head": 0}, "--n-head must be at least 1, got 0"),
        ({"d_model": 0}, "--d-model must be at least 1, got 0"),
        ({"eval_every": 0}, "--eval-every must be at least 1, got 0"),
        ({"threads": 0}, "--threads must be at least 1, got 0"),
        ({"max_rows": 0}, "--max-rows must be at least 1, got 0"),
        ({"epochs": 0}, "--epochs must be at least 1, got 0"),
        ({"steps": 0}, "--steps must be at least 1, got 0"),
        ({"num_merges": -1}, "--num-merges must be 0 or more, got -1"),
        ({"warmup": -1}, "--warmup must be 0 or more, got -1"),
        ({"seed": -1}, "--seed must be 0 or more, got -1"),
        ({"lr": 0.0}, "--lr must be a number above 0, got 0.0"),
        ({"lr": math.nan}, "--lr must be a number above 0, got nan"),
        ({"lr": math.inf}, "--lr must be a number above 0, got inf"),
        ({"clip": 0.0}, "--clip must be a number above 0, got 0.0"),
        ({"weight_decay": math.nan}, "--weight-decay must be 0 or more, got nan"),
        ({"val_fraction": 0.0}, "--val-fraction must be above 0 and below 1, got 0.0"),
        ({"val_fraction": 1.0}, "--val-fraction must be above 0 and below 1, got 1.0"),
        ({"val_fraction": math.nan}, "--val-fraction must be above 0 and below 1, got nan"),
        ({"epochs": 2, "steps": 5}, "--epochs and --steps both set the length of the run"),
        ({"n_head": 3}, "--d-model needs a multiple of twice --n-head, 6; got 128"),
        ({"eval_stride": 65}, "--eval-stride must be from 1 to --seq-len, 64, to score every"),
        ({"eval_stride": 0}, "--eval-stride must be from 1 to --seq-len, 64, to score every"),
        ({"name": "a/b"}, "--name must be a plain folder name, got 'a/b'"),
        ({"name": ".."}, "--name must be a plain folder name, got '..'"),
    ],
)
def test_what_cannot_work_is_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=r"^--") as refused:
        Config(**settings).check()
    assert str(refused.value).startswith(message)
