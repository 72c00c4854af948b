"""Bare files of ids: what they hold, how large they are, and that mapping takes no memory."""

import mmap
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT

import idfiles
from idfiles import file_bytes, id_dtype, map_ids
from storage import save_uint16


@pytest.mark.contract("id_dtype", "file_bytes")
@pytest.mark.eq("id-bytes", "file-bytes")
@pytest.mark.parametrize(
    ("vocab_size", "dtype", "size"),
    [(257, "uint16", 2), (65_536, "uint16", 2), (65_537, "uint32", 4), (200_000, "uint32", 4)],
)
def test_the_largest_id_decides_how_many_bytes_each_takes(vocab_size, dtype, size):
    """V = 65,536 has the largest id 65,535, which two bytes still hold."""
    assert id_dtype(vocab_size) == dtype  # eq: id-bytes
    assert file_bytes(1000, dtype) == 1000 * size  # eq: file-bytes
    assert np.iinfo(dtype).max >= vocab_size - 1


@pytest.mark.contract("map_ids")
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_a_bare_file_is_mapped_as_the_ids_that_were_written(tmp_path, dtype):
    """Little-endian on every machine, and read-only."""
    (tmp_path / "ids.bin").write_bytes(np.array([3, 511, 65_535]).astype(dtype).tobytes())
    ids = map_ids(tmp_path / "ids.bin", dtype)
    assert (ids.dtype, ids.tolist()) == (dtype, [3, 511, 65_535])
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 7


@pytest.mark.quality("map_ids")
def test_no_bytes_are_no_ids():
    assert map_ids(Path(os.devnull), "uint16").tolist() == []


@pytest.mark.skipif(not hasattr(mmap, "MADV_RANDOM"), reason="the system cannot be advised")
@pytest.mark.parametrize(("memory", "advised"), [(39, [mmap.MADV_RANDOM]), (40, [])])
def test_only_a_file_larger_than_memory_is_read_without_reading_on(
    tmp_path, monkeypatch, memory, advised
):
    """20 ids of 2 bytes, on machines with a byte less than that and with just enough."""

    class Mapped(np.ndarray):
        base = property(lambda self: SimpleNamespace(madvise=told.append))

    told = []
    save_uint16(range(20), tmp_path / "ids.bin")
    monkeypatch.setattr(idfiles, "memory_bytes", lambda: memory)
    monkeypatch.setattr(np, "memmap", lambda file, kind, mode: np.fromfile(file, kind).view(Mapped))
    assert map_ids(tmp_path / "ids.bin", "uint16").tolist() == list(range(20))
    assert told == advised


# ---- memory


LEAST, BATCHES, LIMIT = 64 << 30, 2_000, 16 << 20  # bytes, batches, bytes

MAPPED = """
import sys
import torch
from batches import get_batch
from idfiles import map_ids
def anonymous():
    status = open("/proc/self/status", encoding="ascii").read()
    return int(status.split("RssAnon:")[1].split()[0]), int(status.split("RssFile:")[1].split()[0])
ids, generator = map_ids(sys.argv[1], "uint16"), torch.Generator().manual_seed(0)
total = int(get_batch(ids, 128, 4, generator)[1].sum())
before = anonymous()
for _ in range(int(sys.argv[2])):
    total += int(get_batch(ids, 128, 4, generator)[1].sum())
after = anonymous()
print(len(ids), total, *(b - a for a, b in zip(before, after)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc/self/status")
def test_batches_of_a_file_larger_than_memory_take_under_16_mib(tmp_path):
    """64 GiB or more of zeros that take no room on disk, 2,000 batches of 4 windows."""
    size = max(LEAST, 2 * idfiles.memory_bytes())
    path = tmp_path / "huge.bin"
    with path.open("wb") as file:
        try:
            file.truncate(size)
        except OSError:
            pytest.skip("this file system holds no sparse file of that size")
    command = [sys.executable, "-c", MAPPED, str(path), str(BATCHES)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    count, total, anonymous, of_file = map(int, run.stdout.split())
    assert (count, total) == (size // 2, 0)
    assert anonymous * 1024 < LIMIT
    assert of_file > anonymous  # what grows are pages of the file


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc/meminfo")
def test_the_memory_of_the_machine_is_what_linux_says():
    told = re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    assert idfiles.memory_bytes() == int(told[1]) * 1024
