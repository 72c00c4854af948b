"""All rows, by topic; what registers one is `benchmarks.measure.row`."""

from benchmarks import (  # noqa: F401
    batches,
    evaluation,
    growth,
    importing,
    isolation,
    leaks,
    lineage,
    order,
    packing,
    policies,
    reading,
    runs,
    scaling,
    shakespeare,
    tokens,
    training,
    windows,
)
from benchmarks.measure import ROWS as ROWS
