"""The figures of README and docs are those of the records, and marked where kernels changed since."""

import json
import sys
from pathlib import Path

import figures
import held
import pytest
import records
import tables

PAGES = figures.pages()


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return a folder that stands for that of the records."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    records.record.cache_clear()
    yield tmp_path
    records.record.cache_clear()


@pytest.fixture
def measured(results, monkeypatch, request):
    """Return a record that held.py makes of two lines, of versions that only say what they are asked for."""
    package = results / "checkout" / "gpukit"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    said = {
        "runs": [{"ms": 12.5}],
        "versions": {"gpukit": "0.2.0"},
        "devices": [{"kind": "cpu", "name": "Some CPU"}, {"kind": "cuda", "name": "Some GPU"}],
    }
    (package / "__main__.py").write_text(f"print({json.dumps(said)!r})\n")
    names = ["OPIM-C, soc-Epinions1", "trusses, web-NotreDame"]
    lines = [
        {"name": name, "command": "bench", "measure": "runs.0.ms", "devices": ["cuda", "cpu"], "rooms": [room]}
        for name, room in zip(names, ("worlds", "diversity"), strict=True)
    ]
    monkeypatch.setitem(held.HELD, "lines", lines)
    out = results / f"held-{'h200' if request.param == 'cuda' else 'cpu'}.json"
    words = ["held", "--runs", "1", "--device", request.param, "--out", str(out)]
    for version in ("before", "now"):
        words += ["--version", f"{version}={sys.executable}:{results / 'checkout'}"]
    monkeypatch.setattr(sys, "argv", words)
    assert held.main() == 0
    return out


def made(name):
    block = figures.Block()
    tables.BLOCKS[name](block)
    return block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_what_the_records_give(page):
    assert figures.filled(page.read_text("utf-8")) == page.read_text("utf-8"), "run `make figures`"


def test_each_block_stands_in_one_page():
    found = [name for page in PAGES for name in figures.NAMES.findall(page.read_text("utf-8"))]
    assert sorted(found) == sorted(tables.BLOCKS)


def test_records_have_a_day():
    for path in sorted(records.RESULTS.glob("*.json")):
        assert figures.day_of(path.stem)
        twice = "date" in records.record(path.stem) and path.stem in records.DATES
        assert not twice, f"{path.name} holds its day: remove its line from dates.toml"


def test_figures_by_older_kernels_are_named(capsys, monkeypatch):
    """Printed, not refused: a record may be older than the kernels, and the pages say so."""
    monkeypatch.setattr(sys, "argv", ["figures", "--older"])
    assert figures.main() == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == figures.names_of_older() and "gim-authors-h200" not in listed
    print("\n".join(listed))


@pytest.mark.parametrize("measured", ["cuda"], indirect=True)
def test_a_line_whose_kernels_changed_is_marked(measured):
    text = made("held-lines").text()
    assert "| OPIM-C, soc-Epinions1 | the work alone, warm | 12.5 ms | – |" in text
    assert "Some GPU, gpukit 0.2.0, " in text and "`held-h200.json`" in text and figures.OLDER not in text
    found = json.loads(measured.read_text())
    found["kernels"]["diversity"] = "0" * 16
    measured.write_text(json.dumps(found))
    records.record.cache_clear()
    text = made("held-lines").text()
    assert "| trusses, web-NotreDame | the work alone, warm | 12.5 ms† | – |" in text
    assert "| OPIM-C, soc-Epinions1 | the work alone, warm | 12.5 ms | – |" in text
    assert "† By earlier kernels than today's" in text
    assert figures.older(figures.Used("held-h200", "trusses, web-NotreDame"))
    found["kernels"]["worlds"] = "0" * 16
    measured.write_text(json.dumps(found))
    records.record.cache_clear()
    text = made("held-lines").text()
    assert "12.5 ms†" not in text and "† All of ours by earlier kernels" in text


@pytest.mark.parametrize("measured", ["cpu"], indirect=True)
def test_figures_of_a_cpu_have_no_kernels(measured):
    text = made("held-lines").text()
    assert "| OPIM-C, soc-Epinions1 | the work alone, warm | – | 12.5 ms |" in text
    assert "Some CPU, gpukit 0.2.0, " in text and figures.OLDER not in text


def test_a_record_without_kernels_is_older(results):
    (results / "some-h200.json").write_text(json.dumps({"date": "2026-11-29", "device": {"kind": "cuda", "name": "G"}}))
    block = figures.Block()
    block.table(("", "ms"), [["a", block.of("some-h200", "{}", 3)]])
    assert "<sub>G, 29 November 2026: `some-h200.json`. † All of ours by earlier kernels" in block.text()


def test_a_page_that_differs_is_named(tmp_path, monkeypatch, capsys):
    page = Path(tmp_path, "README.md")
    page.write_text("before\n<!-- figures gim-certificates -->\nold\n<!-- /figures -->\nbehind\n")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["figures", "--check"])
    assert figures.main() == 1 and "old" in page.read_text()
    assert capsys.readouterr().out == "README.md is not what the records give; run `make figures`\n"
    monkeypatch.setattr(sys, "argv", ["figures"])
    assert figures.main() == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- figures gim-certificates -->\n\nRuns: 5,408;") and text.endswith("behind\n")
    monkeypatch.setattr(sys, "argv", ["figures", "--check"])
    assert figures.main() == 0


def test_times_are_read_at_a_glance():
    assert [tables.time_of(ms) for ms in (0.123, 5.14, 151.2, 2345, 27_240)] == [
        "0.12 ms", "5.1 ms", "151 ms", "2.3 s", "27 s",
    ]  # fmt: skip
