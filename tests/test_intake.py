"""What partitions hold is counted, and lessons are drawn, as if there were no partitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addresses import whole_file
from intake import Recipe, check_sides, lessons, measure, share_below, total
from partitions import cut_file
from sides import group_hash

WORDS = [f"word {number}" for number in range(40)]
RECIPE = Recipe(val_fraction=0.25, test_fraction=0.25, seed=3)


@pytest.fixture
def path(write_csv):
    return write_csv("text\n" + "\n".join([*WORDS, "", "caf\u00e9"]) + "\n")


def test_a_measure_counts_records_documents_and_bytes(write_csv):
    """Two of three records have text; "hi" is 2 bytes and "café" is 5."""
    found = measure(whole_file(write_csv('text\nhi\n" "\ncaf\u00e9\n')), Recipe(val_fraction=0.0))
    assert found.records == 3 and found.groups is None
    assert found.documents == {"train": 2, "val": 0, "test": 0}
    assert found.text_bytes == {"train": 7, "val": 0, "test": 0}


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_measures_add_up_to_the_same_sums_whatever_the_partitions(path, size):
    measures = [measure(p, RECIPE) for p in cut_file(str(path), "utf-8", size).partitions]
    whole = measure(whole_file(path), RECIPE)
    for what in ("documents", "text_bytes"):
        assert total(measures, what) == getattr(whole, what)
    assert sum(m.records for m in measures) == whole.records
    check_sides(measures, ("train", "val", "test"))


@pytest.mark.eq("fit-share")
def test_a_share_is_the_bytes_to_fit_on_of_the_bytes_there_are():
    """100 of 400 bytes: a quarter of the 2⁶⁴ places, 2⁶²; if all fit, all places."""
    assert share_below(400, 100) == 2**62  # eq: fit-share
    assert share_below(100, 100) == share_below(99, 100) == 2**64
    assert share_below(3, 1) == 6_148_914_691_236_517_205  # a third, rounded down
    assert share_below(0, 1) == 2**64


def test_lessons_are_the_training_documents_below_the_place_in_order(path):
    """By the definition, a document at a time."""
    taken = lessons(whole_file(path), RECIPE, 1 << 63)
    train = lessons(whole_file(path), RECIPE, 1 << 64)
    assert len(train) == measure(whole_file(path), RECIPE).documents["train"]
    wanted = [text for text in train if group_hash(f"fit:{text}", RECIPE.seed) < 1 << 63]
    assert taken == wanted and 0 < len(taken) < len(train)
    assert lessons(whole_file(path), RECIPE, 0) == []


@given(st.integers(1, 200))
def test_lessons_do_not_depend_on_the_partitions(size):
    folder = test_lessons_do_not_depend_on_the_partitions.folder
    path = folder / "any.csv"
    if not path.exists():
        path.write_text("text\n" + "\n".join(WORDS) + "\n", encoding="utf-8")
    parts = cut_file(str(path), "utf-8", size).partitions
    found = [text for part in parts for text in lessons(part, RECIPE, 1 << 63)]
    assert found == lessons(whole_file(path), RECIPE, 1 << 63)


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory):
    test_lessons_do_not_depend_on_the_partitions.folder = tmp_path_factory.getbasetemp()


def test_groups_are_told_by_hashes_of_text_and_group(write_csv):
    """Two spellings of one text have one hash, and blank records none."""
    path = write_csv("text,who\ncaf\u00e9,a\n,\ncafe\u0301,b\n")
    found = measure(whole_file(path), replace(RECIPE, group_column="who")).groups
    assert found.dtype == np.uint64 and found[:, 0].tolist() == [0, 2]
    assert found[0, 1] == found[1, 1] and found[0, 2] != found[1, 2]
