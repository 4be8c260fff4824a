"""Odd configurations: each is refused in one line that names the error, or accepted; none hangs, and none is run."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from gpukit.cli.workflow import config_graphs
from gpukit.cli.workflow.config_file import check_file
from gpukit.cli.workflow.configuration import check_configuration
from gpukit.errors import GpukitError
from gpukit.papers.cli.configuration import check_paper

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.json"


def bomb(first, following, names="abcdefgh"):
    """Return lines that stand for 9 ** 8 values, each alias for nine of the line before."""
    lines = [f"a: &a {first}"]
    for above, name in zip(names, names[1:], strict=False):
        lines.append(f"{name}: &{name} {following.format(*[f'*{above}'] * 9)}")
    return "\n".join(lines)


NINE = "[" + ", ".join(["{}"] * 9) + "]"
MAPS = "{{" + ", ".join(f"k{i}: {{}}" for i in range(9)) + "}}"
FILES = {
    "list bomb": (bomb("[1, 2, 3]", NINE), "values, aliases written out"),
    "mapping bomb": (bomb("{x: 1}", MAPS), "values, aliases written out"),
    "merging bomb": (bomb("{x: 1}", "{{<<: [" + ", ".join(["{}"] * 9) + "]}}"), "values, aliases written out"),
    "alias of itself": ("gim: &a {k: *a}", "deeper than"),
    "alias of nothing": ("seed: *a", "is no YAML: found undefined alias"),
    "deep list": (f"gim: {'[' * 3000}{']' * 3000}", "deeper than"),
    "deep mapping": (f"gim: {'{a: ' * 3000}1{'}' * 3000}", "deeper than"),
    "deep JSON": (f'{{"gim": {"[" * 30000}{"]" * 30000}}}', "deeper than"),
    "deep JSON mapping": ('{"a": ' * 40 + "1" + "}" * 40, "deeper than"),
    "repeated key": ("gim: {k: 5, k: 50}", "'k' stands twice"),
    "repeated section": ("gim: {k: 5}\nseed: 1\ngim: {epsilon: 0.2}", "line 3: the key 'gim' stands twice"),
    "repeated key of JSON": ('{"seed": 1, "seed": 2}', "'seed' stands twice"),
    "program": ("__use_yte__: true\nseed: ?__import__('os').system('touch PWNED')", "__use_yte__"),
    "Python object": ("seed: !!python/object/apply:os.system ['touch PWNED']", "asks for a Python object"),
    "Python name": ("seed: !!python/name:os.system", "asks for a Python object"),
    "tabulator": ("gim:\n\tk: 5", "is no YAML"),
    "open bracket": ("gim: [1", "is no YAML"),
    "month 13": ("seed: 2026-13-01", "month must be in 1..12"),
    "5,000 digits": ("seed: " + "1" * 5000, "Exceeds the limit"),
    "list as a key": ("? [a]\n: 1", "unhashable"),
    "NUL": ("gim: \0", "is no YAML"),
    "bytes": (b"results: '\xff\xfe'", "is not UTF-8"),
    "large": ("a" * (5 << 20), "has more than 4 MiB"),
    "alias that is fine": ("gim: &a {k: 50}\nkpar: {k: &b [5, 6]}\nmerit: {eta: *b}", None),
    "merge that is fine": ("gim: {<<: {k: 50}}", None),
    "JSON": ('{"seed": 7}', None),
    "empty": ("", None),
}

SIZES = {"gim": {"k": 50}, "merit": {"eta": [200], "batch": 16}, "kpar": {"k": [1000]}, "diversity": {"t": 100}}
GRAPH = {"name": "x", "edges": "x.txt"}
ER = {"name": "x", "generate": "er --vertices 2000 --edges 9000"}


def of(**changes):
    """Return a configuration of one graph with an edge list, changed."""
    return {"graphs": [GRAPH | changes]}


def made(text, **changes):
    """Return a configuration of one generated graph."""
    return {"graphs": [{"name": "x", "generate": text} | changes]}


def measured(command, name="one", paper="diversity", **changes):
    """Return the configuration of a paper with one measure."""
    items = {"diversity": "table-4", "merit": "figure-5", "imgpu": "figure-8"}
    one = {"command": command, "items": [items[paper]]} | changes
    weights = "none" if paper == "diversity" else "wc"
    return {"paper": paper, "scales": {"smoke": {"graphs": [ER | {"weights": weights}], "measures": {name: one}}}}


def cells(**changes):
    """Return the configuration of gIM's paper with one experiment."""
    one = {"methods": ["gim"]} | changes
    return {"paper": "gim", "scales": {"smoke": {"graphs": [ER]}}, "experiments": {"table-2": one}}


# What is said of it, or None where it serves.
VALUES = [
    ({"1": 2}, "there is no key '1'"),
    ({1: 2}, "the key 1 is no text"),
    ({None: 2}, "the key None is no text"),
    ({"gim": {True: 2}}, "the key True is no text"),
    ({"gim": None}, "gim: None is not of type 'object'"),
    ({"gim": []}, "gim: [] is not of type 'object'"),
    ({"gim": "k"}, "gim: 'k' is not of type 'object'"),
    ({"gim": {"k": 5.0}}, "gim.k: 5.0 is not of type 'integer'"),
    ({"gim": {"k": "5"}}, "gim.k: '5' is not of type 'integer'"),
    ({"gim": {"k": True}}, "gim.k: True is not of type 'integer'"),
    ({"gim": {"k": None}}, None),
    ({"gim": {"k": [5]}}, "gim.k: [5] is not of type 'integer'"),
    ({"gim": {"k": -1}}, "gim.k: -1 is less than"),
    ({"gim": {"k": 2**31}}, "gim.k: 2147483648 is greater"),
    ({"gim": {"k": 10**400}}, "gim.k: 1000"),
    ({"gim": {"k": 49}}, None),
    ({"gim": {"k": 49}, "evaluate": {"prefixes": [50]}}, "gim.k is 49; lower the one or raise the other"),
    ({"gim": {"epsilon": float("nan")}}, "gim.epsilon: nan is not of type 'number'"),
    ({"gim": {"epsilon": float("inf")}}, "gim.epsilon: inf is not of type 'number'"),
    ({"gim": {"epsilon": "1e-3"}}, "gim.epsilon: '1e-3' is not of type 'number'"),
    ({"gim": {"epsilon": 0}}, "gim.epsilon: 0 is less than"),
    ({"gim": {"min_sets": 2**40}}, "gim.min_sets"),
    ({"gim": {"bound": "opim\n"}}, "gim.bound: 'opim\\n' is not one of"),
    ({"seed": 2**64}, "seed: 18446744073709551616 is greater"),
    ({"seed": -1}, "seed: -1 is less"),
    ({"seed": 1.0}, "seed: 1.0 is not of type 'integer'"),
    ({"device": "gpu"}, "device: 'gpu' is not one of"),
    ({"threads": 0}, "threads: 0 is less"),
    ({"threads": 10**12}, "threads: 1000000000000 is greater"),
    ({"gpus": 0}, "gpus: 0 is less"),
    ({"results": ""}, "results: '' does not match"),
    ({"results": "a\nb"}, "results: 'a\\nb' does not match"),
    ({"results": "results\n"}, "results: 'results\\n' does not match"),
    ({"results": "{graph}"}, "results: '{graph}' does not match"),
    ({"results": "<logs>"}, "results: '<logs>' does not match"),
    ({"results": "-out"}, "results: '-out' does not match"),
    ({"results": "~/results"}, "results: '~/results' does not match"),
    ({"results": "results/"}, "results: 'results/' does not match"),
    ({"results": 5}, "results: 5 is not of type 'string'"),
    ({"results": "my results"}, None),
    ({"results": "$(touch PWNED)"}, None),
    ({"results": "it's; touch PWNED"}, None),
    ({"graphs": []}, "graphs: [] should be non-empty"),
    ({"graphs": {}}, "graphs: {} is not of type 'array'"),
    ({"graphs": ["x"]}, "graphs[0]: 'x' is not of type 'object'"),
    ({"graphs": [{}]}, "graphs[0]: 'name' is a required property"),
    ({"graphs": [{"name": "x"}]}, "graphs[0] (x): each graph needs one of edges, generate and fetch"),
    ({"graphs": [GRAPH, GRAPH]}, "two graphs have the same name, x"),
    (of(generate="er --vertices 9 --edges 9"), "one of edges, generate and fetch"),
    (of(name="x\n"), "graphs[0].name: 'x\\n' does not match"),
    (of(name="../x"), "graphs[0].name: '../x' does not match"),
    (of(name="a b"), "graphs[0].name: 'a b' does not match"),
    (of(name=""), "graphs[0].name: '' does not match"),
    (of(name="x;touch PWNED"), "graphs[0].name"),
    (of(name="é"), "graphs[0].name"),
    (of(name="x" * 101), "graphs[0].name"),
    (of(name=5), "graphs[0].name: 5 is not of type 'string'"),
    (of(edges="gone.txt"), "graphs[0] (x): there is no file 'gone.txt'"),
    (
        of(edges="http://127.0.0.1:9/e.txt"),
        "http://127.0.0.1:9/e.txt",
    ),  # where nothing listens, or the extra is missing
    (of(edges="."), "there is no file '.'"),
    (of(edges="-"), "graphs[0] (x): edges is '-', by which commands mean standard input; rename the file"),
    (of(edges="./-"), "graphs[0] (x): edges is '-', by which commands mean standard input; rename the file"),
    (of(edges="g{1}.csv"), "g{1}.csv', but Snakemake puts something else for what is in braces"),
    (of(edges="{graph}.csv"), "{graph}.csv', but Snakemake puts something else for what is in braces"),
    (of(edges="<results>.csv"), "<results>.csv', but Snakemake puts something else for what is in braces"),
    (of(edges="-g.csv"), None),
    (of(edges="x.txt\n"), "there is no file 'x.txt\\n'"),
    (of(edges=["x.txt"]), "graphs[0].edges: ['x.txt'] is not of type 'string'"),
    (of(weights="wc\n"), "graphs[0].weights: 'wc\\n' does not match"),
    (of(weights="const:0"), "weights is const:0; a probability in (0, 1]"),
    (of(weights="const:1.5"), "weights is const:1.5; a probability in (0, 1]"),
    (of(weights="const:1.2.3"), "graphs[0].weights: 'const:1.2.3' does not match"),
    (of(weights="const:"), "graphs[0].weights: 'const:' does not match"),
    (of(weights="const:nan"), "graphs[0].weights: 'const:nan' does not match"),
    (of(edges="few.txt"), None),
    (of(edges="few.txt", systems=["gim"]) | SIZES, "gim.k is 50, but the graph has 3 vertices; lower it"),
    (
        of(edges="few.txt", systems=["merit"]) | SIZES,
        "merit.eta is 200, merit.batch is 16, but the graph has 3 vertices; lower them",
    ),
    (of(edges="few.txt", systems=["kpar"]) | SIZES, "kpar.k is 1000, but the graph has 3 vertices"),
    (of(edges="few.txt", systems=["diversity"]) | SIZES, "diversity.t is 100, but the graph has 3 vertices"),
    (of(edges="names.csv", systems=["imgpu"]) | SIZES, "gim.k is 50, but the graph has 49 vertices"),
    (of(edges="few.mtx", systems=["gim"]) | SIZES, "gim.k is 50, but the graph has 49 vertices"),
    (of(edges="late.txt", systems=["gim"]) | SIZES, "gim.k is 50, but the graph has 49 vertices"),
    (of(edges="mails.csv", columns="from,to"), None),
    (of(edges="mails.csv", columns="from,to,count"), "columns names a column of weights, which weights: file alone"),
    (of(edges="mails.csv", columns="from,to,count", weights="file", scale="max"), None),
    (of(edges="mails.csv", columns="from,whom"), "'whom'"),
    (of(edges="mails.csv", sep="tab", columns="from,to"), "graphs[0] (x): "),
    (of(sep=1), "graphs[0].sep: 1 is not of type 'string', 'null'"),
    (of(header="yes"), "graphs[0].header: 'yes' is not of type 'boolean', 'null'"),
    (of(ids="words"), "graphs[0].ids: 'words' is not one of"),
    (of(format="gexf2"), "format is 'gexf2'; "),
    (of(edges="bad.txt", skip_bad=1), None),
    (of(edges="names.csv", fold_case=True, strip=True), None),
    ({"gim": {"include": 7, "exclude": [8, "nine"]}}, "gim.exclude: 'nine' is neither a vertex id nor a file"),
    ({"gim": {"include": [7, 0.5]}}, "gim.include[1]: 0.5 is not of type 'string', 'integer'"),
    ({"gim": {"targets": "gone.txt"}}, "gim.targets: there is no file 'gone.txt'"),
    ({"gim": {"targets": "told.txt"}}, None),
    ({"gim": {"targets": "few.txt"}}, "gim.targets: "),
    ({"gim": {"costs": "few.txt"}}, "gim: costs are for seeds within a budget; give budget instead of k"),
    ({"gim": {"costs": "told.txt", "budget": 7.5}}, None),
    ({"gim": {"k": 50, "budget": 7}}, None),
    ({"gim": {"budget": 0}}, "gim.budget: 0 is less than or equal to the minimum of 0"),
    ({"merit": {"costs": "uniform"}}, None),
    ({"merit": {"costs": "gone.txt"}}, "merit.costs: there is no file 'gone.txt'"),
    ({"kpar": {"sources": [7, "8:0.5,9:0.5"]}}, None),
    ({"kpar": {"sources": []}}, "kpar.sources: [] should be non-empty"),
    ({"kpar": {"sources": ["7\n8"]}}, "kpar.sources: '7\\n8' is no vertex, and no set ID:WEIGHT,ID:WEIGHT"),
    ({"kpar": {"sources": "list.txt"}}, None),
    ({"kpar": {"sources": "gone.txt"}}, "kpar.sources: there is no file 'gone.txt'"),
    ({"kpar": {"sources": 0}}, "kpar.sources: 0 is less than"),
    ({"seeds": {"mine": "list.txt"}}, None),
    ({"seeds": {"mine": "few.txt"}}, "few.txt, line 1: 2 columns, 1 are needed"),
    ({"seeds": {"mine": "gone.txt"}}, "seeds.mine: there is no file 'gone.txt'; name a file that is there"),
    ({"seeds": {"mine": "g{1}.csv"}}, "g{1}.csv', but Snakemake puts something else for what is in braces"),
    ({"seeds": {"mine": "a\nb.txt"}}, "seeds.mine: it is 'a\\nb.txt', with control characters; rename the file"),
    ({"merit": {"costs": "a\nb.txt"}}, "merit.costs: it is 'a\\nb.txt', with control characters"),
    ({"seeds": {"pmia": "few.txt"}}, "seeds.pmia: pmia is a method of gpukit; choose another name"),
    ({"seeds": {"a/b": "few.txt"}}, "seeds.a/b: a name of letters, digits, dots, - and _ is needed"),
    ({"seeds": ["few.txt"]}, "seeds: ['few.txt'] is not of type 'object'"),
    (of(edges="late.txt", systems=["gim"]) | {"gim": {"k": 49}, "evaluate": {"prefixes": [49]}}, None),
    (of(edges="bad.txt", systems=["gim"]), "bad.txt, line 2: 1 field"),
    (of(weights="const:1e-3"), None),
    (of(weights="uniform:0:0.1"), None),
    (of(weights="uniform:0.2:0.1"), "weights is uniform:0.2:0.1; 0 <= LO <= HI <= 1"),
    (of(scale="max"), "scale makes probabilities of a third column, but weights is wc"),
    (of(edges="p.txt", weights="file"), None),
    (of(scale="max", weights="file"), "weights is file: "),
    (of(scale="max", weights="file"), "x.txt has 2 columns; "),
    (of(edges="counts.txt", weights="file"), "weight '7' is not a probability in [0, 1]; scale takes counts"),
    (of(edges="counts.txt", weights="file", scale="max"), None),
    (
        of(edges="p.txt", weights="file", models=["ic", "lt"]),
        "models has lt, but the probabilities into vertex 2 sum to",
    ),
    (of(edges="p.txt", weights="file", models=["lt"], scale="in-sum"), None),
    (of(edges="p.txt", weights="file", models=["lt"], systems=["kpar"]), None),
    (of(edges="long.txt", weights="file", models=["lt"]), "into vertex 99999 sum to 1.5"),
    (of(weights="const:0.6", models=["lt"]), None),
    (
        of(weights="const:0.6", models=["lt"], undirected=True),
        "into vertex 1 sum to 1.2; the sum is too large at 1199 vertices",
    ),
    (of(scale="half", weights="file"), "'half' is not one of"),
    (of(weights="uniform:0:0"), "weights is uniform:0:0; 0 <= LO <= HI <= 1 with HI > 0"),
    (of(weights="uniform:0.1"), "graphs[0].weights: 'uniform:0.1' does not match"),
    (of(weights="none"), "weights is none, but gim needs edge probabilities"),
    (of(weights="none", systems=["kpar", "diversity"]), None),
    (of(systems=[]), "graphs[0].systems: [] should be non-empty"),
    (of(systems=["gim", "gim"]), "has non-unique elements"),
    (of(systems="gim"), "graphs[0].systems: 'gim' is not of type 'array'"),
    (of(models=[]), "graphs[0].models: [] should be non-empty"),
    (of(undirected="yes"), "graphs[0].undirected: 'yes' is not of type 'boolean'"),
    (of(edges="", fetch="com-Orkot"), "no data set 'com-Orkot'; did you mean com-Orkut"),
    (of(edges="", fetch="com-Orkut; touch PWNED"), "no data set"),
    (of(edges="", fetch="socfb-konect", systems=["diversity"]), "fetch: socfb-konect cannot be downloaded"),
    (of(edges="", fetch="com-Orkut"), None),
    (of(edges="", fetch="com-Orkut", undirected=True), None),
    (
        of(edges="", fetch="com-Orkut", undirected=False),
        "undirected is false, but each line of com-Orkut is an edge in both",
    ),
    (of(edges="", fetch="wiki-Vote", undirected=True), None),
    (of(edges="", fetch="wiki-Vote", undirected=False), None),
    (made("er --vertices 9000 --edges 90000", real="com-Orkot"), "no data set 'com-Orkot'; did you mean com-Orkut"),
    (made("er --vertices 9000 --edges 90000", real="com-Orkut") | {"data": "real"}, None),
    (made("er --vertices 9000 --edges 90000", real="dblp-613k") | {"data": "real"}, None),
    (of(real="com-Orkut"), "real names what generate stands in for"),
    ({"data": "all"}, "data: 'all' is not one of"),
    (made("er --vertices 9000 --edges 90000; touch PWNED"), "generate: 'touch' is no option; options begin with --"),
    (made("er --vertices 9000 --edges $(touch PWNED)"), "'PWNED)' is no option"),
    (made("er --vertices 9000 --edges 90000 --out x"), "generate: out is the workflow's to say"),
    (made("er --vertices 9000 --edges 90000 --seed 3"), "generate: seed is the workflow's to say"),
    (made("er --vertices 9000 --edges 90000 --help"), "generate: help is the workflow's to say"),
    (made("er --vertices 9000"), "generate: --edges is missing"),
    (made("er --vertices nine --edges 9"), "Invalid value for '--vertices'"),
    (made("er --vertices 9000 --edges"), "'--edges' requires an argument"),
    (made("er --vertices 9000 --edges 9 --egdes 9"), "No such option: --egdes"),
    (made("er --vertices 1 --edges 1"), "generate: 1 vertices; 2 to 2^31 - 1 are allowed"),
    (made("er --vertices 3 --edges 9", systems=["kpar"]), "generate: 9 edges on 3 vertices; 1 to 6 are possible"),
    (made("ring --vertices 9000"), "No such command 'ring'"),
    (made("--vertices 9000"), "a command of gpukit is needed, as graph generate"),
    (made(" "), "a command of gpukit is needed, as graph generate"),
    (made("er --vertices '9000 --edges 9"), "no closing quotation"),
    (made("er --vertices 9000 --edges 9\ntouch PWNED"), "has control characters"),
    (made("rmat --scale 12 --edges 9000 --undirected"), None),
    (made("ba --vertices 9000 --attach 3"), None),
    (made("er --vertices 9000 --edges 90000", undirected=True), "say --undirected in generate"),
    (made("er --vertices 9000 --edges 90000", weights="file"), "a generated graph has no file"),
    (made("er --vertices 40 --edges 90"), None),
    (made("er --vertices 40 --edges 90", systems=["gim"]) | SIZES, "gim.k is 50, but the graph has 40 vertices"),
    (made("er --vertices 40 --edges 90", systems=["kpar"]) | SIZES, "kpar.k is 1000, but the graph has 40 vertices"),
    (made("er --vertices 40 --edges 90", systems=["merit"]) | SIZES, "merit.eta is 200, but the graph has 40 vertices"),
    (
        made("er --vertices 40 --edges 90", systems=["diversity"]) | SIZES,
        "diversity.t is 100, but the graph has 40 vertices",
    ),
    ({"kpar": {"k": [7116]}}, "graphs[0] (wiki-Vote): kpar.k is 7116, but the graph has 7115 vertices"),
    ({"kpar": {"k": []}}, "kpar.k: [] should be non-empty"),
    ({"kpar": {"k": [5, 5]}}, "has non-unique elements"),
    ({"kpar": {"alpha": 1}}, "kpar.alpha: 1 is greater than or equal"),
    ({"kpar": {"sources": 10**7 + 1}}, "kpar.sources"),
    ({"merit": {"worlds": 10**6 + 1}}, "merit.worlds"),
    ({"merit": {"policies": ["anew"]}}, "merit.policies: ['anew'] does not contain"),
    ({"imgpu": {"worlds": 2**31}}, "imgpu.worlds"),
    ({"gim": {"k": 2**20}, "imgpu": {"worlds": 2**30}}, "more than 2^47 fresh worlds"),
    ({"evaluate": {"prefixes": [51]}}, "evaluate.prefixes goes up to 51 seeds, but gim.k is 50"),
    ({"evaluate": {"runs": 2**31}}, "evaluate.runs"),
    ({"diversity": {"k": 2**31}}, "diversity.k"),
    ({"shards": {"count": 2**20, "sets": 2**30}}, "more than 2^48"),
    ({"paper": "gim"}, "paper is gim, but scales has no smoke"),
    ({"paper": "other"}, "paper: 'other' is not one of"),
    ({"scales": {"huge": {"graphs": [GRAPH]}}}, "'huge' is not one of"),
    (measured("papers bench diversity --methods extract"), None),
    (
        measured("papers bench diversity --methods extract; touch PWNED"),
        "'papers bench diversity --methods extract; touch PWNED' takes",
    ),
    (measured("papers bench diversity --methods 'extract; touch PWNED'"), None),  # one word, which the command refuses
    (measured("papers bench diversity --method extract"), "No such option: --method"),
    (measured("papers bench diversity --out x.json"), "out is the workflow's to say"),
    (measured("papers bench diversity --repeat many"), "Invalid value for '--repeat'"),
    (measured("papers bench divers"), "No such command 'divers'"),
    (measured("rm -rf"), "No such command 'rm'"),
    (measured("papers bench"), "No such command 'G.h5'"),
    (measured(""), "No such command 'G.h5'"),
    (measured("doctor --json"), "'G.h5' is no option"),
    (measured("papers bench diversity", name="../x"), "a measure's name is a file name"),
    (measured("papers bench diversity", name="x\n"), "a measure's name is a file name"),
    (measured("papers bench diversity", items=["table-99"]), "'table-99' is no item of paper diversity"),
    (measured("papers bench diversity", items=["table-4\n"]), "is no item of paper diversity"),
    (measured("papers bench diversity", graphs=["Orkut"]), "names the graph Orkut, which this scale does not have"),
    (measured("papers merit once --model ic --eta 40", paper="merit"), None),
    (measured("imgpu run -k 5 --worlds 50 --fresh", paper="imgpu"), None),
    (cells(), None),
    (cells(k=[2001]), "experiments.table-2.k is 2001, but the graph has 2000 vertices"),
    (cells(graphs="density"), "this scale has no such graph"),
    (cells(block=[33]), "33 is not a multiple of 32"),
    (cells(rounds=256), "experiments.table-2.rounds"),
    (cells(methods=[]), "experiments.table-2.methods: [] should be non-empty"),
    (cells() | {"experiments": {"table-99": {"methods": ["gim"]}}}, "'table-99' shows no runs of gIM"),
    (cells() | {"experiments": {"x|y": {"methods": ["gim"]}}}, "'x|y' shows no runs of gIM"),
]


def overlaid(config, changes):
    """Return a configuration with changes laid over it as Snakemake does: sections key by key."""
    merged = dict(config)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = overlaid(merged[key], value) if both else value
    return merged


def refusal(check, *arguments):
    """Return the line of an error, or None; and none may take long."""
    begun = time.monotonic()
    try:
        check(*arguments)
    except GpukitError as error:
        text = str(error)
        assert all(len(line) < 500 for line in text.splitlines())
        return text
    finally:
        assert time.monotonic() - begun < 20
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd")
    (path / "x.txt").write_text("".join(f"{v} {v + 1}\n" for v in range(1200)))
    (path / "few.txt").write_text("1 2\n2 3\n")
    (path / "list.txt").write_text("3\n7\n")  # vertices of every graph of the demo
    (path / "told.txt").write_text("3 2\n7 3\n")
    (path / "names.csv").write_text("from;to\n" + "".join(f"ann {v};bob\n" for v in range(48)))
    (path / "few.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n49 49 1\n1 2\n")
    (path / "late.txt").write_text("7 8\n" * 400_000 + "".join(f"{v} {v + 1}\n" for v in range(48)))
    (path / "p.txt").write_text("".join(f"{v} {v + 1} 0.7\n{v} {v + 2} 0.6\n" for v in range(1200)))
    (path / "counts.txt").write_text("".join(f"{v} {v + 1} 7\n" for v in reversed(range(1200))))
    (path / "long.txt").write_text("".join(f"{v} {v + 1} 0.5\n" for v in range(99_999)) + "1 99999 1\n")
    for name in ("a\nb.txt", "-", "-g.csv", "g{1}.csv", "{graph}.csv", "<results>.csv"):
        (path / name).write_text((path / "x.txt").read_text())
    (path / "bad.txt").write_text("1 2\n3\n")
    (path / "mails.csv").write_text("day,from,to,count\n" + "".join(f"1,p{v},p{v + 1},3\n" for v in range(1200)))
    return path


def test_there_are_enough():
    assert len(FILES) + len(VALUES) >= 100


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_in_a_line_or_serves(tmp_path, name):
    text, complaint = FILES[name]
    (tmp_path / "odd.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refusal(check_file, tmp_path / "odd.yaml")
    assert line is None if complaint is None else complaint in str(line)


def check(config, *more):
    """Check a configuration as the workflow does."""
    check_configuration(config, *more)
    if config["paper"]:
        check_paper(config)


@pytest.mark.parametrize(("changes", "complaint"), VALUES, ids=[f"{n}" for n in range(len(VALUES))])
def test_a_value_is_refused_in_a_line_or_serves(folder, changes, complaint):
    config = overlaid(yaml.safe_load((ROOT / "config/config.yaml").read_text()), changes)
    line = refusal(check, config, SCHEMA, (), [folder, ROOT])
    assert line is None if complaint is None else complaint in str(line)


def test_a_long_list_is_not_read_for_its_sums(folder, monkeypatch):
    monkeypatch.setattr(config_graphs, "LOOKED_THROUGH", 1 << 20)
    assert (folder / "long.txt").stat().st_size > 1 << 20
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config |= of(edges="long.txt", weights="file", models=["lt"])
    assert refusal(check_configuration, config, SCHEMA, (), [folder, ROOT]) is None


def snakemake(folder, *options):
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "-n", "-p", "--cores", "1", *options]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    "text",
    [
        *(FILES[name][0] for name in ("mapping bomb", "deep list", "deep JSON", "repeated key", "program", "bytes")),
        *(yaml.safe_dump(changes) for changes in (of(edges="gone.txt"), {1: 2}, {"gim": {"k": 5.0}})),
        yaml.safe_dump(made("er --vertices 9 --edges 9; touch PWNED")),
        None,
        yaml.safe_dump(of(edges="few.txt") | {"gim": {"k": 50}}),
        yaml.safe_dump(of(edges="few.txt", weights="file") | {"gim": {"k": 2}, "evaluate": {"prefixes": [1]}}),
    ],
    ids=[
        "bomb",
        "list",
        "JSON",
        "twice",
        "program",
        "bytes",
        "gone",
        "key",
        "float",
        "shell",
        "no file",
        "few",
        "two columns",
    ],
)
def test_snakemake_says_it_in_a_line(tmp_path, text):
    (tmp_path / "few.txt").write_text("1 2\n2 3\n")
    if text is not None:
        (tmp_path / "odd.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = snakemake(tmp_path, "--configfile", "odd.yaml")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and 1 <= len(lines) <= 3 and lines[-1].startswith("config: ")
    assert not (tmp_path / "PWNED").exists()


def test_a_target_behind_the_configuration_is_explained(tmp_path):
    (tmp_path / "mine.yaml").write_text("seed: 1\n")
    done = snakemake(tmp_path, "--configfile", "mine.yaml", "sharded")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == (
        "config: there is no file sharded, and --configfile takes every word behind it; targets stand before it: "
        "snakemake sharded --configfile mine.yaml"
    )


def test_shards_refuse_a_question_that_they_do_not_know(tmp_path):
    (tmp_path / "few.txt").write_text("1 2\n2 3\n")
    mine = {"graphs": [{"name": "few", "edges": "few.txt", "systems": ["gim"]}], "gim": {"k": 1, "include": [2]}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    done = snakemake(tmp_path, "sharded", "-n", "--configfile", "mine.yaml")
    said = "`sharded` chooses among all vertices, and the configuration has gim.include; leave it out"
    assert done.returncode == 1 and said in done.stderr + done.stdout
