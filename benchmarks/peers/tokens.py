"""Training a tokenizer with rustbpe."""

import time
from importlib.metadata import version
from pathlib import Path


def rustbpe_learns(path: str, vocab: int, pattern: str, lines: int) -> dict:
    """Seconds, and the tokens in the order in which they were learned, as hex."""
    import rustbpe

    text = Path(path).read_text(encoding="utf-8")
    parts = [text[k : k + lines] for k in range(0, len(text), lines)]
    learner = rustbpe.Tokenizer()
    begun = time.perf_counter()
    learner.train_from_iterator(iter(parts), vocab, pattern=pattern)
    seconds = time.perf_counter() - begun
    ranked = sorted(learner.get_mergeable_ranks(), key=lambda pair: pair[1])
    tokens = [bytes(token).hex() for token, _ in ranked]
    return {"seconds": seconds, "tokens": tokens, "version": version("rustbpe")}
