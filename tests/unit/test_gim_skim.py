"""SKIM against a plain version on networkx, and the quality of its seeds."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from gpukit.errors import InputError, UsageError
from gpukit.evaluate import forward_spread
from gpukit.gim.baselines import degree, random
from gpukit.graph.csr import Weights
from gpukit.papers.gim import skim

SEED = 5


def plain(graph, k, instances, sketch, chosen):
    """Check every choice against the definition, and return what each covers."""
    world = skim.draw_instances(graph, SEED, instances)
    reach = []
    for i in range(instances):
        net = nx.DiGraph()
        net.add_nodes_from(range(graph.n))
        for v in range(graph.n):
            begin, end = world.offsets[i] + world.in_begin[i, v : v + 2]
            net.add_edges_from((int(u), v) for u in world.tails[begin:end])
        reach.append([nx.descendants(net, v) | {v} for v in range(graph.n)])
    ranks = skim._ranks(instances, graph.n, np.uint64(SEED))
    order = sorted(range(len(ranks)), key=lambda pair: (ranks[pair], pair))
    covered, gains, place = set(), [], 0
    for seed in chosen:
        seen = [0] * graph.n

        def look(pair, seen=seen, done=frozenset(covered)):
            """Add a pair to the sketches of those that reach it; return those that are full."""
            i, u = divmod(pair, graph.n)
            who = [v for v in range(graph.n) if pair not in done and u in reach[i][v]]
            for v in who:
                seen[v] += 1
            return [v for v in who if seen[v] == sketch]

        for pair in order[:place]:
            look(pair)
        full = []
        while not full and place < len(order):
            full = look(order[place])
            place += 1
        largest = max(seen[v] for v in range(graph.n) if v not in chosen[: len(gains)])
        best = [v for v in range(graph.n) if seen[v] == largest and v not in chosen[: len(gains)]]
        assert seed in full if full else seed == best[0]
        new = {(i * graph.n + w) for i in range(instances) for w in reach[i][seed]} - covered
        covered |= new
        gains.append(len(new))
    return gains


@pytest.mark.parametrize("batch", [1, 7, skim.BATCH])
@pytest.mark.parametrize(("instances", "sketch"), [(1, 1), (3, 2), (4, 5), (5, 1000)])
def test_every_choice_follows_the_definition(random_graph, monkeypatch, instances, sketch, batch):
    monkeypatch.setattr(skim, "BATCH", batch)
    for key in range(3):
        graph = random_graph(14, 40, key)
        seeds, gains = skim.skim(skim.draw_instances(graph, SEED, instances), 8, seed=SEED, sketch=sketch)
        assert len(set(seeds.tolist())) == 8
        assert gains.tolist() == plain(graph, 8, instances, sketch, seeds.tolist())


def test_live_edges_are_as_frequent_as_they_should(make_graph):
    edges = [(0, 1, 0.5), (2, 1, 0.5), (1, 3, 1.0), (4, 0, 0.2), (3, 4, 0.05)]
    graph = make_graph(5, edges)
    world = skim.draw_instances(graph, 3, 8_000)
    for u, v, p in edges:
        found = sum(
            u in world.tails[begin + a : begin + b]
            for begin, (a, b) in zip(world.offsets, world.in_begin[:, v : v + 2], strict=False)
        )
        assert abs(found - 8_000 * p) <= 5 * (8_000 * p * (1 - p)) ** 0.5
    turned = [0] * 5
    for i in range(50):
        for u in range(5):
            begin, end = world.offsets[i] + world.out_begin[i, u : u + 2]
            for v in world.heads[begin:end]:
                a, b = world.offsets[i] + world.in_begin[i, v : v + 2]
                assert u in world.tails[a:b]
            turned[u] += int(end - begin)
    assert sum(turned) == world.offsets[50]


def choose(graph, k):
    return skim.skim(skim.draw_instances(graph, 0), k)


def test_small_shapes(make_graph):
    star = make_graph(6, [(0, leaf, 1.0) for leaf in range(1, 6)])
    assert choose(star, 6)[0][0] == 0 and sorted(choose(star, 6)[0].tolist()) == list(range(6))
    assert choose(star, 2)[1].tolist() == [6 * 64, 0]
    clique = make_graph(4, [(u, v, 1.0) for u in range(4) for v in range(4) if u != v])
    assert choose(clique, 1)[1].tolist() == [4 * 64]
    lone = make_graph(3, [(0, 1, 2.0**-32)])
    assert choose(lone, 3)[1].tolist() == [64, 64, 64]


def test_its_seeds_are_good(random_graph):
    graph = random_graph(400, 2400, 2)
    seeds, gains = choose(graph, 20)
    found = {
        name: forward_spread(graph, chosen, runs=4000, seed=1).spread
        for name, chosen in {"skim": seeds, "degree": degree(graph, 20), "random": random(graph, 20, seed=3)}.items()
    }
    assert found["skim"] > 1.2 * found["random"] and found["skim"] > 0.97 * found["degree"]
    # The instances that seeds were chosen on flatter them.
    assert 0.9 * found["skim"] < gains.sum() / skim.INSTANCES < 1.25 * found["skim"]


def test_refusals(random_graph):
    graph = random_graph(5, 8, 1)
    with pytest.raises(UsageError, match="k = 0"):
        choose(graph, 0)
    with pytest.raises(UsageError, match="pairs"):
        many = np.broadcast_to(np.zeros(6, np.int32), (1 << 30, 6))
        skim.skim(skim.Instances(many, None, many, None, None), 1)
    with pytest.raises(InputError, match="--weights"):
        choose(replace(graph, weights=Weights("none")), 1)
