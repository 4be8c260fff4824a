#!/usr/bin/env bash
# Try the wheel as people would: fresh environments beside old and new libraries, a CSV with names, Parquet, a notebook,
# a campaign, the demo.
#   packaging/try_installed.sh [FOLDER]      takes some six minutes and needs the package index; prints all that it does
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"
unset PYTHONPATH
python3 -m venv build
build/bin/pip wheel -q --no-deps --wheel-dir dist "$root"

say() { printf '\n$ %s\n' "$*"; "$@"; }

# An environment of a name, with the wheel and what else is asked for; then what is in it.
environment() {
  name=$1; shift
  printf '\n== %s: %s\n' "$name" "$*"
  python3 -m venv "$name"
  PATH="$folder/$name/bin:$PATH"
  say pip install -q dist/*.whl "$@"
  say pip check
  say python -c 'import numba, numpy, pandas, scipy; print(*(f"{m.__name__} {m.__version__}" for m in (numba, numpy, pandas, scipy)))'
}

# A header, e-mail addresses, counts: seeds, neighbours and circles as CSV, with those addresses.
questions() {
  say gpukit graph import friends.csv --undirected --weights file --scale in-sum --out friends.h5
  say gpukit gim run friends.h5 -k 2 --out seeds.h5
  say gpukit export seeds.h5 --out -
  say gpukit kpar index friends.h5 --out index.h5
  say gpukit kpar query friends.h5 --index index.h5 --source ann@example.org -k 3 --out close.h5
  say gpukit export close.h5 --out -
  say gpukit diversity search friends.h5 --model comp -k 1 -t 2 --out circles.h5
  say gpukit export circles.h5 --out -
  say gpukit verify friends.h5 seeds.h5 close.h5 circles.h5
}

# The same answers as Parquet, and that pandas finds the addresses in them.
tables() {
  for kind in seeds close circles; do
    say gpukit export "$kind.h5" --out "$kind.parquet"
    say python -c "import pandas; table = pandas.read_parquet('$kind.parquet'); print(table); assert '@example.org' in table.to_string()"
  done
}

# What is wrong is one line, with the code that README names.
mistakes() {
  for words in "graph import gone.csv --out g.h5" "graph import friends.csv --columns from,whom --out g.h5" "gim run friends.csv -k 2 --out s.h5"; do
    printf '\n$ gpukit %s\n' "$words"
    # shellcheck disable=SC2086
    gpukit $words || echo "(exit code $?)"
  done
}

python3 - <<'END' > friends.csv
names = [f"{name}@example.org" for name in ("ann", "bob", "cy", "dee", "eve", "zoë", "kim", "lee")]
print("from,to,messages")
for i, name in enumerate(names):
    for step in (1, 2, 5)[: 1 + i % 3]:
        print(f"{name},{names[(i + step) % 8]},{3 * i + step}")
END

environment lowest 'numpy==2.0.*' 'pandas==2.2.*' 'scipy==1.13.*' 'numba==0.60.*'
questions
mistakes
environment pandas2 'pandas<3' networkx igraph
questions
environment newest 'gpukit[parquet,networkx]' 'pandas>=3' igraph nbclient ipykernel
questions
tables
say python "$root/packaging/try_notebook.py"
environment workflow 'gpukit[workflow]'
say gpukit demo mine --graph friends.csv --undirected --scale max
say gpukit demo
echo
echo "all of it was done"
