"""Committed results speak of the sources as they are; rows can be measured, here tiny."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import growth, measure, reading, scaling
from benchmarks.measure import line
from benchmarks.record import RESULTS, code_of, digest, fastest, kept, kept_lines, ratio_of, shown
from benchmarks.rows import ROWS
from literate import figures_speed
from literate.figures_speed import times

LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells memory")

SOURCE = '''"""Says nothing."""

x = "# no comment"  # a comment


def f():
    """Nor does this."""
    return f"{x}#"
'''


def test_the_code_of_a_source_has_no_comments_docstrings_or_empty_lines():
    assert code_of(SOURCE) == 'x = "# no comment"\ndef f():\n    return f"{x}#"'


def test_every_row_has_results():
    assert {path.stem for path in RESULTS.glob("*.json")} == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_results_are_of_the_sources_as_they_are(row):
    """When this fails: `make bench ARGS=ROW`, look at the figures, commit them."""
    result = kept(row)
    assert result["sources"] == ROWS[row].sources
    assert result["digest"] == digest(result["sources"]), f"run `make bench ARGS={row}`"
    assert result["machine"]["cores"] >= 1
    assert result["date"] > "2026"


def test_the_file_of_a_row_is_one_of_its_sources():
    assert "benchmarks/reading.py" in ROWS["reading"].sources
    assert all(any(s.startswith("benchmarks/") for s in row.sources) for row in ROWS.values())


# ---- rows, tiny

TINY = {
    "reading": {"megabytes": 0.01, "rounds": 1},
    "learning": {"megabytes": (0.02,), "rounds": 1},
    "windows": {"n": 500, "few": 300, "T": 4},
    "batch": {"n": 500, "T": 4, "B": 2, "rounds": 3},
    "batches": {"file_ids": 3000, "memory_ids": 3000, "rounds": 1, "sizes": ((2, 8),)},
    "resume_cost": {"ids": 3000, "step": 10, "rounds": 1},
    "packing": {"count": 50, "rounds": 1},
    "strided_evaluation": {"count": 3, "rounds": 1, "lengths": (8,)},
    "training_speed": {"rounds": 1},
    "growth": {"scale": 0.002, "turns": 1},
    "scaling": {"batches": 2, "documents": 20, "disk_bytes": 1 << 21},
}


@pytest.fixture(autouse=True)
def no_process(monkeypatch):
    """What a row measures in a process of its own is measured in this one; there are no peers."""
    monkeypatch.delenv("PEERS", raising=False)
    monkeypatch.setattr(measure, "fresh", lambda function, *arguments, **_: function(*arguments))


@pytest.mark.parametrize("row", TINY)
def test_a_row_is_measured_at_any_size_and_its_figures_are_json(row):
    figures = ROWS[row].measure(**TINY[row])
    assert json.loads(json.dumps(figures)) == figures or row in ("batches",)
    for told in figures.get("lines", []):
        assert told["ours"] >= 0
        assert shown(told["ours"], told["unit"])
        assert told["limit"] is None or told["bound"]


@LINUX
@pytest.mark.parametrize("row", ["order", "encoding"])
def test_rows_that_measure_memory_are_measured_at_any_size(row):
    sizes = {"order": {"windows": (1000,)}, "encoding": {"megabytes": (0.02,)}}
    figures = ROWS[row].measure(**sizes[row], rounds=1)
    assert len(figures["lines"]) == {"order": 4, "encoding": 2}[row]


# ---- how it is measured


def test_a_line_is_compared_with_the_fastest_of_those_that_do_the_same():
    """3 s by the faster of two, where ours takes 2, is 1.5; who is not there does not count."""
    told = line("x", 2.0, same={"a": 5.0, "b": 3.0, "c": None}, less={"d": 1.0})
    assert (fastest(told), ratio_of(told), ratio_of(told, "less")) == ("b", 1.5, 0.5)
    assert ratio_of(line("x", 2.0)) is None


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1.0, "s", "1 s"),
        (0.0123456, "s", "12.3 ms"),
        (2e-10, "s", "0.2 ns"),
        (14_500_000_000, "bytes", "14.5 GB"),
        (0, "bytes", "0 bytes"),
        (2.0, "bits", "2 bits"),
        (1234.5, "s", "1,230 s"),
    ],
)
def test_a_figure_is_shown_with_three_digits_in_a_unit_that_suits(value, unit, words):
    assert shown(value, unit) == words


def test_contenders_begin_in_turn():
    seen = []
    measure.in_turn(3, a=lambda: seen.append("a"), b=lambda: seen.append("b"))
    assert "".join(seen) == "abbaab"


def test_a_peer_that_is_not_there_gives_nothing_and_one_that_breaks_is_told(monkeypatch):
    monkeypatch.setenv("PEERS", sys.executable)
    assert measure.peer("tokens", "rustbpe_learns", "x", 300, "", 9) is None
    with pytest.raises(RuntimeError, match="FileNotFoundError"):
        measure.peer("reading", "count_right", "nothing", "nowhere")


def test_ours_gets_every_nasty_file_right_and_pandas_does_not(tmp_path):
    found = reading.right(tmp_path / "nasty")
    assert found["ours_right"] == found["nasty"] == 8
    assert found["pandas_right"] < 8


def test_the_exponent_of_a_square_is_two():
    assert growth.exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)


# ---- orders of runs, and what is read for them


@given(st.integers(1, 400), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
def test_an_order_of_runs_gives_each_window_once(n, lanes, run, group):
    order = scaling.Runs(n, 1, lanes, run, group)[0:n]
    assert sorted(order.tolist()) == list(range(n))


def test_a_lane_reads_a_group_whole_before_the_next():
    """Two lanes, groups of 2 runs of 3: places 0, 2, … 10 are lane 0, six windows of two runs."""
    order = scaling.Runs(48, seed=3, lanes=2, run=3, group=2)
    for lane in (0, 1):
        for first in (0, 12, 24, 36):
            windows = order[np.arange(first + lane, first + 12, 2)]
            assert sorted(np.unique(windows // 3, return_counts=True)[1].tolist()) == [3, 3]


def test_a_window_touches_the_page_of_its_last_target():
    """T = 2,048 ids of two bytes fill a page of 4,096, and the last target is on the next.

    So one window has two pages, two neighbours three, and two that are apart four.
    """
    pages = [scaling.pages_of(np.array(windows)) for windows in ([0], [0, 1], [0, 5])]
    assert pages == [2, 3, 4]
    last = scaling.SHARD // scaling.T - 1  # its last target is the first id of shard 1
    assert [scaling.shards_of(np.array([w])) for w in (0, last)] == [1, 2]


def test_a_window_is_alone_if_its_run_has_no_other():
    """Of 0, 1 and 256 the first two are of run 0: one of three is alone."""
    assert scaling.alone(np.array([0, 1, 256])) == pytest.approx(1 / 3)


def test_every_kept_line_can_be_shown():
    for told in kept_lines():
        assert told["row"] in ROWS
        assert shown(told["ours"], told["unit"])


# ---- the tables of the pages


def test_a_ratio_is_told_with_two_digits():
    assert [times(x) for x in (0.2944, 0.996, 10.9, 1.04)] == ["0.29×", "1×", "11×", "1×"]


def test_a_line_that_falls_short_is_told_with_its_reason(monkeypatch):
    """Beside a peer that does the same, or, where nobody does, beside one that does less."""
    told = [
        line("ahead", 1.0, same={"a": 2.0}),
        line("behind", 2.0, same={"a": 1.0}, why="so it is"),
        line("behind too", 4.0, same={"a": 1.0}, why="so it is"),
        line("checked", 2.0, less={"b": 1.0}, why="nobody checks"),
        line("alone", 2.0),
        line("alike, as it is shown", 1.0, same={"a": 0.999}),
    ]
    monkeypatch.setattr(figures_speed, "lines", lambda: told)
    assert figures_speed.falling_short()[1] == [
        ["behind<br>0.5× of a", "so it is"],
        ["behind too<br>0.25× of a", "the same"],
        ["checked<br>0.5× of b, which does less", "nobody checks"],
    ]
    assert [row[3] for row in figures_speed.beside_peers()[1]] == [
        "**2×**",
        "0.5×",
        "0.25×",
        "",
        "",
        "1×",
    ]


def test_the_growth_figure_has_a_curve_and_a_name_for_each_function_in_both_panels():
    curves = kept("growth")["figures"]["curves"]
    drawn = figures_speed.growth()
    for curve in curves:
        assert drawn.count(f">{curve['function']}, {curve['letter']}<") == 2
    paths = re.findall(r'd="([^"]*)" style="stroke:var', drawn)
    assert sum(path.count("M") for path in paths) == 2 * len(curves)


@given(st.lists(st.integers(10, 200), min_size=1, max_size=12))
def test_labels_stand_apart_and_inside(heights):
    places = figures_speed.apart(sorted(heights), 10, 200)
    assert all(10 <= place <= 200 for place in places)
    assert all(b - a >= min(17, 190 // len(heights)) for a, b in pairwise(places))


def test_nothing_on_the_road_grows_faster_than_sorting():
    """Ten times the size costs at most 10 × log 10⁷ / log 10⁶ = 11.7 where it sorts: 1.07.

    A cache that is outgrown adds to it: random places of 80 MB cost more than those of 8.
    """
    for curve in kept("growth")["figures"]["curves"]:
        assert curve["exponent"] < 1.25, curve["function"]
        assert curve["bytes_exponent"] < 1.1, curve["function"]
