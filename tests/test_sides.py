"""Which side owns which document, how much each gets, and that no side uses another's."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sides
from corpus import load_documents
from literate.figures_documents import TEXTS, cut_pieces, divided_pieces
from sides import (
    SPLITS,
    assign_splits,
    audit_split,
    check_apart,
    check_split,
    expected_documents,
    side_sizes,
    text_groups,
)
from stream import cut_stream, encode_documents, encode_text
from tokenizer import Tokenizer

FILE = 'id,text\n1, hello \n2,\n3,"   "\n4,hello\n5,caf\u00e9\n'
ROOM, TWICE = "caf\u00e9", "cafe\u0301"  # one é as one character, and as e and an accent


# ---- splits


def grouped(groups: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"text": groups, "group": groups}, dtype="str").rename_axis("doc_id")


def places(monkeypatch, **places: int) -> pd.DataFrame:
    """Documents whose groups fall at these places."""
    monkeypatch.setattr(sides, "group_hash", lambda group, seed: places[group])
    return grouped(list(places))


def test_the_hash_of_seed_and_group_is_the_place_on_all_machines():
    """BLAKE2b of `0:hello` in 8 bytes, as `b2sum -l 64` prints it."""
    assert sides.group_hash("hello", 0) == 0xEA7B7DC6CDBE0E69


@pytest.mark.eq("side")
def test_the_first_places_are_val_the_last_are_test_exactly_at_the_decimal(monkeypatch):
    """Of 2⁶⁴ places 0.1 is 1,844,674,407,370,955,161.6, so the last of val is …161; of test,
    0.9 is 16,602,069,666,338,596,454.4, so the first is …455. Floats would give …264 and …864."""
    documents = places(
        monkeypatch,
        a=0,
        b=1_844_674_407_370_955_161,
        c=1_844_674_407_370_955_162,
        d=16_602_069_666_338_596_454,
        e=16_602_069_666_338_596_455,
        f=2**64 - 1,
    )
    split = assign_splits(documents, 0.1, 0.1)["split"].tolist()
    assert split == ["val", "val", "train", "train", "test", "test"]  # eq: side
    assert set(assign_splits(documents, 0.0)["split"]) == {"train"}


@pytest.mark.quality("assign_splits")
def test_the_documents_given_stay_as_they_are(write_csv):
    documents = load_documents(write_csv(FILE))
    split = assign_splits(documents, 0.5)
    assert "split" not in documents and split.columns.tolist() == ["text", "group", "split"]
    assert split.attrs == documents.attrs
    assert split["split"].dtype == "str"
    assert assign_splits(documents[:0], 0.5)["split"].tolist() == []


groups = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=30)


@pytest.mark.contract("assign_splits")
@given(groups, st.integers(0, 5), st.data())
def test_a_side_is_a_function_of_group_and_seed_alone(groups, seed, data):
    """Whatever else is in the frame, and in whatever order: also for rows cut off by max_rows."""
    side = {g: assign_splits(grouped([g]), 0.4, 0.2, seed)["split"].iloc[0] for g in groups}
    order = data.draw(st.permutations(groups))[: data.draw(st.integers(0, 30))]
    split = assign_splits(grouped(order), 0.4, 0.2, seed)
    assert split["split"].tolist() == [side[g] for g in order]


@pytest.mark.contract("assign_splits")
def test_equal_texts_are_on_one_side_and_max_rows_moves_none(write_csv):
    rows = [f"story {i % 40} {'é' if i % 2 else TWICE[3:]}" for i in range(120)]
    path = write_csv("text\n" + "\n".join(rows) + "\n")
    split = assign_splits(load_documents(path), 0.3, 0.2)
    assert set(split["split"]) == {"train", "val", "test"}
    assert not split[["group", "split"]].drop_duplicates()["group"].duplicated().any()
    few = assign_splits(load_documents(path, max_rows=50), 0.3, 0.2)
    assert few["split"].equals(split["split"][:50])


@pytest.mark.contract("assign_splits")
@pytest.mark.parametrize("seed", [0, 1, 42])
def test_shares_are_near_the_fractions_when_there_are_many_groups(seed):
    """20,000 groups at 0.1: the standard deviation is √(20,000 · 0.1 · 0.9) ≈ 42; within five."""
    split = assign_splits(grouped([f"g{i}" for i in range(20_000)]), 0.1, 0.1, seed)["split"]
    assert split.value_counts()[["val", "test"]].between(2000 - 212, 2000 + 212).all()


@pytest.mark.contract("assign_splits")
def test_another_seed_divides_otherwise_and_a_larger_share_keeps_its_documents():
    documents = grouped([f"g{i}" for i in range(300)])
    first, second = (assign_splits(documents, 0.2, 0.2, seed)["split"] for seed in (0, 1))
    assert (first != second).any()
    larger = assign_splits(documents, 0.4, 0.2)["split"]
    assert (larger[first == "val"] == "val").all()
    assert larger[first == "test"].equals(first[first == "test"])


@pytest.mark.contract("assign_splits")
@pytest.mark.parametrize(
    ("val", "test", "message"),
    [
        (-0.1, 0.0, "val_fraction must be at least 0 and below 1, got -0.1"),
        (0.1, -0.5, "test_fraction must be at least 0 and below 1, got -0.5"),
        (1.0, 0.0, "val_fraction must be at least 0 and below 1, got 1.0"),
        (float("nan"), 0.0, "val_fraction must be at least 0 and below 1, got nan"),
        (0.7, 0.3, r"val_fraction 0\.7 and test_fraction 0\.3 leave nothing to train on"),
        (0.9, 0.1, "their sum must be below 1"),
    ],
)
def test_fractions_that_leave_nothing_to_train_on_are_refused(val, test, message):
    with pytest.raises(ValueError, match=message):
        assign_splits(grouped(["a"]), val, test)


@pytest.mark.quality("assign_splits")
def test_documents_without_groups_and_a_seed_that_is_no_whole_number_are_refused():
    with pytest.raises(ValueError, match="no column 'group', only 'text'; load_documents makes it"):
        assign_splits(pd.DataFrame({"text": ["a"]}), 0.1)
    with pytest.raises(TypeError):
        assign_splits(grouped(["a"]), 0.1, seed=0.5)


# ---- how much each side gets


@pytest.mark.contract("expected_documents")
@pytest.mark.eq("expected-documents", "deviation")
def test_what_a_side_is_expected_to_get_and_how_far_it_strays():
    """100 alone at 0.1: 10, √(0.1 · 0.9 · 100) = 3. 25 groups of 4: √(0.09 · 25 · 16) = 6."""
    alone = grouped([f"g{i}" for i in range(100)])
    assert expected_documents(alone, 0.1) == pytest.approx((10, 3))  # eq: expected-documents
    fours = grouped([f"g{i // 4}" for i in range(100)])
    assert expected_documents(fours, 0.1) == pytest.approx((10, 6))  # eq: deviation
    assert expected_documents(fours, 0.0) == (0, 0)
    assert expected_documents(fours, 1) == (100, 0)


@pytest.mark.quality("expected_documents")
@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_a_side_of_less_than_none_or_more_than_all_is_refused(fraction):
    with pytest.raises(ValueError, match=f"fraction must be from 0 to 1, got {fraction}"):
        expected_documents(grouped(["a"]), fraction)


@pytest.mark.contract("expected_documents")
def test_over_many_seeds_the_mean_and_the_deviation_are_those():
    """1 group of 12, 4 of 3 and 16 of 1 at 0.25, 2,000 seeds: 10 and √(0.1875 · 196) = 6.06."""
    documents = grouped(["a"] * 12 + [f"b{i // 3}" for i in range(12)] + list("cdefghijklmnopqr"))
    expected, deviation = expected_documents(documents, 0.25)
    assert (expected, deviation) == pytest.approx((10, 6.0622), abs=1e-4)
    got = [
        (assign_splits(documents, 0.25, seed=seed)["split"] == "val").sum() for seed in range(2000)
    ]
    assert abs(np.mean(got) - expected) < 4 * deviation / math.sqrt(2000)
    assert np.std(got) == pytest.approx(deviation, rel=0.08)


SIZED = pd.DataFrame(
    {
        "text": ["hi", "hi", "café", "you all"],
        "group": ["hi", "hi", "café", "you all"],
        "split": ["train", "train", "test", "train"],
    },
    index=[0, 2, 3, 5],
)


def test_the_size_of_a_side_is_its_documents_groups_bytes_and_tokens():
    """train: hi, hi, you all: 3 documents, 2 groups, 2 + 2 + 7 bytes and 3 ends of text."""
    streams = {
        side: encode_documents(SIZED[SIZED["split"] == side], Tokenizer([]))
        for side in ("train", "test")
    }
    sizes = side_sizes(SIZED, {side: stream.spans for side, stream in streams.items()})
    assert sizes.index.tolist() == ["train", "val", "test"]
    assert sizes.columns.tolist() == ["documents", "groups", "bytes", "tokens"]
    assert sizes.to_numpy().tolist() == [[3, 2, 11, 14], [0, 0, 0, 0], [1, 1, 5, 6]]
    assert side_sizes(SIZED).columns.tolist() == ["documents", "groups", "bytes"]
    assert sizes.index.name == "side"
    with pytest.raises(ValueError, match="no column 'group'"):
        side_sizes(SIZED.drop(columns="group"))


def test_a_side_without_a_document_is_refused_with_the_way_out():
    documents = grouped(["a", "b", "b"])
    check_split(documents.assign(split=["train", "val", "val"]))
    with pytest.raises(ValueError) as refusal:
        check_split(documents.assign(split="train"))
    assert str(refusal.value) == (
        "of 2 groups of documents none fell on the val side (train has 2, val 0, test 0); use a "
        "larger --val-fraction, another --seed, or more documents"
    )
    with pytest.raises(
        ValueError, match=r"on the train side .* use smaller fractions for the other sides,"
    ):
        check_split(documents.assign(split="val"))
    with pytest.raises(ValueError, match=r"on the test side .* use a larger --test-fraction"):
        check_split(documents.assign(split=["train", "val", "val"]), SPLITS)


@pytest.mark.parametrize("function", [side_sizes, check_split])
def test_documents_without_a_side_or_with_an_unknown_one_have_no_sizes(function):
    documents = grouped(["a", "b"])
    with pytest.raises(ValueError, match="no column 'split'; assign_splits makes it"):
        function(documents)
    with pytest.raises(ValueError, match="document 1 is on side 'dev'; there are train, val, test"):
        function(documents.assign(split=["train", "dev"]))
    with pytest.raises(ValueError, match="document 0 is on side 'one'"):
        function(documents.assign(split=["one", "dev"]))


# ---- the audit


def told(leaks: pd.DataFrame) -> list[tuple]:
    """The rows of an audit, a window in those that have one."""
    assert leaks.columns.tolist() == ["kind", "doc_id", "group", "sides", "window"]
    return [tuple(v for v in row if v is not pd.NA) for row in leaks.itertuples(index=False)]


@pytest.mark.contract("audit_split")
def test_a_document_on_two_sides_and_a_text_on_two_sides_are_leaks():
    """b, document 3, is used by both. Documents 1 and 5 are one text, a, on two sides."""
    documents = grouped(["a", "b", "a", "c"]).set_axis([1, 3, 5, 7])
    used = {"train": [1, 3, 3, 1], "val": np.array([5, 3]), "test": iter([7])}
    assert told(audit_split(documents, used)) == [
        ("document", 3, "b", "train, val"),
        ("group", 1, "a", "train, val"),
    ]


@pytest.mark.contract("audit_split")
def test_a_document_that_another_side_owns_is_a_leak_even_if_only_one_side_uses_it():
    """1 belongs to val and 2 to test, and training takes both. 3 is used by nobody."""
    documents = grouped(list("abcd")).assign(split=["train", "val", "test", "val"])
    assert told(audit_split(documents, {"train": [2, 1, 0, 1]})) == [
        ("document", 1, "b", "train, val"),
        ("document", 2, "c", "train, test"),
    ]


@pytest.mark.contract("audit_split")
def test_a_window_that_holds_a_document_of_another_side_is_a_leak():
    """Windows 5 and 7 hold 1, which is val's; 5 holds it twice and is told once."""
    documents = grouped(list("abc")).assign(split=["train", "val", "val"])
    lineage = pd.DataFrame({"window": [4, 5, 5, 5, 7], "doc_id": [0, 0, 1, 1, 1]})
    assert told(audit_split(documents, {"train": lineage, "val": [2]})) == [
        ("document", 1, "b", "train, val"),
        ("window", 1, "b", "train, val", 5),
        ("window", 1, "b", "train, val", 7),
    ]


@pytest.mark.contract("audit_split")
def test_a_cut_text_leaks_the_document_that_the_cut_divides():
    """ab, cd and efgh stand at 0–2, 3–5 and 6–10, newlines counted: 8 is inside, 6 between."""
    documents = grouped(["ab", "cd", "efgh", "ij"])
    train, val = cut_stream(encode_text(documents, Tokenizer([])), 8)
    used = {"train": train.spans, "val": val.spans}
    assert told(audit_split(documents, used)) == [("document", 2, "efgh", "train, val")]
    clean = cut_stream(encode_text(documents, Tokenizer([])), 6)
    assert audit_split(documents, dict(zip(SPLITS, (s.spans for s in clean), strict=False))).empty


@pytest.mark.contract("audit_split")
def test_windows_over_a_document_that_two_sides_use_are_leaks_where_nobody_owns_it():
    windows = {
        "train": pd.DataFrame({"window": [0, 1, 1], "doc_id": [0, 0, 1]}),
        "val": pd.DataFrame({"window": [0, 1], "doc_id": [1, 2]}),
    }
    assert told(audit_split(grouped(list("abc")), windows)) == [
        ("document", 1, "b", "train, val"),
        ("window", 1, "b", "train, val", 1),
        ("window", 1, "b", "train, val", 0),
    ]


@pytest.mark.contract("audit_split", "text_groups")
def test_one_text_in_two_spellings_is_a_leak_whatever_its_groups_are_called():
    documents = pd.DataFrame({"text": [ROOM, "tea", TWICE], "group": ["x", "y", "z"]}, dtype="str")
    assert told(audit_split(documents, {"val": [0], "test": [2]})) == [
        ("group", 0, "x", "val, test")
    ]
    assert text_groups(documents["text"]).tolist() == [ROOM, "tea", ROOM]


@pytest.mark.contract("audit_split")
def test_a_clean_audit_is_an_empty_frame_of_the_same_columns():
    documents = assign_splits(grouped([f"g{i % 30}" for i in range(90)]), 0.3, 0.2)
    used = {side: documents.index[documents["split"] == side].repeat(2) for side in SPLITS}
    assert told(audit_split(documents, used)) == []
    assert told(audit_split(documents, {})) == []
    assert told(audit_split(documents[:0], {"train": []})) == []


frames = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from("abcd"), min_size=n, max_size=n),
        st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n),
        st.none() | st.lists(st.sampled_from(SPLITS), min_size=n, max_size=n),
        st.dictionaries(
            st.sampled_from(SPLITS),
            st.lists(st.tuples(st.integers(0, 4), st.integers(0, n - 1)), max_size=6),
        ),
    )
)


@pytest.mark.contract("audit_split")
@given(frames)
def test_the_audit_finds_what_a_slow_loop_finds(case):
    """A loop over documents, pairs of documents, and rows of the lineages."""
    groups, texts, split, used = case
    documents = pd.DataFrame({"text": texts, "group": groups}, dtype="str")
    if split:
        documents["split"] = split
    lineages = {
        side: pd.DataFrame(rows, columns=["window", "doc_id"], dtype=int)
        for side, rows in used.items()
    }
    on = {d: {s for s, rows in used.items() if d in [doc for _, doc in rows]} for d in range(8)}
    owned = {d: {split[d]} if split else on[d] for d in range(len(groups))}
    on = {d: on[d] | owned[d] for d in on if on[d]}
    leaking = [("document", d) for d in sorted(on) if len(on[d]) > 1]
    windows = [
        ("window", side, w)
        for side, rows in used.items()
        for w in dict.fromkeys(w for w, d in rows if owned[d] - {side})
    ]
    found = audit_split(documents, lineages)
    kinds = found.groupby("kind")
    got = {kind: kinds.get_group(kind) if kind in kinds.groups else found[:0] for kind in KINDS}
    assert [("document", d) for d in got["document"]["doc_id"]] == leaking
    assert all(set(row.sides.split(", ")) == on[row.doc_id] for row in got["document"].itertuples())
    assert got["window"]["window"].tolist() == [w for _, _, w in windows]
    assert all(s in told for told, (_, s, _) in zip(got["window"]["sides"], windows, strict=True))
    pairs = [(a, b) for a in on for b in on if a < b and len(on[a] | on[b]) > 1]
    same_group = {groups[a] for a, b in pairs if groups[a] == groups[b]}
    same_text = {
        texts[a]
        for a, b in pairs
        if texts[a] == texts[b] and not {groups[a], groups[b]} & same_group
    }
    told_groups = [d for d in got["group"]["doc_id"] if groups[d] in same_group]
    told_texts = [d for d in got["group"]["doc_id"] if groups[d] not in same_group]
    assert sorted(groups[d] for d in told_groups) == sorted(same_group)
    assert sorted(texts[d] for d in told_texts) == sorted(same_text)
    assert all(d == min(o for o in on if groups[o] == groups[d]) for d in told_groups)


KINDS = ("document", "group", "window")


@pytest.mark.contract("audit_split")
@given(frames, st.integers(0, 9))
def test_each_side_using_its_own_documents_however_often_is_clean(case, seed):
    documents = assign_splits(grouped(case[1]), 0.3, 0.3, seed)
    sides = documents.groupby("split").groups
    used = {side: sides.get(side, documents.index[:0]).repeat(3) for side in SPLITS}
    lineage = pd.DataFrame({"window": range(len(used["train"])), "doc_id": used["train"]})
    assert audit_split(documents, used | {"train": lineage}).empty


@pytest.mark.quality("audit_split")
@pytest.mark.parametrize(
    ("used", "message"),
    [
        ({"dev": [0]}, "the sides are train, val, test; got 'dev'"),
        ({"val": [0, 9]}, "val uses document 9, which is not among the 2 documents; give the fra"),
        ({"val": [7, 0, 9]}, "val uses document 7, which is not among the 2 documents"),
        ({"val": ["a"]}, "val uses document a, which is not among"),
        (
            {"val": pd.DataFrame({"start": [0]})},
            "what val uses has no column 'doc_id', only 'start'",
        ),
    ],
)
def test_what_cannot_be_audited_is_refused(used, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        audit_split(grouped(["a", "b"]), used)


@pytest.mark.quality("audit_split")
def test_an_audit_needs_groups_and_one_row_a_document():
    with pytest.raises(ValueError, match="document 4 stands twice in the frame; leave one out"):
        audit_split(grouped(["a", "b", "c", "d"]).set_axis([4, 2, 4, 2]), {})
    with pytest.raises(ValueError, match="no column 'group', only 'text'"):
        audit_split(pd.DataFrame({"text": ["a"]}), {"train": [0]})


def test_sides_whose_spans_share_no_document_are_counted():
    """Documents 4 and 7 are trained on, in 3 + 2 and 4 tokens; 5 is scored, in 6."""
    train = pd.DataFrame({"start": [0, 3, 7], "stop": [3, 7, 9], "doc_id": [4, 7, 4]})
    val = pd.DataFrame({"start": [0], "stop": [6], "doc_id": [5]})
    sizes = check_apart({"train": train, "val": val})
    assert sizes.to_dict("index") == {
        "train": {"documents": 2, "tokens": 9},
        "val": {"documents": 1, "tokens": 6},
    }
    assert sizes.index.name == "side"


def test_a_document_in_the_spans_of_two_sides_is_refused():
    spans = pd.DataFrame({"start": [0, 2], "stop": [2, 4], "doc_id": [3, 8]})
    sides = {"train": spans, "val": spans.assign(doc_id=[1, 2]), "test": spans}
    with pytest.raises(ValueError, match="document 3 is on two sides, train and test, and 1 more"):
        check_apart(sides)


# ---- what the page says without a number


def test_a_document_stays_in_validation_when_its_part_grows():
    documents = grouped([f"g{i}" for i in range(200)])
    few, many = (assign_splits(documents, part)["split"] == "val" for part in (0.2, 0.4))
    assert few.sum() < many.sum() and many[few].all()


def test_the_hand_documents_of_the_page_are_cut_inside_melon():
    """pear 5, quince 7, plum tart 10, lemon 6, melon 6, pear 5, cherry 7: 46 ids, cut at 32."""
    assert [ids for _, _, ids in cut_pieces()] == [5, 7, 10, 6, 4, 2, 5, 7]
    assert [doc_id for doc_id, _, _ in cut_pieces()] == [0, 1, 2, 3, 4, 4, 5, 6]
    sides = [side for _, side, _ in divided_pieces(TEXTS)]
    assert sides == ["train", "val", "train", "val", "train", "train", "train"]
