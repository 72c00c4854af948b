# Each target makes .venv first if it is not there. `make train ARGS="--corpus-path mine.csv"` passes flags on.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY := $(VENV)/ready
export NO_MKDOCS_2_WARNING := 1

.PHONY: train test slow check docs serve bench proof mutants clean

train: $(READY)
	$(BIN)/python train.py $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

slow: $(READY)
	$(BIN)/python -m pytest -m slow -n 2 $(ARGS)

check: $(READY)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m pytest tests/test_floors.py

docs: $(READY)
	$(BIN)/python -m mkdocs build --strict $(ARGS)

serve: $(READY)
	$(BIN)/python -m mkdocs serve $(ARGS)

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

proof: export HYPOTHESIS_PROFILE := proof
proof: $(READY)
	$(BIN)/python -m proof $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m pytest -n 2 --dist loadfile)

mutants: $(READY)
	$(BIN)/python -m proof --modules $(ARGS)

$(READY): requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -c "open('$(READY)', 'w').close()"

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(d, ignore_errors=True) for d in ('$(VENV)', 'site')]"
