"""A short configuration gets sizes that fit the graphs; and a configuration with many errors."""

import copy
from pathlib import Path

import pytest
import yaml

from gpukit.cli.workflow import configuration
from gpukit.cli.workflow.configuration import check_configuration
from gpukit.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.json"
SIZES = {"gim": {"k": 50}, "merit": {"eta": [200], "batch": 16}, "kpar": {"k": [1000]}, "diversity": {"t": 100}}


def overlaid(config, changes):
    """Return a configuration with changes laid over it as Snakemake does: sections key by key."""
    return config | {
        key: config[key] | value if isinstance(config.get(key), dict) else value for key, value in changes.items()
    }


def refused(config, places=()):
    """Return what is wrong with a configuration."""
    with pytest.raises(InputError) as caught:
        check_configuration(config, SCHEMA, (), places)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.txt").write_text("1 2\n2 3\n")
    (tmp_path / "few.txt").write_text("1 2\n2 3\n")
    (tmp_path / "names.csv").write_text("from;to\n" + "".join(f"ann {v};bob\n" for v in range(48)))
    return tmp_path


def test_all_that_is_wrong_is_said_at_once(folder):
    """A line each; what the schema refuses comes first, since the rest would be about values that are none."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    wrong = {"seed": -1, "gim": {"q": 3, "epsilon": 2}, "device": "gpu"}
    assert [line.partition(":")[0] for line in refused(overlaid(config, wrong)).splitlines()] == [
        "seed",
        "device",
        "gim",
        "gim.epsilon",
    ]
    wrong = {
        "graphs": [{"name": "a", "edges": "gone.txt"}, {"name": "b", "edges": "x.txt", "weights": "const:7"}],
        "seeds": {"mine": "lost.txt"},
        "merit": {"costs": "away.txt"},
    }
    lines = refused(overlaid(config, wrong), [folder]).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "seeds.mine",
        "merit.costs",
        "graphs[0] (a)",
        "graphs[1] (b)",
    ]
    wrong = {"graphs": [{"name": "a", "edges": "few.txt"}, {"name": "b", "edges": "names.csv"}], **SIZES}
    lines = refused(overlaid(config, wrong | {"evaluate": {"prefixes": [60]}}), [folder]).splitlines()
    assert [line.partition(" is ")[0].partition(" goes")[0] for line in lines] == [
        "evaluate.prefixes",
        "graphs[0] (a): gim.k",
        "graphs[1] (b): gim.k",
    ]


def test_sizes_fit_the_graphs_that_a_system_works_on(folder):
    """The usual ones where there is room, as for the demo; what is given stays."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())

    def sizes(**changes):
        found = copy.deepcopy(overlaid(config, changes))
        check_configuration(found, SCHEMA, (), [folder, ROOT])
        return configuration.sizes_of(found)

    usual = {
        "gim.k": 50,
        "evaluate.prefixes": [5, 10, 20, 30, 40, 50],
        "kpar.k": [10, 100, 1000],
        "merit.eta": [50, 200],
        "merit.batch": 16,
        "diversity.t": 100,
    }
    assert sizes() == usual
    small = [{"name": "x", "edges": "names.csv"}]  # 49 vertices
    assert sizes(graphs=small) == {
        "gim.k": 4,
        "evaluate.prefixes": [1, 4],
        "kpar.k": [10],
        "merit.eta": [12],
        "merit.batch": 1,
        "diversity.t": 49,
    }
    mixed = [*config["graphs"], small[0] | {"systems": ["kpar"]}]
    assert sizes(graphs=mixed) == usual | {"kpar.k": [10]}
    assert sizes(graphs=small, gim={"k": 7})["evaluate.prefixes"] == [1, 5, 7]
    (folder / "mine.txt").write_text("30\n3\n")  # vertices of all graphs
    assert sizes(seeds={"mine": "mine.txt"})["evaluate.prefixes"] == [2, 5, 10, 20, 30, 40, 50]


def test_a_job_of_another_machine_gets_the_sizes(folder, monkeypatch):
    """It has no edge list to look at; each folder of results has its own."""
    monkeypatch.setenv(configuration.PASSED, "{}")
    small = {"graphs": [{"name": "x", "edges": "names.csv"}]}
    for changes in (small, small | {"results": "other", "gim": {"k": 7}}):
        config = overlaid(yaml.safe_load((ROOT / "config/config.yaml").read_text()), changes)
        there = copy.deepcopy(config)
        check_configuration(config, SCHEMA, (), [folder])
        configuration.pass_sizes(config)
        check_configuration(there, SCHEMA, sizes=configuration.passed_sizes(there))
        assert configuration.sizes_of(there) == configuration.sizes_of(config) and config["kpar"]["k"] == [10]
    assert configuration.passed_sizes({})["gim.k"] == 4 and configuration.passed_sizes({"results": "new"}) is None
