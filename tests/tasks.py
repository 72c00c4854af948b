"""What can be graded: the functions of each lesson, and those of them that a file has."""

import ast
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# In the order of the road: a file of exercises/, its functions, and the modules that ours are in.
LESSONS = {
    "text_to_ids": "data.load_corpus data.build_tokenizer data.encode_corpus",
    "split": "data.split_ids stream.cut_stream",
    "windows": "windows.rows_view data.make_windows windows.window_table windows.gather",
    "window_count": "windows.count_windows windows.count_unused windows.sliding_windows",
    "batches": "windows.count_batches windows.count_steps windows.window_order "
    "data.iterate_batches",
    "next_token": "windows.attention_mask",
    "model": "scoring.masked_loss scoring.Receipt",
    "run": "windows.eval_windows",
    "token_files": "storage.wrapped storage.check_uint16_range storage.save_uint16 "
    "storage.load_uint16 idfiles.id_dtype idfiles.file_bytes idfiles.map_ids",
    "random_windows": "batches.get_batch batches.batch_seed batches.make_train_loader "
    "batches.epoch_order batches.boundary_windows batches.repeat_share batches.expected_shared",
    "loaders": "loaders.SlidingWindowDataset loaders.RandomWindowDataset "
    "loaders.SequentialEvalDataset loaders.epoch_generator loaders.make_dataloader",
    "evaluation": "windows.mean_context windows.least_context windows.count_passes "
    "scoring.evaluate scoring.total",
    "resume": "windows.place_in_epoch checkpoint.batch_digest checkpoint.check_same",
    "documents": "corpus.join_with_eot stream.encode_text stream.encode_documents "
    "sides.text_groups sides.assign_splits sides.expected_documents sides.audit_split",
    "packing": "packing.whole_documents packing.place packing.pack packing.fill "
    "packing.least_rows packing.count_dropped",
    "isolation": "stream.segment_ids stream.position_ids windows.counts windows.loss_mask",
    "lineage": "lineage.window_lineage ledger.ledger",
}
OWNERS = {
    task.partition(".")[2]: task.partition(".")[0]
    for tasks in LESSONS.values()
    for task in tasks.split()
}


def tasks_of(lesson: str) -> list[str]:
    """The functions of a lesson.

    >>> tasks_of("split")
    ['split_ids', 'cut_stream']
    """
    return [task.partition(".")[2] for task in LESSONS[lesson].split()]


def wanted(defined: list[str], only: str, name: str) -> list[str]:
    """What a file is graded on: the shortest lesson or module of ours that holds all it defines.

    >>> wanted(["split_ids", "make_windows"], "", "my_data.py")[-3:]
    ['split_ids', 'make_windows', 'iterate_batches']
    """
    if only and only not in OWNERS:
        near = get_close_matches(only, OWNERS, 1)
        hint = f"; is it {near[0]}?" if near else ""
        raise pytest.UsageError(f"{name}: no test grades {only}{hint}")
    if not only and not defined:
        raise pytest.UsageError(
            f"{name} defines none of the functions that are graded; begin with a file of exercises/"
        )
    lists = [tasks_of(lesson) for lesson in LESSONS]
    for module in dict.fromkeys(OWNERS.values()):
        lists.append([task for task in OWNERS if OWNERS[task] == module])
    holding = [tasks for tasks in lists if set(defined) <= set(tasks)]
    return [only] if only else min(holding, key=len, default=defined)


def load(path: Path, name: str) -> dict[str, Any]:
    """What a file defines at its top level, run once; imported names are not its own."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise pytest.UsageError(f"{name}: {error.strerror or error}") from None
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        raise pytest.UsageError(f"{name}{where}: {getattr(error, 'msg', error)}") from None
    module = ModuleType(module_name(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pickles look
    sys.path.append(str(path.parent))  # at the end: ours come first
    try:
        exec(compile(tree, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        line = [line for file, line in frames(error) if file == str(path)][-1]
        what = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise pytest.UsageError(f"{name}, line {line}: {what}, when it was run") from None
    own = [name for node in tree.body for name in _bound(node)]
    return {name: vars(module)[name] for name in own if callable(vars(module).get(name))}


def module_name(path: Path) -> str:
    """The name under which a file is loaded; `data.py` is not to hide ours."""
    return f"against_{path.stem}"


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def frames(error: BaseException) -> list[tuple[str, int]]:
    """File and line of every call on the way to the error."""
    found, step = [], error.__traceback__
    while step:
        found.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return found
