"""What the page about documents on one side claims."""

import pandas as pd
from conftest import ROOT
from pytest import approx

from benchmarks.record import kept
from config import Config
from corpus import load_documents
from literate.figures_documents import FRACTION, SEED, TEXTS, twice
from sides import assign_splits, expected_documents

STORIES = load_documents(ROOT / "data" / "corpus.csv")


def figures() -> dict[str, float]:
    """What the row `leaks` measured."""
    return kept("leaks")["figures"]


def scores(way: str) -> list[float]:
    """Bits per byte of the corpus in which each story stands twice, in the order of the steps."""
    return list(twice(way).values())


def grouped(*sizes: int) -> pd.DataFrame:
    """Documents in groups of these sizes."""
    return pd.DataFrame({"group": [str(g) for g, size in enumerate(sizes) for _ in range(size)]})


def fraction_of_seeds_that_stray_less() -> float:
    """The part of 300 seeds that miss the mean by less than a deviation, on the stories."""
    expected, deviation = expected_documents(STORIES, 0.1)
    got = [(assign_splits(STORIES, 0.1, seed=seed)["split"] == "val").sum() for seed in range(300)]
    return sum(abs(n - expected) < deviation for n in got) / len(got)


PAGE = "documents.md"
GIVEN = [
    "with a validation part of 0.3",
    "with seed 0 and $\\rho_{\\text{val}}$ = 0.3",
    "The groups have 1, 1 and 2 documents, at the places 0.05, 0.62 and 0.97.",
    "$\\rho_{\\text{val}}$ and $\\rho_{\\text{test}}$ are both 0.1.",
]
CLAIMS = [
    (
        "`pear` stands there twice, and has one place.",
        lambda: (FRACTION, SEED, TEXTS.count("pear"), len(set(TEXTS))),
        (0.3, 0, 2, 6),
    ),
    (
        "about two seeds in three miss by less than one",
        fraction_of_seeds_that_stray_less,
        approx(2 / 3, abs=0.06),
    ),
    (
        "150 steps with the default settings",
        lambda: figures()["steps"],
        150,
    ),
    (
        (
            "That the tokenizer has seen the validation text changes less there than another seed "
            "would."
        ),
        lambda: abs(figures()["divided"] - figures()["divided_seen"]) < 0.01,
        True,
    ),
    ("a corpus of 80 stories in which each stands twice", lambda: figures()["stories"], 80),
    (
        "Cut, the audit lists 18 leaks, and divided none.",
        lambda: [figures()[f"twice_{way}_shared"] for way in ("cut", "divided")],
        [18, 0],
    ),
    (
        "the score goes down as the model learns it by heart",
        lambda: scores("cut") == sorted(scores("cut"), reverse=True),
        True,
    ),
    (
        "the score turns, and ends worse than it began",
        lambda: min(scores("divided")) < scores("divided")[0] < scores("divided")[-1],
        True,
    ),
    (
        (
            "The stories are 800 groups of one document, so with 0.1 validation should get 80, "
            "with a deviation of 8.5."
        ),
        lambda: (STORIES["group"].value_counts().to_list(), expected_documents(STORIES, 0.1)),
        ([1] * 800, approx((80, 8.5), abs=0.05)),
    ),
    (
        "With seed 42 it gets 97.",
        lambda: (
            Config().seed,
            int((assign_splits(STORIES, 0.1, seed=42)["split"] == "val").sum()),
        ),
        (42, 97),
    ),
    (
        "Validation should get 0.1 × 4 = 0.4 documents.",
        lambda: expected_documents(grouped(1, 1, 2), 0.1)[0],
        approx(0.4),
    ),
    (
        "The deviation is the root of 0.09 × 6, about 0.73.",
        lambda: (
            expected_documents(grouped(1, 1, 2), 0.1)[1] ** 2 / 6,
            expected_documents(grouped(1, 1, 2), 0.1)[1],
        ),
        approx((0.09, 0.73), abs=5e-3),
    ),
]
