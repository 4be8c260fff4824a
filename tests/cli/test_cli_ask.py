"""``gpukit ask``: four commands and a page; each answer equals that of the command, and current files are kept."""

import json
import re
import shutil

import pandas as pd
import pytest

from gpukit.artifacts import read, read_graph
from gpukit.cli.app import main
from gpukit.cli.workflow import steps
from gpukit.graph.lines import split
from gpukit.wording import with_error

pytestmark = pytest.mark.long

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("matplotlib")

NAMES = [*(f"Mü {i}" for i in range(29)), "Groß, Jürgen"]
SMALL = ("--eta", 5, "--worlds", 2, "-k", 3, "--device", "cpu")


def mails(extra=""):
    """Two groups of people who write to each other, some of them twice, and one who writes to both."""
    pairs = [(i, (i * j + j) % 15 + 15 * (i // 15)) for i in range(30) for j in (1, 2, 4, 7)]
    pairs += [(29, i) for i in (1, 2, 3, 17, 18, 19)] + [(i, 29) for i in (1, 2, 3)] + pairs[:20]
    rows = [f'2024-05-01;"{NAMES[a]}";"{NAMES[b]}"' for a, b in pairs if a != b]
    return "\n".join(["day;from;to", *rows, extra, ""])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with answers, which tests only look at or copy."""
    folder = tmp_path_factory.mktemp("ask")
    (folder / "mails.csv").write_bytes(mails("2024-05-02;;x").encode("utf-8-sig"))
    words = ("ask", folder / "mails.csv", "--source", NAMES[-1], "--skip-bad", 1, *SMALL, "--out", folder / "out")
    assert main([*map(str, words)]) == 0
    return folder


@pytest.fixture
def asked(made):
    """A folder with answers that a test may change; it has its own path again afterwards, and so have the answers."""
    mails = (made / "mails.csv").read_bytes()
    shutil.move(made / "out", made / "kept")
    shutil.copytree(made / "kept", made / "out", copy_function=shutil.copy2)
    yield made
    (made / "mails.csv").write_bytes(mails)
    shutil.rmtree(made / "out")
    shutil.move(made / "kept", made / "out")


def words(folder, *more):
    return ("ask", folder / "mails.csv", "--source", NAMES[-1], "--skip-bad", 1, *SMALL, "--out", folder / "out", *more)


def test_the_answers_are_those_of_the_commands(made, record, tmp_path):
    found = record(*words(made))
    graph = made / "out/files/graph.h5"
    seeds = record("gim", "run", graph, "-k", 3, "--device", "cpu", "--out", tmp_path / "s.h5")
    assert found["seeds"] == seeds["seeds"]
    near = record("kpar", "query", graph, "--source", f'"{NAMES[-1]}"', "-k", 30)["results"][0]
    assert found["near"] == near and near["source"] == NAMES[-1]
    line = ("merit", "run", graph, "--eta", 5, "--costs", "uniform", "--worlds", 2, "--device", "cpu")
    assert found["mean_cost"] == record(*line, "--out", tmp_path / "c.h5")["mean_cost"]
    line = ("diversity", "search", graph, "--model", "truss", "-k", 3, "-t", 30, "--undirected", "--device", "cpu")
    assert found["top"] == record(*line, "--out", tmp_path / "d.h5")["top"]
    assert len(found["commands"]) == 8 and all(line.startswith("gpukit ") for line in found["commands"])


def test_the_page_and_the_tables_name_people(made):
    page = (made / "out/answers.html").read_text(encoding="utf-8")
    assert "Groß, Jürgen" in page and "1 row is no edge and was left out: line 149: a name is empty" in page
    assert page.count("<svg") == 3 and "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    for name in ("seeds", "near", "circles"):
        assert "Mü " in (made / f"out/pictures/{name}.svg").read_text(encoding="utf-8")
    book = openpyxl.load_workbook(made / "out/answers.xlsx")
    assert book.sheetnames == ["About", "whom to tell", "who is close", "at least cost", "circles"]
    about = dict(book["About"].iter_rows(values_only=True))
    assert about["of"] == str(made / "mails.csv") and about["costs"] == "every seed costs 1"
    assert about["assumption"].startswith("each edge passes things on with probability 1/d")
    for name, sheet in zip(("seeds", "near", "campaign", "circles"), book.worksheets[1:], strict=True):
        table = pd.read_csv(made / f"out/{name}.csv")
        rows = [*sheet.iter_rows(values_only=True)]
        column = "bought" if name == "campaign" else "vertex"
        assert list(rows[0]) == list(table) and all(cell.font.bold for cell in sheet[1])
        assert [row[list(table).index(column)] for row in rows[1:]] == list(table[column])
    near = pd.read_csv(made / "out/near.csv")
    assert set(near.vertex) <= {*NAMES[:-1]} and near.place.tolist() == [*range(1, len(near) + 1)]
    campaigns = pd.read_csv(made / "out/campaign.csv")
    assert campaigns.world.tolist() == [1, 2] and (campaigns.activated >= 5).all()
    assert [len(split(names, ",")) for names in campaigns.bought] == campaigns.seeds.tolist()


def test_the_page_says_what_the_numbers_rest_on(made):
    page = (made / "out/answers.html").read_text(encoding="utf-8")
    assert "This holds if each edge passes things on with probability 1/d, where d edges" in page
    assert "If instead each edge passes things on with probability 0.05 (const:0.05), these seeds reach" in page
    assert "so that they count once. To count them, give <code>--parallel-edges combine</code>" in page
    seeds = json.loads((made / "out/files/seeds.json").read_text())
    assert with_error(seeds["spread_estimate"], 2 * seeds["stderr"]) + " <small>reached" in page
    for name, spread in seeds["rules"].items():
        error = seeds["rules_stderr"][name]
        alike = abs(spread - seeds["spread_estimate"]) <= 2 * (error**2 + seeds["stderr"] ** 2) ** 0.5
        said = f"By the simple rule “{name}”: {with_error(spread, 2 * error)}"
        assert name == seeds["chosen_by"] or said + ", reaches as many" * alike in page
    assert "<b>wc</b>" in page and "Every seed costs 1, so this is the number of seeds" in page


def test_people_in_one_circle_are_counted_and_not_listed(made):
    page = (made / "out/answers.html").read_text(encoding="utf-8")
    top = json.loads((made / "out/files/circles.json").read_text())["top"]
    ones = sum(one["score"] == 1 for one in top)
    rows = page.partition('aria-label="Who joins circles"')[2].partition("</table>")[0].count("<tr><td")
    assert rows == sum(one["score"] > 1 for one in top[:25]) and ones
    assert f"{ones} more have 1 circle each" in page and "with 1 circle," not in page


def test_a_name_is_taken_in_any_spelling_where_case_does_not_count(record, tmp_path):
    (tmp_path / "e.csv").write_text('from,to\n"Groß, A",bob\n"GROSS, A",cy\n"Groß, A",cy\nBOB,cy\n')
    graph = tmp_path / "g.h5"
    record("graph", "import", tmp_path / "e.csv", "--fold-case", "--out", graph)
    found = record("kpar", "query", graph, "--source", "gross, a", "-k", 3)["results"][0]
    assert found["source"] == "Groß, A" and sorted(found["nodes"]) == ["Groß, A", "bob", "cy"]
    (tmp_path / "twice.txt").write_text("bob\nBob\n")
    with pytest.raises(AssertionError, match="line 2: vertex bob is given twice"):
        record("gim", "run", graph, "-k", 1, "--exclude", tmp_path / "twice.txt", "--out", tmp_path / "s.h5")


def test_a_second_time_makes_nothing(asked, record, run):
    found = record(*words(asked))
    assert found["made"] == [] and len(found["kept"]) == 9
    code, out, err = run(*words(asked))
    assert code == 0 and "step" not in err and "close to" in out and str(asked / "out/answers.html") in out


@pytest.mark.parametrize(
    ("change", "remade"),
    [
        (lambda folder: (folder / "out/files/near.h5").unlink(), ["near.h5"]),
        (lambda folder: (folder / "out/files/near.json").write_text("{}"), ["near.h5"]),
        (lambda folder: (folder / "out/answers.html").unlink(), ["page"]),
        (lambda folder: (folder / "out/seeds.csv").write_text("mine\n"), ["page"]),
        (lambda folder: (folder / "out/files/steps.json").write_text('{"near.h5": ['), None),
    ],
)
def test_what_is_missing_or_was_changed_is_made_again(asked, record, change, remade):
    change(asked)
    found = record(*words(asked))
    assert found["made"] == remade or (remade is None and len(found["made"]) == 9)
    assert record(*words(asked))["made"] == []


def test_other_questions_and_other_mails_are_answered_anew(asked, record, monkeypatch):
    assert record(*words(asked, "--eta", 6))["made"] == ["campaign.h5", "page"]
    assert "graph.h5" not in record(*words(asked, "--eta", 6, "--seed", 1))["kept"]
    (asked / "mails.csv").write_text(mails("x;Mü 1;Mü 9\n2024-05-02;;x"), encoding="utf-8")
    assert record(*words(asked))["kept"] == []
    monkeypatch.setattr(steps, "__version__", "0.9")
    assert record(*words(asked))["kept"] == []


def test_nobody_excluded_is_a_seed_or_bought(made, record, run, tmp_path):
    graph = made / "out/files/graph.h5"
    excluded = [*record(*words(made))["seeds"], *read_graph(graph).original(range(3)).tolist()]
    excluded = list(dict.fromkeys(excluded))
    (tmp_path / "not.txt").write_text("\n".join(excluded), encoding="utf-8")
    line = ("ask", graph, *SMALL, "--exclude", tmp_path / "not.txt", "--out", tmp_path / "out")
    for costs in ("uniform", "degree"):
        found = record(*line, "--costs", costs)
        bought = read(tmp_path / "out/files/campaign.h5", "campaign").arrays["seeds"]
        names = {*found["seeds"], *read_graph(graph).original(bought).tolist()}
        assert not names & {*excluded} and found["mean_cost"] < 2000
    everybody = ",".join(f'"{name}"' for name in NAMES[:-3])
    code, _, err = run(*line[:2], "--eta", 29, "-k", 1, "--worlds", 1, "--exclude", everybody, *line[-2:])
    assert code == 3 and "does not reach 29 vertices without those that --exclude names; lower --eta" in err


def test_a_small_graph_and_one_without_circles(record, tmp_path):
    (tmp_path / "e.csv").write_text("from,to\nann,bob\n")
    found = record("ask", tmp_path / "e.csv", "--source", "bob", "--device", "cpu", "--out", tmp_path / "out")
    assert found["seeds"] == ["ann"] and found["eta"] in (1, 2)
    page = (tmp_path / "out/answers.html").read_text()
    assert "Nobody's neighbours form a circle" in page and "No edge leads away from bob" in page
    assert not (tmp_path / "out/pictures/circles.svg").exists()


def test_counts_are_probabilities_where_scale_says_so(record, tmp_path):
    (tmp_path / "e.csv").write_text("from,to,mails\nann,bob,3\nann,bob,1\nbob,cy,2\n")
    words = ("ask", tmp_path / "e.csv", "--scale", "max", "--device", "cpu", "--out", tmp_path / "out")
    assert record(*words)["commands"][0].count("--scale max --weights file") == 1
    graph = read_graph(tmp_path / "out/files/graph.h5")
    assert [round((p + 1) / 2**32, 6) for p in graph.probabilities.tolist()] == [1.0, 0.5]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("none.csv",), 3, "none.csv is no file; name a table of edges, or a graph"),
        (("e.csv", "--out", "full"), 2, "full holds other files; name a new folder"),
        (("e.csv", "--source", "dora"), 3, "'dora'"),
        (("e.csv", "--source", "ann, bop"), 3, "'bop'"),
        (("e.csv", "--exclude", "dora"), 2, "--exclude: 'dora' is neither a vertex"),
        (("e.csv", "--eta", 99), 2, "--eta is 99; 1 to 3"),
        (("e.csv", "--costs", "free", "--exclude", "ann"), 2, "neither degree nor uniform nor a file"),
        (("g.h5", "--undirected"), 2, "g.h5 is a graph, and --undirected is said of a table; leave it out"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(run, good, tmp_path, monkeypatch, more, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter.txt").write_text("Dear")
    (tmp_path / "e.csv").write_text("from,to\nann,bob\nbob,cy\n")
    good("graph", "import", "e.csv", "--out", "g.h5")
    found, _, err = run("ask", *more, *([] if "--out" in more else ["--out", "new"]))
    last = err.splitlines()[-1]
    assert found == code and last.startswith("gpukit: error: ") and said in last
    assert "step 2" not in err or said.startswith("--eta")
    assert json.dumps(sorted(path.name for path in (tmp_path / "full").iterdir())) == '["letter.txt"]'
