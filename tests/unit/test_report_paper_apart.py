"""Items of papers whose values cannot share a row: several models, and fewer worlds than in print."""

from test_report_paper import GRAPHS, HEADER, measure

from gpukit.papers.report.rebuild import NA, plot_item, rebuild


def test_a_table_of_three_models_is_drawn_with_all_three(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER)
    runs = [measure("cpu-div", 8.0, model=model) for model in ("truss", "core", "comp")]
    rows = rebuild("diversity", "table-2", {"graphs": GRAPHS, "diversity-measures": runs}, str(tmp_path / "p.tsv"))
    plot_item("diversity", "table-2", rows, str(tmp_path / "t.svg"))
    text = (tmp_path / "t.svg").read_text()
    assert all(f">time, {model}<" in text for model in ("truss", "core", "comp"))


def test_what_is_printed_for_more_worlds_stands_apart(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "figure-9\ttoy\tmixgreedy\t\ttime\ts\t1930\n")
    base = {"graph": "toy", "measure": "mixgreedy", "k": 50, "x": 0.0, "device": "cpu", "device_name": "c", "gpus": 0}
    base |= {"threads": 1, "quantity": "time", "unit": "s", "value": 2.0}
    for worlds, shown in ((500, [("2", NA), (NA, "1930")]), (20_000, [("2", "1930")])):
        tables = {"graphs": GRAPHS, "imgpu-measures": [base | {"worlds": worlds}]}
        rows = rebuild("imgpu", "figure-9", tables, str(tmp_path / "p.tsv"))
        assert [(row["ours"], row["paper"]) for row in rows] == shown
        assert rows[-1]["setting"].startswith("printed for 20,000 worlds") == (worlds == 500)
