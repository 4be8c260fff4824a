"""The fuzzer of workflow configurations: each is planned, or refused in a few lines; no shell runs its text."""

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from fault.workflow import ROOT

LINES = 25
"""Most lines of a refusal; Snakemake adds its own lines to ours."""
LIMIT_S = 60
EDGES = {"tiny.txt": "1 2\n2 3\n3 1\n"}
BASE: dict[str, Any] = {
    "results": "results",
    "seed": 1,
    "device": "cpu",
    "gpus": 1,
    "threads": 1,
    "graphs": [
        {
            "name": "tiny",
            "edges": "tiny.txt",
            "undirected": True,
            "models": ["ic"],
            "systems": ["gim", "kpar", "merit"],
            "weights": "wc",
        }
    ],
    "gim": {"k": 2, "epsilon": 0.3, "bound": "opim", "min_sets": 100, "sampler": "skip"},
    "baselines": ["degree"],
    "evaluate": {"prefixes": [1, 2], "runs": 50},
    "imgpu": {"worlds": 10, "modes": ["fixed"], "baselines": ["random"]},
    "kpar": {"k": [2], "alpha": 0.2, "epsilon": 0.5, "sources": 2, "baselines": ["fora"]},
    "merit": {"eta": [2], "batch": 1, "epsilon": 0.5, "worlds": 1, "policies": ["coupled"]},
    "diversity": {"models": ["comp"], "k": 1, "t": 1, "check": 1},
    "shards": {"count": 2, "sets": 10},
}
SHELL = [
    "; touch PWNED",
    "$(touch PWNED)",
    "`touch PWNED`",
    "' ; touch PWNED ; '",
    "\ntouch PWNED\n",
    "| touch PWNED",
    '" ; touch PWNED ; "',
]
TEXTS = [
    "",
    " ",
    "x",
    "tiny\n",
    "a b",
    "a/b",
    "../x",
    "/tmp/x",
    "é",
    "\u2028",
    "~",
    "-x",
    "--out=x",
    "{graph}",
    "{input}",
    "*",
    "%",
    "#",
    "\x00",
    "x" * 300,
    "er --vertices 10 --edges 20",
    "er --vertices 10",
    "er --vertices ten --edges 20",
    "const:0.1",
    "const:2",
    "const:nan",
    "wc\n",
]
CONTAINERS: list[Any] = [[], {}, [[]], [None], [1, 1], ["x"], {"k": 1}, [0], [-1], ["ic", "ic"]]
VALUES = st.one_of(
    st.sampled_from(
        [None, True, False, 0, 1, -1, 2, 5.0, 0.5, 1.0, 1e300, float("nan"), float("inf"), 2**31, 2**63, 2**64, 10**30]
    ),
    st.sampled_from(TEXTS),
    st.sampled_from(SHELL).map("x{}".format),
    st.sampled_from(SHELL),
    st.sampled_from(SHELL).map("er --vertices 10 --edges 20{}".format),
    st.sampled_from(CONTAINERS).map(copy.deepcopy),  # what comes next may change a key within
)
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
RAW = [
    "",
    "- 1\n",
    "x\n",
    "a: [\n",
    "\t\n",
    "gim: {k: 2, k: 3}\n",
    "seed: 1\nseed: 2\n",
    "---\nseed: 1\n---\nseed: 2\n",
    "seed: !!python/object:os.system x\n",
    "seed: &a [*a]\n",
    "graphs: &a [*a]\n",
    ALIASES,
    ALIASES + "graphs: *j\n",
    "gim: &a {k: *a}\n",
    "seed: 0o7\n",
    "seed: 0x10\n",
    "seed: 1_0\n",
    "seed: 2001-01-01\n",
    "? [a]\n: b\n",
    "seed: " + "[" * 3000 + "\n",
    "\ufeffseed: 1\n",
    "<<: {seed: 1}\n",
    "1: 2\n",
    "null: 1\n",
    "seed: '1'\n",
]


@st.composite
def _changed(draw: Any) -> str:
    """Return a configuration with one to three keys changed, dropped or added."""
    config = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(1, 3))):
        place: Any = config
        key = draw(st.sampled_from([*BASE, "graphs", "graphs", "more", "paper", "scale"]))
        if isinstance(place.get(key), dict) and draw(st.booleans()):
            place = place[key]
            key = draw(st.sampled_from([*place, "more"]))
        elif key == "graphs" and _has_entry(place.get(key)) and draw(st.booleans()):
            place = place[key][0]
            key = draw(st.sampled_from([*place, "generate", "fetch", "more"]))
            if key in ("generate", "fetch"):
                place.pop("edges", None)
        if draw(st.integers(0, 9)) == 0:
            place.pop(key, None)
        else:
            place[key] = draw(VALUES)
    return yaml.safe_dump(config)


def _has_entry(graphs: Any) -> bool:
    """Return whether the first graph has keys; an earlier change may have replaced it by anything."""
    return isinstance(graphs, list) and bool(graphs) and isinstance(graphs[0], dict)


def configurations(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer; an example is the text of a configuration, which is planned and never run."""
    for name, text in EDGES.items():
        (folder / name).write_text(text)
    strategy = st.one_of(_changed(), _changed(), _changed(), st.sampled_from(RAW), st.text(max_size=40))
    words = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--configfile", "mine.yaml"]

    def check(text: str) -> None:
        (folder / "mine.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        done = subprocess.run(
            [*words, "-n", "-p", "--cores", "1"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
        said = done.stdout
        assert done.returncode in (0, 1), f"ended with {done.returncode}: {said[-300:]}"
        if done.returncode:
            lines = [line for line in said.splitlines() if line.strip()]
            assert "Traceback" not in said and len(lines) <= LINES, f"{len(lines)} lines, the last {lines[-1][:200]!r}"
        else:
            assert not _runs(said), f"a shell would run {_runs(said)!r}"
        left = {path.name for path in folder.iterdir()} - {*EDGES, "mine.yaml", ".snakemake"}
        assert not left, f"planning left {left}"

    return strategy, check


def _runs(plan: str) -> str:
    """Return the first line of a plan's shell text that has our mark outside single quotes."""
    for part in re.findall(r"(?ms)^ *Shell command: (.*?)(?=^\S|\Z|^\[)", plan):
        bare = re.sub(r"'[^']*'", "", part)
        if "touch" in bare:
            return next(line for line in bare.splitlines() if "touch" in line)[:200]
    return ""
