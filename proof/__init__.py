"""What the tests prove: mutants of tagged statements and of whole modules, and their fate."""

import os

# Before anything loads NumPy or torch: a fork of a process with threads may wait for them forever.
os.environ.setdefault("OMP_NUM_THREADS", "1")
