# What the items of a paper, its tables and figures, are made of.
TITLES = {
    "gim": ["table-1", *config["experiments"]],
    "kpar": ["table-2", "table-3", "figure-3", "figure-6", "figure-7", "figure-8"],
}
ITEMS = TITLES.get(PAPER, [])
NEEDS = {
    "table-3": ["kpar-times", "kpar-index", "kpar-queries"],
    "figure-3": ["kpar-arrivals"],
    "figure-6": ["kpar-queries"],
    "figure-7": ["kpar-quality"],
    "figure-8": ["kpar-quality"],
}
CELL = "{graph}/{method}/{model}/{k}/{epsilon}/{rounds}/{sampler}/{block}/{grid}/{repeat}"


def thinned(values):
    """Return the first and the last of a list where the scale asks for it, and else all."""
    return list(dict.fromkeys((values[0], values[-1]))) if SCALE["thin"] else values


def cells(item):
    """Return the runs of gIM behind a table or figure, as labels."""
    experiment = config["experiments"][item]
    dense = experiment["graphs"] == "density"
    return expand(
        CELL,
        graph=[name for name in GRAPHS if name.startswith("ba-") == dense],
        method=experiment["methods"],
        model=experiment["models"],
        k=thinned(experiment["k"]),
        epsilon=thinned(experiment["epsilon"]),
        rounds=experiment["rounds"],
        sampler=experiment["sampler"],
        block=thinned(experiment["block"]),
        grid=thinned(experiment["grid"]),
        repeat=range(SCALE["repeats"]),
    )


def item_tables(wildcards):
    """Return the tables of an item by kind."""
    if PAPER == "gim" and wildcards.item != "table-1":
        return {"graphs": "graphs", "gim-cells": f"cells-{wildcards.item}"}
    return {kind: kind for kind in ["graphs", *(NEEDS.get(wildcards.item, []) if PAPER == "kpar" else [])]}
