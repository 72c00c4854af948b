"""What every test has: one thread, a fixed hypothesis profile, a tiny tokenizer, a browser."""

import os
import shutil
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: a busy machine slows two threads 17×

import numpy as np
import pytest
from hypothesis import settings

from tokenizer import Tokenizer, learn_merges

ROOT = Path(__file__).parent.parent
WORDS = "the old man and the sea, the old woman and the song; 007 cafés 😀\n"

# "ci" draws the same cases each time; "proof" draws twenty times as many, each time others.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("proof", deadline=None, max_examples=800, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def tok() -> Tokenizer:
    """A tokenizer with 40 merges."""
    return Tokenizer(learn_merges(WORDS * 3, 40))


@pytest.fixture
def write_csv(tmp_path):
    """Write bytes (or text, as UTF-8) to a file and give its path."""

    def write(content: str | bytes, name: str = "corpus.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def hand_ids() -> np.ndarray:
    """The ten ids of the hand table."""
    return np.array([3, 1, 4, 1, 5, 2, 6, 5, 3, 5])


@pytest.fixture(scope="session")
def browser():
    """A real Chromium where there is one; CI must have it."""
    chromium = shutil.which("chromium")
    if not chromium and os.environ.get("CI"):
        pytest.fail("CI needs a browser: install chromium")
    if not chromium:
        pytest.skip("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    flags = "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    flags += " disable-component-update disable-sync"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, args=[f"--{flag}" for flag in flags.split()]
        )
        yield started
        started.close()
