"""The Python API and the commands give the same artifacts, byte for byte."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import gpukit as gk
from gpukit.cli.app import main

EDGES = "".join(f"{u} {v}\n" for u in range(40) for v in ((u * 7 + 3) % 40, (u * u + 1) % 40, (u + 1) % 40) if u != v)
NAMED = "from,to,strength\n" + "".join(
    f"v{line.split()[0]},v{line.split()[1]},0.{3 + place % 5}\n" for place, line in enumerate(EDGES.splitlines())
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    (folder / "edges.txt").write_text(EDGES)
    (folder / "named.csv").write_text(NAMED)
    command(folder, "graph import edges.txt --undirected --out numbers.h5")
    command(folder, "graph import named.csv --undirected --columns from,to --out names.h5")
    drawn = "--undirected --weights trivalency"
    command(folder, f"graph import edges.txt {drawn} --out weighted-numbers.h5")
    command(folder, f"graph import named.csv {drawn} --columns from,to --out weighted-names.h5")
    return folder


def command(folder: Path, line: str) -> None:
    words = [str(folder / word) if word.endswith((".h5", ".txt", ".csv")) else word for word in line.split()]
    assert main(words) == 0


def same_file(folder: Path, answer: gk.Graph | gk.Seeds, line: str) -> None:
    """Compare the file of a saved answer with the file of a command."""
    command(folder, f"{line} --out command.h5 --force")
    answer.save(folder / "api.h5", force=True)
    assert (folder / "api.h5").read_bytes() == (folder / "command.h5").read_bytes()


@pytest.fixture(params=["numbers", "names"])
def graph(request: pytest.FixtureRequest, folder: Path) -> gk.Graph:
    return gk.read_graph(folder / f"{request.param}.h5")


OFF = {"adaptive": "--uniform", "transpose": "--no-transpose"}


def said(options: dict) -> str:
    """Return keywords as the options of a command."""
    words = []
    for name, value in options.items():
        if value is False:
            words.append(OFF[name])
        else:
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words)


def name_of(graph: gk.Graph) -> str:
    name = "names.h5" if graph.csr.labels is not None else "numbers.h5"
    return name if graph.csr.weights.scheme == "wc" else f"weighted-{name}"


# --- graphs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"undirected": True},
        {"weights": "const:0.1", "parallel_edges": "combine"},
        {"weights": "trivalency", "seed": 7},
        {"vertices": 50, "transpose": False},
        {"weights": "none"},
    ],
)
def test_plain_edges(folder: Path, options: dict) -> None:
    check_edges(folder, "edges.txt", options, said(options))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"source": "from", "target": "to"}, "--columns from,to"),
        ({"source": "from", "target": "to", "weight": "strength"}, "--columns from,to,strength --weights file"),
        ({"source": 2, "target": 1, "sep": "comma", "header": True}, "--columns 2,1 --sep comma --header"),
    ],
)
def test_columns(folder: Path, options: dict, line: str) -> None:
    check_edges(folder, "named.csv", options, line)


def check_edges(folder: Path, name: str, options: dict, line: str) -> None:
    found = gk.read_edges(folder / name, **options)
    same_file(folder, found, f"graph import {name} {line}")
    again = gk.read_graph(folder / "command.h5")
    assert again == found and again.digest == found.digest and again.weights == found.weights
    again.save(folder / "again.h5")
    assert (folder / "again.h5").read_bytes() == (folder / "command.h5").read_bytes()


@pytest.mark.parametrize("weights", ["const:0.1", "trivalency", "none", "wc"])
@pytest.mark.parametrize("undirected", [False, True])
def test_other_weights_are_those_of_an_import(folder: Path, weights: str, undirected: bool) -> None:
    found = gk.read_edges(folder / "edges.txt", undirected=undirected).with_weights(weights, seed=3)
    same_file(folder, found, f"graph import edges.txt --weights {weights} --seed 3{' --undirected' * undirected}")


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"k": 3},
        {"k": 4, "model": "lt", "bound": "imm", "epsilon": 0.3, "seed": 5},
        {"k": 2, "rounds": 2, "sampler": "scan", "samples": "fresh"},
        {"k": 2, "sets": "plain", "sentinels": "off"},
        {"budget": 3.5},
    ],
)
def test_influence_maximization(folder: Path, graph: gk.Graph, options: dict) -> None:
    options = options | {"min_sets": 1000}
    found = gk.influence_maximization(graph, **options)
    same_file(folder, found, f"papers gim run {name_of(graph)} {said(options)}")
    assert gk.load(folder / "api.h5", graph=graph) == found


def test_limits_of_seeds(folder: Path, graph: gk.Graph) -> None:
    a, b, c, d = graph.vertices[3:7]
    (folder / "targets.txt").write_text(f"{a} 2.5\n{b} 1\n{c} 1\n")
    (folder / "costs.txt").write_text(f"{a} 2.25\n{d} 3\n")
    options = {"include": [c], "exclude": (d,), "targets": {a: 2.5, b: 1, c: np.int64(1)}, "min_sets": 1000}
    limits = f"--include {c} --exclude {d} --targets targets.txt --min-sets 1000"
    same_file(folder, gk.influence_maximization(graph, k=3, **options), f"gim run {name_of(graph)} -k 3 {limits}")
    found = gk.influence_maximization(graph, budget=4, costs={a: 2.25, d: 3}, min_sets=1000)
    same_file(folder, found, f"gim run {name_of(graph)} --budget 4 --costs costs.txt --min-sets 1000")


@pytest.mark.parametrize("fresh", [False, True])
def test_simulated_seeds(folder: Path, graph: gk.Graph, fresh: bool) -> None:
    found = gk.simulated_seeds(graph, 3, worlds=50, fresh=fresh, seed=2)
    line = f"imgpu run {name_of(graph)} -k 3 --worlds 50 --seed 2{' --fresh' * fresh}"
    same_file(folder, found, line)


def test_spread(folder: Path, graph: gk.Graph) -> None:
    seeds = graph.vertices[:3]
    found = gk.estimate_spread(graph, seeds, runs=60, prefixes=[1, 2], seed=4)
    ids = ",".join(map(str, seeds))
    same_file(folder, found, f"evaluate spread {name_of(graph)} --ids {ids} --runs 60 --prefixes 1,2 --seed 4")
    assert [k for k, *_ in found.curve] == [1, 2, 3] and found.mean == found.curve[-1][1]


@pytest.mark.parametrize("rounds", [1, 2])
def test_spread_of_seeds_that_were_found(folder: Path, graph: gk.Graph, rounds: int) -> None:
    seeds = gk.influence_maximization(graph, k=2, rounds=rounds, min_sets=500)
    seeds.save(folder / "seeds.h5")
    found = gk.estimate_spread(graph, seeds, model="lt", runs=60)
    same_file(folder, found, f"evaluate spread {name_of(graph)} --seeds seeds.h5 --model lt --runs 60")


@pytest.mark.parametrize("options", [{}, {"weighted": True, "hubs": True}, {"memory": 0, "adaptive": False, "seed": 9}])
def test_page_rank(folder: Path, graph: gk.Graph, options: dict) -> None:
    if "weighted" in options:
        graph = gk.read_graph(folder / f"weighted-{name_of(graph)}")
    index = gk.PageRankIndex(graph, alpha=0.15, epsilon=0.4, **options)
    same_file(folder, index, f"papers kpar index {name_of(graph)} --alpha 0.15 --epsilon 0.4 {said(options)}")
    index.save(folder / "index.h5")
    a, b = graph.vertices[1:3]
    (folder / "sources.txt").write_text(f"{a}\n{a}:3,{b}:1\n")
    one = index.top_k(a, k=5)
    same_file(folder, one, f"kpar query {name_of(graph)} --index index.h5 --source {a} -k 5")
    named = graph.vertices[3:9:2]
    best = index.top_k(a, k=2, among=named)
    words = ",".join(str(one) for one in named)
    same_file(folder, best, f"kpar query {name_of(graph)} --index index.h5 --source {a} -k 2 --among {words}")
    assert set(best.vertices) <= set(named)
    many = index.top_k_many([a, {a: 3, b: 1}], k=4, depth="end")
    many.save(folder / "many.h5")
    command(
        folder, f"kpar query {name_of(graph)} --index index.h5 --sources sources.txt -k 4 --depth end --out command.h5"
    )
    assert many.digest == gk.load(folder / "command.h5").digest  # its inputs name the file of sources, too
    loaded = gk.load(folder / "index.h5", graph=graph)
    assert loaded == index and loaded.top_k(a, k=5) == one
    assert many.answers[0] != many.answers[1] and len(many) == 2 and len(one.vertices) == 5 and one.vertices[0] == a


@pytest.mark.parametrize("options", [{}, {"depth": "end", "alpha": 0.5}, {"weighted": True, "seed": 3}])
def test_page_rank_without_an_index(folder: Path, graph: gk.Graph, options: dict) -> None:
    if "weighted" in options:
        graph = gk.read_graph(folder / f"weighted-{name_of(graph)}")
    a, b = graph.vertices[1:3]
    one = gk.personalized_pagerank(graph, {a: 3, b: 1}, k=5, **options)
    same_file(folder, one, f"kpar query {name_of(graph)} --source {a}:3,{b}:1 -k 5 {said(options)}")
    assert len(one.vertices) == 5 and a in one.vertices


def test_page_rank_that_follows_its_graph(folder: Path, graph: gk.Graph) -> None:
    """Updates one by one, as NetworkX would be told of them, and by a command all at once: the same files."""
    index = gk.PageRankIndex(graph, updatable=True, hubs=True, seed=3)
    same_file(folder, index, f"papers kpar index {name_of(graph)} --updatable --hubs --seed 3")
    index.save(folder / "before.h5")
    names, before = graph.vertices, index.digest
    new = [pair for pair in zip(names[:9], names[20:29], strict=True) if not edge_between(graph, *pair)]
    old = [(names[0], graph.csr.original(graph.csr.indices[:1]).tolist()[0])]
    assert index.update(add=new[:2]).added == 4 and index.graph.m == graph.m + 4
    assert index.update(add=new[1:], remove=old)[:5] == (2 * len(new) - 4, 2, 2, 0, 0)
    assert index.update(add=old).added == 2 and index.update(remove=[*old, (names[1], names[1])]).loops == 1
    (folder / "new.txt").write_text("".join(f"{u} {v}\n" for u, v in new))
    (folder / "old.txt").write_text("".join(f"{u} {v}\n" for u, v in old))
    line = f"kpar update {name_of(graph)} --index before.h5 --add new.txt --remove old.txt --out-graph after.h5 --force"
    same_file(folder, index, line)
    changed = gk.read_graph(folder / "after.h5")
    assert index.graph == changed and index.digest != before and index.graph.vertices == names
    one = index.top_k(names[1], k=4)
    loaded = gk.load(folder / "command.h5", graph=changed)
    assert loaded == index and loaded.top_k(names[1], k=4) == one
    loaded.update(add=old, remove=new)
    assert loaded.digest == before and loaded.graph == graph


def test_a_weighted_graph_grows_and_shrinks() -> None:
    """Whatever came before, the index is the one of its graph, and answers are those of one made anew."""
    names = ["ann", "bob", "cy", "dan"]
    graph = gk.from_edges(names[:3], names[1:], [3, 1, 2], undirected=True, scale="8")
    index = gk.PageRankIndex(graph, weighted=True, updatable=True)
    before = index.digest
    assert index.add_vertices(["eve", "ann"]).vertices_added == 1 and index.graph.n == 5
    assert index.add_edges([("eve", "ann", 8), ("dan", "eve", 0.5)]).added == 4
    done = index.set_weights([("ann", "eve", 1), ("ann", "dan", 1)])
    assert (done.not_there, done.weighed) == (2, 2)
    assert index.remove_edges([("bob", "cy")]).removed == 2
    assert index.graph.vertices == ["ann", "bob", "cy", "dan", "eve"]
    made = gk.from_edges(
        ["ann", "cy", "eve", "dan"], ["bob", "dan", "ann", "eve"], [3, 2, 1, 0.5], undirected=True, scale="8"
    )
    assert index.graph.csr.probabilities.tolist() == made.csr.probabilities.tolist()
    assert index.top_k("eve", k=2, among=["cy", "bob"]).vertices[0] == "bob"
    directly = gk.personalized_pagerank(index.graph, "eve", 2, weighted=True, depth="exact", among=["cy", "bob"])
    assert directly == index.top_k("eve", k=2, depth="exact", among=["cy", "bob"])
    for depth in ("auto", "end", "exact"):
        found = gk.personalized_pagerank(index.graph, "eve", 2, weighted=True, depth=depth, among=["cy", "bob", "eve"])
        assert found.vertices[0] == "eve" and {*found.vertices} <= {"cy", "bob", "eve"}
    assert index.remove_vertices(["eve"]).removed == 4 and index.add_edges([("bob", "cy", 1)]).added == 2
    assert index.digest == before and index.graph.csr.probabilities.tolist() == graph.csr.probabilities.tolist()
    for wrong, words in (
        (lambda: index.add_edges([("ann", "cy")]), "give pairs of vertices, and a weight with each"),
        (lambda: index.add_edges([("ann", "eve", 1)]), "vertex 'eve' is not in the graph"),
        (lambda: index.add_edges([("ann", "cy", 9)]), "the weight 9 is outside"),
        (lambda: index.add_vertices([" x"]), "is no label"),
        (lambda: index.add_vertices("ann"), "give a list of vertices"),
        (lambda: index.set_weights([("ann", "cy", "1")]), "and no weight; give a number"),
        (lambda: index.update(add=[("ann", "cy", 1)], remove_vertices=["cy"]), "an end that is to be removed"),
    ):
        with pytest.raises(gk.errors.GpukitError, match=words):
            wrong()
    assert index.digest == before
    largest = gk.from_edges(names[:3], names[1:], [3, 1, 2], scale="max")
    with pytest.raises(gk.errors.InputError, match="import it with the largest possible weight"):
        gk.PageRankIndex(largest, weighted=True, updatable=True).add_edges([("ann", "dan", 1)])


def test_answers_after_updates_are_those_of_an_index_made_anew(tmp_path: Path) -> None:
    """Also where only the rows that changed were followed, which neither names nor digests tell."""
    generator = np.random.default_rng(2)
    ends = np.divmod(generator.choice(60 * 60, 200, replace=False), 60)
    graph = gk.from_edges(*ends, generator.uniform(1, 4, 200), scale="8")
    index, names = gk.PageRankIndex(graph, weighted=True, updatable=True, device="cpu"), graph.vertices
    for step in range(12):
        u, v, source = (names[int(place)] for place in generator.choice(len(names), 3, replace=False))
        if step == 6:
            index.update(add_vertices=[1000], add=[(1000, u, 2), (v, 1000, 2)])
            names = [*names, 1000]
        index.add_edges([(u, v, float(generator.uniform(0.5, 8)))])
        index.set_weights([(u, v, float(generator.uniform(0.5, 8)))])
        answers = index.top_k_many([source, {u: 2, v: 1}], k=5)
        best = index.top_k(source, k=3, among=names[:20])
        if step % 3 == 2:
            index.save(tmp_path / "I.h5")
            anew = gk.load(tmp_path / "I.h5", graph=index.graph)
            assert anew.top_k_many([source, {u: 2, v: 1}], k=5) == answers
            assert anew.top_k(source, k=3, among=names[:20]) == best
            assert index.top_k(source, k=5, depth="exact") == anew.top_k(source, k=5, depth="exact")
    saved = index.top_k(names[0], k=5)
    index.remove_edges([(u, v)])
    later = index.top_k(names[0], k=5)
    index.add_edges([(u, v, 1)])
    assert len(later.vertices) == 5 and later.scores == sorted(later.scores, reverse=True)
    with pytest.raises(gk.errors.UsageError, match="the index has changed since this answer"):
        later.save(tmp_path / "later.h5")
    saved.save(tmp_path / "T.h5")  # of an index whose digest was known


def test_numbered_vertices_come_and_go() -> None:
    index = gk.PageRankIndex(gk.from_edges([0, 1, 2], [1, 2, 0]), updatable=True)
    before = index.digest
    index.update(add_vertices=[7, 3], add=[(7, 1), (3, 7)])
    assert index.graph.vertices == [0, 1, 2, 3, 7] and index.top_k(3, k=2).vertices[0] in (3, 7, 1)
    index.remove_vertices([0, 7])
    assert index.graph.vertices == [1, 2, 3] and index.graph.m == 1
    index.add_vertices([0])
    index.update(add=[(0, 1), (2, 0)], remove_vertices=[3])
    assert index.graph.vertices == [0, 1, 2] and index.graph.m == 3
    assert index.digest != before, "a vertex that was removed and is added again is a new one"
    with pytest.raises(gk.errors.InputError, match="vertex 7 is not in the graph"):
        index.add_edges([(7, 1)])


def edge_between(graph: gk.Graph, u: int | str, v: int | str) -> bool:
    a, b = graph.csr.internal([u, v]).tolist()
    return a == b or b in graph.csr.indices[graph.csr.indptr[a] : graph.csr.indptr[a + 1]]


def test_answers_name_vertices_as_the_graph_does(graph: gk.Graph) -> None:
    index = gk.PageRankIndex(graph)
    assert {type(one) for one in index.top_k(graph.vertices[0], k=5).vertices} == {type(graph.vertices[0])}
    assert list(index.top_k_many(graph.vertices[:3], k=1).to_pandas()["source"]) == graph.vertices[:3]


@pytest.mark.parametrize("model", ["comp", "core", "truss"])
def test_diversity(folder: Path, graph: gk.Graph, model: str) -> None:
    found = gk.structural_diversity(graph, 2, model=model, t=4)
    same_file(folder, found, f"diversity search {name_of(graph)} --model {model} -k 2 -t 4")
    index = gk.DiversityIndex(graph)
    same_file(folder, index, f"diversity index {name_of(graph)}")
    assert index.search(2, model=model, t=4) == found and index.search(2, model=model, t=4).params == found.params
    index.save(folder / "index.h5", force=True)
    again = gk.load(folder / "index.h5", graph=graph)
    assert isinstance(again, gk.DiversityIndex) and again == index and again.search(2, model=model, t=4) == found
    assert [len(found.circles[vertex]) for vertex in found.vertices] == list(found.scores.values())


@pytest.mark.parametrize(
    "options",
    [
        {"eta": 20, "batch": 2},
        {"eta": 15, "model": "lt", "worlds": 2, "costs": "uniform", "lt_residual": "raw", "seed": 3},
        {"eta": 15, "update": "regenerate", "fresh_ids": True, "certificate": "paper", "epsilon": 0.6},
    ],
)
def test_seed_minimization(folder: Path, graph: gk.Graph, options: dict) -> None:
    found = gk.seed_minimization(graph, **options)
    line = said(options)
    same_file(folder, found, f"papers merit run {name_of(graph)} {line}")
    assert found.done and found.activated >= options["eta"] and len(found.costs) == options.get("worlds", 1)
    assert found.mean_cost == pytest.approx(found.details["mean_cost"])
    assert ("mean cost" in str(found)) == (len(found.costs) > 1)
    assert found.cost == pytest.approx(sum(one["cost"] for one in found.rounds))


def test_costs_and_replay(folder: Path, graph: gk.Graph) -> None:
    a, b = graph.vertices[:2]
    (folder / "prices.txt").write_text(f"{a} 0.5\n{b} 3\n")
    first = gk.seed_minimization(graph, 12, batch=4, costs={a: 0.5, b: 3})
    same_file(folder, first, f"merit run {name_of(graph)} --eta 12 --batch 4 --costs prices.txt")
    seen = [one["activated"] for one in first.rounds]
    (folder / "seen.txt").write_text("".join(",".join(map(str, one)) + "\n" for one in seen))
    found = gk.seed_minimization(graph, 12, batch=4, costs={a: 0.5, b: 3}, replay=seen)
    same_file(folder, found, f"merit run {name_of(graph)} --eta 12 --batch 4 --costs prices.txt --replay seen.txt")


def test_a_real_campaign_in_three_rounds(folder: Path, graph: gk.Graph) -> None:
    """Each round is saved, compared with the file of the commands, and loaded again."""
    state = folder / f"campaign-{name_of(graph)}"
    there = folder / "state.h5"
    campaign = gk.Campaign(graph, eta=12, batch=2, seed=1)
    command(folder, f"merit start {name_of(graph)} --eta 12 --batch 2 --seed 1 --out state.h5")
    known: set = set()
    for _ in range(3):
        batch = campaign.next_batch()
        assert batch == campaign.next_batch() == gk.load(there).rounds[-1]["batch"]
        campaign.save(state)
        assert state.read_bytes() == there.read_bytes()
        campaign = gk.load(state, graph=graph)
        known |= set(batch)
        other = next(vertex for vertex in graph.vertices if vertex not in known)
        known.add(other)
        campaign.observe([other])
        command(folder, f"merit next {name_of(graph)} state.h5 --observed {other}")
    assert len(campaign.rounds) == 4 and campaign.activated == len(known) and not campaign.done
    campaign.observe([vertex for vertex in graph.vertices if vertex not in {*known, *campaign.next_batch()}])
    assert campaign.done and campaign.next_batch() == [] and campaign.activated == graph.n
    there.unlink()


# --- options ---------------------------------------------------------------------------------------------------------

PAIRS = [
    (
        "graph import",
        gk.read_edges,
        {"edges", "out", "columns", "compress", "estimate", "json", "verbose", "force"},
    ),
    (
        "gim run",
        gk.influence_maximization,
        {"out", "json", "verbose", "force", "estimate", "gpu_memory"},
    ),
    (
        "papers gim run",
        gk.influence_maximization,
        {"out", "json", "verbose", "force", "estimate", "gpu_memory", "selection", "block", "grid"},
    ),
    (
        "imgpu run",
        gk.simulated_seeds,
        {"out", "json", "verbose", "force", "estimate", "gpu_memory"},
    ),
    (
        "evaluate spread",
        gk.estimate_spread,
        {"out", "json", "verbose", "force", "estimate", "gpu_memory", "ids", "targets", "clip"},
    ),
    *(
        (
            line,
            gk.PageRankIndex,
            {"out", "json", "verbose", "force", "estimate", "gpu_memory", "rank", "compress", "sizes"},
        )
        for line in ("kpar index", "papers kpar index")
    ),
    *(
        (
            line,
            gk.structural_diversity,
            {"out", "json", "verbose", "force", "estimate", "gpu_memory", "part", "balance", "index"},
        )
        for line in ("diversity search", "papers diversity search")
    ),
    ("diversity index", gk.DiversityIndex, {"out", "json", "verbose", "force", "estimate", "gpu_memory", "compress"}),
    *(
        (f"{first}merit {command}", function, {"out", "json", "verbose", "force", "estimate", "gpu_memory", "groups"})
        for command, function in (("run", gk.seed_minimization), ("start", gk.Campaign))
        for first in ("", "papers ")
    ),
]


@pytest.mark.parametrize(("line", "function", "left_out"), PAIRS, ids=[line for line, *_ in PAIRS])
def test_keywords_are_the_options(line: str, function: object, left_out: set[str]) -> None:
    """By name, as written behind ``--``, and with the same defaults."""
    import typer

    from gpukit.cli import app

    command = typer.main.get_command(app.app)
    for word in line.split():
        name, command, _ = command.resolve_command(typer.Context(command), [word])
    keywords = inspect.signature(function).parameters
    seen = set()
    for option in command.params:
        names = [one.removeprefix("--").replace("-", "_") for one in option.opts if one.startswith("--")]
        if not names or names[0] in left_out | {"explain"}:  # explains what a command prints
            continue
        assert names[0] in keywords, f"{names[0]} is an option and no keyword"
        seen.add(names[0])
        default = keywords[names[0]].default
        if not option.required and default not in (inspect.Parameter.empty, ()) and names[0] != "weights":
            assert str(default) == str(option.default), names[0]
    assert {"seed", "device"} & seen or "undirected" in seen


def test_every_world_of_a_campaign_can_be_looked_at(tmp_path: Path) -> None:
    """Its rounds, seeds and cost are those of the record and of the table."""
    graph = gk.from_edges(["a", "a", "b", "c", "d"], ["b", "c", "d", "e", "f"], weights="const:0.5")
    found = gk.seed_minimization(graph, eta=4, batch=2, worlds=5, costs={"a": 2.5})
    found.save(tmp_path / "C.h5")
    for campaign in (found, gk.load(tmp_path / "C.h5")):
        one_each = campaign.campaigns
        assert [one.world for one in one_each] == [0, 1, 2, 3, 4]
        assert [one.cost for one in one_each] == campaign.costs == [one["cost"] for one in found.details["campaigns"]]
        for one, record in zip(one_each, found.details["campaigns"], strict=True):
            assert (one.activated, len(one.rounds), len(one.seeds)) == (
                record["activated"], record["rounds"], record["seeds"],
            )  # fmt: skip
            rows = campaign.to_pandas().query(f"world == {one.world}")
            assert sum(each["cost"] for each in one.rounds) == pytest.approx(one.cost)
            assert rows[rows["order"].notna()].vertex.tolist() == one.seeds
            assert {*rows.vertex} == {vertex for each in one.rounds for vertex in each["activated"]}
        first = one_each[0]
        assert (campaign.rounds, campaign.seeds, campaign.activated, campaign.cost) == (
            first.rounds, first.seeds, first.activated, first.cost,
        )  # fmt: skip
    assert len({one.cost for one in found.campaigns} | {len(one.rounds) for one in found.campaigns}) > 2
    real = gk.Campaign(graph, eta=4, batch=1)
    (one,) = real.campaigns
    assert one.world is None and one.seeds == real.next_batch() and one.activated == 0
    assert repr(one).startswith("WorldCampaign: observed, 0 activated, 1 round, 1 seed, cost 0.0")
