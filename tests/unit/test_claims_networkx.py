"""The NetworkX backend: its figures in README and docs/networkx.md."""

from claims import each_of, record, says

RUNS = record("networkx-backend")["runs"]


def run(name, kind="undirected"):
    (found,) = (one for one in RUNS if (one["name"], one["kind"]) == (name, kind))
    return found


def seconds(name, kind="undirected"):
    return [run(name, kind)[part]["median"] for part in ("networkx_s", "converted_s", "cached_s")]


FOUR = [run(name, kind) for name in ("pagerank", "core_number") for kind in ("directed", "undirected")]
LINES = {
    "`pagerank`, directed": ("pagerank", "directed"),
    "`pagerank`, undirected": ("pagerank", "undirected"),
    "`core_number`, directed": ("core_number", "directed"),
    "`core_number`, undirected": ("core_number", "undirected"),
    "`k_core`": ("k_core", "undirected"),
    "`triangles`": ("triangles", "undirected"),
    "`clustering`": ("clustering", "undirected"),
    "`k_truss`, k = 4": ("k_truss", "undirected"),
}


@each_of(
    readme=[
        (
            "core numbers take {:.0f} to {:.0f} times as long in NetworkX, {:.0f} to {:.0f} with the conversion.",
            [
                pick(one[part] for one in FOUR)
                for part in ("speedup_cached", "speedup_converted")
                for pick in (min, max)
            ],
        )
    ],
    networkx=[("| " + name + " | {:.2f} s | {:.2f} s | {:.3f} s |", seconds(*which)) for name, which in LINES.items()],
)
def test_figures(document, sentence, values):
    says(document, sentence, values)


def test_the_record_is_of_equal_results():
    assert len(RUNS) == len(LINES)
    for one in RUNS:
        assert one["largest_difference"] <= (1e-12 if one["name"] == "pagerank" else 0)
        assert len({len(one[part]["each"]) for part in ("networkx_s", "converted_s", "cached_s")}) == 1
    assert all(one["speedup_cached"] >= 20 and one["speedup_converted"] >= 5 for one in FOUR)
    assert run("k_truss")["speedup_converted"] >= 20
