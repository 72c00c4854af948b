"""What the README says can be typed, and names what there is."""

import re
import shlex

import pytest
from conftest import ROOT

import lab
import prepare
from config import parse

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
SHELL = [line for kind, body in FENCES if kind == "sh" for line in body.splitlines() if line]


def test_every_python_fence_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    fences = [body for kind, body in FENCES if kind == "python"]
    assert fences
    for body in fences:
        exec(compile(body, "README.md", "exec"), {})


@pytest.mark.parametrize("line", SHELL)
def test_every_shell_line_is_one_that_works(line):
    """Targets of the Makefile, flags of train.py and lab.py, and the set-up of the Makefile."""
    words = shlex.split(line, comments=True)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    if words[0] == "make":
        assert f"\n{words[1]}: " in makefile
    elif "train.py" in words:
        try:
            parse(words[words.index("train.py") + 1 :])
        except SystemExit as done:
            assert done.code == 0  # --help
    elif "prepare.py" in words:
        prepare.parse(words[words.index("prepare.py") + 1 :]).check()
    elif "lab.py" in words:
        lab.parse(words[words.index("lab.py") + 1 :])
    else:
        assert words[1:3] in (["-m", "venv"], ["-m", "pip"], ["-m", "pytest"])
        told = {"requirements.txt", "--against", ".venv"} & {*words}
        assert told or words[-1] == "pytest"


def test_every_module_has_its_line_in_the_table():
    named = set(re.findall(r"^\| `(\w+\.py)` \|", README, flags=re.MULTILINE))
    assert named == {path.name for path in ROOT.glob("*.py")}
