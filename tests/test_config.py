"""Every setting, the command line made from it, and what is refused before any work."""

import dataclasses
import json
import math
import re

import pytest

from config import MAY_CHANGE, Config, check_unchanged, parse, read_settings

DIVIDED = {"split": "documents"}
PACKED = DIVIDED | {"layout": "packed"}


@pytest.mark.parametrize(
    "settings",
    [
        DIVIDED | {"test_fraction": 0.1, "group_column": "id"},
        {"layout": "eot", "boundaries": "isolated", "sampling": "random"},
        PACKED | {"boundaries": "isolated", "long_doc": "drop"},
        PACKED | {"packing": "sequential", "tail": "drop", "shuffle": "none"},
    ],
)
def test_what_goes_together_may_be_asked_for(settings):
    Config(**settings).check()


def test_packed_rows_move_on_by_a_row():
    assert Config(**PACKED, seq_len=10).window_stride == 11
    assert Config(stride=7).window_stride == 7


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
        told = re.search(rf"^\W*{flag}\b.*?\(default: (.*?)\)", shown, re.M | re.S)
        assert told[1] == str(field.default)
        assert len(told[0].split("(default")[0].split()) > 4


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


def test_a_command_line_leaves_the_rest_to_its_default():
    begun = Config(lr=0.5, sampling="random", max_rows=None)
    assert parse(["--threads", "2"], begun) == dataclasses.replace(begun, threads=2)


def test_settings_of_every_field_are_read_back_from_json():
    begun = Config(max_rows=None, steps=9, amp=True, lr=0.1, weight_decay=0.0, eval_stride=3)
    assert read_settings(json.loads(json.dumps(dataclasses.asdict(begun))), "x") == begun
    assert read_settings({}, "x") == Config()


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Config)])
def test_a_setting_of_another_type_is_refused_by_name(field):
    with pytest.raises(ValueError, match=rf"^x has \[1\] for '{field}', which cannot be$"):
        read_settings({field: [1]}, "x")


def test_of_all_settings_only_those_that_feed_no_batch_may_change_on_the_way():
    may = "corpus_path device eval_every eval_stride explain html plan resume show_rows"
    may += " threads tokens"
    others = {"lr": 0.5, "num_merges": 7, "name": "x", "amp": True, "max_rows": None}
    assert " ".join(sorted(MAY_CHANGE)) == may
    check_unchanged(Config(threads=2, eval_every=7, device="cpu", eval_stride=3), Config())
    for name, value in others.items():
        with pytest.raises(ValueError, match=r"and cannot change on --resume; got ") as refused:
            check_unchanged(Config(**{name: value}), Config())
        assert str(refused.value).startswith(f"--{name.replace('_', '-')} was ")


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
        ({"sampling": "random", "shuffle": "none"}, "--shuffle none is an order of an epoch; "),
        ({"layout": "packed"}, "--layout packed needs --split documents, for a cut through rows"),
        ({"boundaries": "isolated"}, "--boundaries isolated needs --layout eot or packed: in one"),
        (PACKED | {"sampling": "random"}, "--layout packed has rows to take in epochs; "),
        (PACKED | {"stride": 7}, "--layout packed moves on by its rows, --seq-len + 1 ids; leave"),
        (PACKED | {"tail": "drop"}, "--tail drop needs --packing sequential: best fit leaves no "),
        (
            {"test_fraction": 0.1},
            "--test-fraction divides documents, so it needs",
        ),
        ({"group_column": "id"}, "--group-column divides documents, so it needs"),
        ({"packing": "sequential"}, "--packing says how rows are packed, so it needs --layout pac"),
        ({"long_doc": "drop"}, "--long-doc says how rows are packed, so it needs --layout packed"),
        ({"tail": "drop"}, "--tail says how rows are packed, so it needs --layout packed"),
        (DIVIDED | {"test_fraction": 0.9}, "--val-fraction and --test-fraction must leave somethi"),
        (DIVIDED | {"test_fraction": -0.1}, "--val-fraction and --test-fraction must leave someth"),
        (DIVIDED | {"test_fraction": math.nan}, "--val-fraction and --test-fraction must leave so"),
        ({"html": "a.html"}, "--html is a page of --explain W"),
        ({"explain": -1}, "--explain must be 0 or more, got -1"),
        ({"show_rows": 0}, "--show-rows must be at least 1, got 0"),
        ({"name": "a/b"}, "--name must be a plain folder name, got 'a/b'"),
        ({"name": ".."}, "--name must be a plain folder name, got '..'"),
    ],
)
def test_what_cannot_work_is_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=r"^--") as refused:
        Config(**settings).check()
    assert str(refused.value).startswith(message)


def test_prepared_streams_are_of_divided_documents_with_an_end_of_text_after_each():
    taken = parse(["--tokens", "somewhere"])
    assert (taken.split, taken.layout) == ("documents", "eot")
    assert parse(["--tokens", "somewhere", "--layout", "packed"]).layout == "packed"
    taken.check()


@pytest.mark.parametrize(
    "flags", ["--corpus-path x.csv", "--num-merges 7", "--val-fraction 0.2", "--max-rows None"]
)
def test_what_was_settled_when_streams_were_prepared_is_refused_with_them(flags):
    name = flags.split()[0]
    with pytest.raises(ValueError, match=f"{name} was settled when the streams of --tokens were"):
        parse(["--tokens", "somewhere", *flags.split()]).check()


def test_an_order_of_epochs_goes_with_epochs():
    with pytest.raises(ValueError, match="--shuffle bijection is an order of an epoch; --sampling"):
        parse(["--sampling", "random", "--shuffle", "bijection"]).check()
