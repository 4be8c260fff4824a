"""Typical programs with gpukit; ``mypy --strict`` checks them, and they are not run."""

from collections.abc import Callable

import gpukit as gk

G: gk.Graph = gk.read_edges(
    "friends.csv", source="from", target="to", weight="strength", undirected=True, progress=True
)
G = gk.read_edges(
    "edges.txt", weights="const:0.1", parallel_edges="combine", ids="integer", sep="tab", header=False, progress=True
)
G = gk.from_edges(["ann"], ["bob"], [0.5])
G = gk.from_edges([1, 2], [2, 3], undirected=True, vertices=9).with_weights("trivalency", seed=3)
G = gk.read_graph("G.h5")
n: int = G.n + G.m
names: list[int | str] = G.vertices
told: dict[str, object] = G.facts
G.save("G.h5", compress=True)

bar: Callable[[int, int], None] = lambda done, total: None  # noqa: E731
s: gk.Seeds = gk.influence_maximization(
    G, k=50, model="lt", epsilon=0.1, include=["ann"], exclude=["bob"], targets={"cy": 2.5}, device="cpu", progress=bar
)
s = gk.influence_maximization(G, budget=3.5, costs={"ann": 2}, weights="wc", gpus=2, threads=4, seed=1)
s = gk.simulated_seeds(G, 50, worlds=20_000, fresh=True)
estimate: float | None = s.spread_estimate
gains: list[int] | None = s.gains
first: int | str = s[0]
others: list[int | str] = s[1:]

e: gk.Spread = gk.estimate_spread(G, s, runs=500, prefixes=[1, 2])
e = gk.estimate_spread(G, ["ann", "bob"], model="lt")
mean: float = e.mean + 2 * e.stderr
points: list[tuple[int, float, float]] = e.curve

i = gk.PageRankIndex(G, alpha=0.2, weighted=True, memory=64)
t: gk.TopK = i.top_k({"ann": 3, "bob": 1}, k=100)
t = i.top_k_many(["ann", {"bob": 1}], k=3, depth="end", among=["ann", "cy"])
t = gk.personalized_pagerank(G, {"ann": 3}, k=3, depth="end", weighted=True)
best: list[tuple[int | str, float]] = t[0]
i.save("I.h5")
redrawn: int = gk.PageRankIndex(G, updatable=True).update(add=[("ann", "bob")], remove=[(1, 2)]).walks_redrawn

c: gk.Campaign = gk.seed_minimization(G, eta=1000, batch=16, costs="uniform", replay=[["ann"], ["bob"]])
c = gk.Campaign(G, eta=1000, costs={"ann": 2.0})
ids: list[int | str] = c.next_batch()
c.observe([*ids, "cy"])
over: bool = c.done and c.cost > 2
spent: list[float] = [one.cost for one in c.campaigns if len(one.rounds) > 1]

d: gk.Diversity = gk.structural_diversity(G, k=4, model="truss", t=100)
x = gk.DiversityIndex(G, undirected=True, threads=2)
d = x.search(k=4, model="core", t=10)
largest: dict[str, int] = x.largest
circles: dict[int | str, list[list[int | str]]] = d.circles
scores: dict[int | str, int] = d.scores

try:
    loaded = gk.load("S.h5", graph=G)
except gk.errors.InputError as error:
    print(error)
if isinstance(loaded, gk.Seeds):
    print(loaded.to_pandas(), loaded.to_arrow(), loaded.digest, loaded == s, len(loaded))
