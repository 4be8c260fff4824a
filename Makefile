# make demo   the workflow on the shipped graphs: results/report.html (sets up .venv first)
# make test   the tests of a few minutes            make lint      style, types, workflow
# make test-all   every test that needs no GPU: also whole runs of the workflow, all kernels compiled and simulated
# make test-plain the unit tests of compiled code with Numba's public interface alone, as for versions that were not tested
# make held BEFORE=../older/checkout   what became slower than in an older checkout: benchmarks/held.toml (DEVICE=cuda for a GPU)
# make bench  timed side-by-side runs               make gpu-test  the tests that need a GPU
# make kernels  the archives of compiled kernels for all GPUs, into gpukit/kernels: some 15 minutes on two cores
# make gpu-sanitize   NVIDIA's sanitizers over the small tests that need a GPU
# make papers the five papers at smoke scale: results/paper/NAME/report.html
# make fault  faults on purpose: make fault FAULTS=2000 SEED=1 FIRST=1; make fuzz MINUTES=30 SEED=1 FUZZ="edges costs"
# make reliability  the counts of both into docs/reliability.md
# make docs   the documentation as a site: site/index.html
# make lock   the exact versions that all of these install, in requirements.lock (needs uv)
# make figures   the measured figures of README and docs, from the records in benchmarks/results
# make reproduction   what held of the papers' claims, by the recorded rows, into docs/reproduction.md and README.md
# make schema rewrites the configuration's schema and its documentation from their one description
# Needs make and Python 3.11 or newer; another interpreter: make PYTHON=python3.12 demo

PYTHON ?= python3
VENV ?= .venv
DEVICE ?= cpu
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock
RUN := PATH="$(abspath $(BIN)):$$PATH"

.PHONY: demo test test-all test-plain lint docs lock kernels gpu-test gpu-sanitize held bench papers figures reproduction schema fault fuzz reliability clean

demo: $(VENV)/.stamp-demo
	$(RUN) snakemake --cores all

# The tests of a file stay together, so that what they share, a whole run of the workflow among it, is made once. The
# longest files come first: one that is begun last leaves the other cores idle.
LONGEST := $(wildcard tests/workflow/test_*.py) tests/unit/test_ptx.py tests/cli/test_docs_commands.py tests/cli/test_wheel.py
TESTS := $(LONGEST) $(filter-out $(LONGEST) tests/cuda_sim/% tests/gpu/%,$(wildcard tests/*/test_*.py))

test: QUICK := -m "not long"
test test-all: $(VENV)/.stamp-dev
	$(RUN) pytest -n auto --dist loadfile $(QUICK) $(TESTS)
	$(RUN) NUMBA_ENABLE_CUDASIM=1 pytest -n auto $(QUICK) tests/cuda_sim

# As with a version of Numba that gpukit was not tested with: five minutes on two cores, since each function is compiled anew.
PLAIN := device diversity evaluate gim graph imgpu kpar merit worlds

test-plain: $(VENV)/.stamp-dev
	$(RUN) GPUKIT_PLAIN_NUMBA=1 pytest -n auto --dist loadfile -m "not long" $(PLAIN:%=tests/unit/test_%*.py) \
	  --deselect tests/unit/test_gim_sentinel.py

lint: $(VENV)/.stamp-dev
	$(RUN) ruff check .
	$(RUN) mypy
	$(RUN) snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint
	$(RUN) python benchmarks/figures.py --check
	$(RUN) $(SITE)

SITE := python docs/build_site.py

docs: $(VENV)/.stamp-dev
	$(RUN) $(SITE)
	@echo "The site: site/index.html; \`python3 -m http.server -d site\` serves it, with search"

# Those that fit the sources stay. Without archives each kernel is compiled when it is first launched.
kernels: $(VENV)/.stamp-dev
	$(RUN) python -m gpukit.device.build

gpu-test: $(VENV)/.stamp-gpu
	$(RUN) pytest tests/gpu

# Every tool runs, also after one that found something. Libraries ask the driver for functions that it may lack, which is an
# error of its interface and nobody's concern; the host may fetch a whole table of which few rows were written, while no
# kernel may read what was not; CuPy's own scan is a race to racecheck, and is left out. racecheck knows hazards in a
# block's shared memory, and nothing of barriers between blocks: tests of kernels that have these are left out of it.
SANITIZERS ?= memcheck racecheck synccheck initcheck
SANITIZED := tests/gpu/test_small_gpu.py --timeout 3600

gpu-sanitize: $(VENV)/.stamp-gpu
	@command -v compute-sanitizer >/dev/null || { \
	  echo "gpu-sanitize needs compute-sanitizer, which comes with NVIDIA's CUDA toolkit: install that, or put it on PATH" >&2; exit 1; }
	@found=; for tool in $(SANITIZERS); do \
	  echo "== $$tool"; \
	  only=; how=; \
	  if [ $$tool = memcheck ]; then how='--report-api-errors no'; fi; \
	  if [ $$tool = initcheck ]; then how='--check-api-memory-access no'; fi; \
	  if [ $$tool = racecheck ]; then only='not cooperative'; how='--kernel-name-exclude kernel_substring=cupy'; fi; \
	  $(RUN) compute-sanitizer --tool $$tool $$how --error-exitcode 1 python -m pytest $(SANITIZED) -k "$$only" || found="$$found $$tool"; \
	done; \
	if [ -n "$$found" ]; then echo "gpu-sanitize: errors or failed tests under$$found" >&2; exit 1; fi

BENCH := $(patsubst %,results/bench/%.h5,soc-Epinions1 soc-Slashdot0902)

held: $(VENV)/.stamp-demo
	@test -d "$(BEFORE)" || { echo 'say which older checkout: make held BEFORE=../older'; exit 2; }
	$(RUN) python benchmarks/held.py --version before=$(BIN)/python:$(BEFORE) --version now=$(BIN)/python:. \
		--device $(DEVICE) --out results/held-$(DEVICE).json

bench: $(VENV)/.stamp-demo $(BENCH)
	$(RUN) gpukit papers bench gim $(BENCH) --out results/bench/gim.json

.SECONDEXPANSION:
results/bench/%.h5: $$(wildcard data/$$*.txt.*) | $(VENV)/.stamp-demo
	@mkdir -p $(@D)
	$(RUN) gpukit graph import $< --out $@

PAPERS := $(notdir $(basename $(wildcard config/paper/*.yaml)))

papers: $(PAPERS:%=results/paper/%/report.html)

figures: $(VENV)/.stamp-demo
	$(RUN) python benchmarks/figures.py

# The rows of a run at small scale, as they are recorded, and those at full scale of graphs that ship with the project;
# `make reproduction RECORDED=results/paper` takes those made here.
RECORDED ?= benchmarks/results/paper-small benchmarks/results/paper-full
AT ?= small

reproduction: $(VENV)/.stamp-demo
	@mkdir -p results/reproduction
	for paper in $(PAPERS); do \
	  tables=; \
	  for folder in $(RECORDED); do \
	    items=$$(ls $$folder/$$paper/*.tsv $$folder/$$paper/items/*.tsv 2>/dev/null); \
	    if [ -z "$$items" ]; then continue; fi; \
	    table=results/reproduction/$$(echo $$folder | tr / -)-$$paper.tsv; \
	    tables="$$tables --items $$table"; \
	    printf 'papers report table items'; \
	    for item in $$items; do printf " $$paper/%s=%s" $$(basename $$item .tsv) $$item; done; \
	    echo " --out $$table"; \
	  done; \
	  echo "papers report claims workflow/paper/claims/$$paper.tsv$$tables --scale $(AT) --out results/reproduction/$$paper.tsv"; \
	done > results/reproduction/commands.txt
	echo "papers report reproduction $(PAPERS:%=results/reproduction/%.tsv) --out docs/reproduction.md --into README.md" \
	  >> results/reproduction/commands.txt
	$(RUN) gpukit batch results/reproduction/commands.txt

# Snakemake alone knows what is out of date.
results/paper/%/report.html: FORCE | $(VENV)/.stamp-demo
	$(RUN) snakemake --cores all --configfile config/paper/$*.yaml

FORCE:

schema: $(VENV)/.stamp-dev
	$(BIN)/python workflow/schemas/describe.py

# What is pinned stays as it is; `rm requirements.lock` first takes the newest of all.
lock:
	uv pip compile -q --universal --python-version 3.11 --group dev \
	  --extra all --extra build-kernels --extra cuda13 --extra slurm \
	  --no-annotate --no-emit-package gpukit --custom-compile-command 'make lock' -o requirements.lock pyproject.toml

# Hours: RECORD adds the counts to those of other sittings.
FAULTS ?= 2000
SEED ?= 1
FIRST ?= 1
MINUTES ?= 30
FUZZ ?=
RECORD ?= docs/reliability.json
FAULT := $(RUN) PYTHONPATH="$(CURDIR):$(CURDIR)/tests" python -m

fault: $(VENV)/.stamp-dev
	$(FAULT) fault --seed $(SEED) --first $(FIRST) --count $(FAULTS) --workflow --record $(RECORD)

fuzz: $(VENV)/.stamp-dev
	$(FAULT) fault.fuzz $(FUZZ) --seed $(SEED) --minutes $(MINUTES) --record $(RECORD)

reliability: $(VENV)/.stamp-dev
	$(FAULT) fault.counts

clean:
	rm -rf results site .snakemake logs .pytest_cache .ruff_cache .mypy_cache

$(VENV)/.stamp-demo: pyproject.toml requirements.lock | $(BIN)/python
	$(PIP) -e '.[workflow]'
	@touch $@

# Dependency groups need pip 25.1, and Python 3.11 brings an older one.
$(VENV)/.stamp-dev: pyproject.toml requirements.lock | $(BIN)/python
	$(PIP) 'pip>=25.1'
	$(PIP) -e '.[all,build-kernels]' --group dev
	@touch $@ $(VENV)/.stamp-demo

COMMA := ,

$(VENV)/.stamp-gpu: pyproject.toml requirements.lock | $(BIN)/python
	$(PIP) 'pip>=25.1'
	sed $(if $(filter cuda12,$(CUDA)),'/^cuda-bindings\|^cuda-toolkit\|^nvidia-/d','') requirements.lock > $(VENV)/gpu.lock
	$(PIP:requirements.lock=$(VENV)/gpu.lock) -e '.[all$(if $(filter cuda13,$(CUDA)),$(COMMA)build-kernels),$(CUDA)]' --group dev
	@touch $@ $(VENV)/.stamp-dev $(VENV)/.stamp-demo

# The CUDA extra that gpu-test installs: cuda13, with the compiler, or cuda12, of which the lock knows no versions: that one
# needs the archives of `make kernels`.
CUDA ?= cuda13

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "gpukit needs Python 3.11 or newer, and $(PYTHON) is missing or older: try make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
