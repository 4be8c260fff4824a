"""Claims of the papers are judged by the rules in the README of the claims, and all committed claims can be judged."""

import re
from pathlib import Path

import pytest

from gpukit.errors import InputError
from gpukit.papers.report.claims import CLAIM, REPEATS, count, joined, judge, read_claims
from gpukit.papers.report.items import ITEMS

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = ROOT / "workflow/paper/claims"

BASE = {"kind": "value", "item": "f", "quantity": "v", "graphs": "A B", "of": "m", "tolerance": "0"}
BASE |= {"method": "as printed"}


def row(graph, value, x="", method="m", **changes):
    base = {"item": "f", "graph": graph, "data": "real", "method": method, "setting": "k 5; 2 × GPU X", "x": str(x)}
    return base | {"quantity": "v", "unit": "s", "repeats": "5", "ours": str(value), "ours_sd": "0"} | changes


def curve(graph, *values, **changes):
    return [row(graph, value, x, **changes) for x, value in enumerate(values, start=1)]


def claims(tmp_path, *changes):
    lines = [dict.fromkeys(CLAIM, "") | BASE | {"claim": f"c{number}"} | one for number, one in enumerate(changes)]
    path = tmp_path / "claims.tsv"
    path.write_text("\n".join("\t".join(line) for line in [CLAIM, *(line.values() for line in lines)]) + "\n")
    return read_claims(str(path))


def verdict(tmp_path, rows, scale="full", sizes=(), **changes):
    """Return the verdict of one claim, and why."""
    return list(judge(claims(tmp_path, changes, *sizes), rows, "gim", scale)[0].values())[-2:]


YES, NO, ERRATUM, OPEN, NONE = "reproduced", "contradicted", "erratum", "not decided", "not judged"

# Rule, tolerance, values of A and of B by x, the verdict.
RULES = [
    ("each = 3 4", 0, [3], [4], YES),
    ("each = 3 4", 0, [4], [3], NO),
    ("each = 4", 1, [2], [8], YES),
    ("each = 4", 1, [1.99], [8], NO),
    ("each = 4", 1, [2], [8.01], NO),
    ("each ≥ 4", 0, [4], [5], YES),
    ("each ≥ 4", 0, [3.9], [5], NO),
    ("each ≥ 4", 0.1, [3.7], [5], YES),
    ("each ≤ 4", 0, [4], [3], YES),
    ("each ≤ 4", 0.1, [4.5], [3], NO),
    ("each > 4", 0, [4.1], [5], YES),
    ("each > 4", 0, [4], [5], NO),
    ("each < 4", 0, [3.9], [3], YES),
    ("each < 4", 0, [4], [3], NO),
    ("mean = 2 5", 0, [1, 3], [4, 6], YES),
    ("mean = 2", 0, [1, 3], [4, 6], NO),
    ("largest ≥ 3", 0, [1, 3], [4, 2], YES),
    ("largest ≥ 4", 0, [1, 3], [4, 2], NO),
    ("mean of all = 3", 0, [2], [4], YES),
    ("mean of all = 2", 0, [2], [4], NO),
    ("largest of all ≥ 4", 0, [1], [4], YES),
    ("largest of all ≥ 5", 0, [1], [4], NO),
    ("rises", 0.1, [10, 9.5, 11], [1, 2, 3], YES),
    ("rises", 0, [10, 9.5, 11], [1, 2, 3], NO),
    ("rises", 0.1, [10, 11, 10], [1, 2, 3], NO),
    ("falls", 0.1, [11, 9.5, 10], [3, 2, 1], YES),
    ("falls", 0, [11, 9.5, 10], [3, 2, 1], NO),
    ("dips", 0, [1, 2, 3], [1, 3, 2], YES),
    ("dips", 0, [1, 2, 3], [1, 1, 2], NO),
    ("flat", 1, [1, 2, 1], [3, 4, 5], YES),
    ("flat", 1, [1, 2.1, 1], [3, 4, 5], NO),
    ("varies", 1, [1, 2.1, 1], [3, 4, 5], YES),
    ("varies", 1, [1, 2, 1], [3, 4, 5], NO),
    ("power -2", 0.1, [1, 1 / 4, 1 / 9], [8, 2, 8 / 9], YES),
    ("power -2", 0.1, [1, 1 / 2, 1 / 3], [8, 2, 8 / 9], NO),
    ("power -2", 0.1, [0, 1 / 2, 1 / 3], [8, 2, 8 / 9], OPEN),
    ("least at 2", 0, [3, 1, 2], [5, 4, 6], YES),
    ("least at 2", 0, [3, 2, 1], [5, 4, 6], NO),
    ("least at 2", 1, [3, 2, 1], [5, 4, 6], YES),
    ("gain over 1 ≥ 2 3", 0, [2, 1, 4], [3, 2, 1], YES),
    ("gain over 1 ≥ 1.5", 0, [2, 1, 4], [3, 2, 1], YES),
    ("gain over 1 ≥ 2.5", 0, [2, 1, 4], [3, 2, 1], NO),
]


@pytest.mark.parametrize(("rule", "tolerance", "a", "b", "wanted"), RULES)
def test_rules_hold_and_fail(tmp_path, rule, tolerance, a, b, wanted):
    x = " ".join(map(str, range(1, len(a) + 1)))
    rows = [*curve("A", *a), *curve("B", *b)]
    given = {"rule": rule, "tolerance": str(tolerance), "x": x}
    assert verdict(tmp_path, rows, **given)[0] == wanted
    # Of a rule about all graphs the rows of one decide nothing, but where they settle it.
    alone, why = verdict(tmp_path, curve("A", *a), **given)
    assert alone in (OPEN, wanted) and ("B: not measured" in why) == (alone == OPEN)
    # Noise of the size of the values leaves every rule open.
    noisy = [one | {"ours_sd": str(20 * float(one["ours"]))} for one in rows]
    assert verdict(tmp_path, noisy, **given)[0] == OPEN


def test_a_failing_graph_contradicts_and_a_dipping_one_is_enough(tmp_path):
    assert verdict(tmp_path, curve("A", 3), rule="each = 4") == [NO, "not on A"]
    assert verdict(tmp_path, curve("A", 3, 2), rule="dips") == [YES, ""]
    assert verdict(tmp_path, [*curve("A", 3), *curve("B", 4)], rule="each = 4") == [NO, "not on A"]
    assert verdict(tmp_path, curve("A", 4), rule="each = 4") == [OPEN, "holds on A; B: not measured"]


def test_one_graph_can_hold_the_largest_of_all(tmp_path):
    assert verdict(tmp_path, curve("A", 4), rule="largest of all ≥ 4")[0] == YES
    assert verdict(tmp_path, curve("A", 3), rule="largest of all ≥ 4")[0] == OPEN
    assert verdict(tmp_path, curve("A", 4), rule="largest of all = 4")[0] == OPEN


def test_speeds_need_another_scale_and_repeats(tmp_path):
    rows = [*curve("A", 4), *curve("B", 4)]
    given = {"rule": "each = 4", "kind": "speed"}
    assert verdict(tmp_path, rows, **given)[0] == YES
    assert verdict(tmp_path, rows, "smoke", **given) == [OPEN, "smoke scale decides nothing about speed"]
    assert verdict(tmp_path, rows, "smoke", rule="each = 4")[0] == YES
    few = [rows[0], rows[1] | {"repeats": str(REPEATS - 1)}]
    assert "m has 4 of 5 runs" in verdict(tmp_path, few, **given)[1]
    assert verdict(tmp_path, few, rule="each = 4")[0] == YES


@pytest.mark.parametrize(
    ("words", "fits"), [("k 5", True), ("k 50", False), ("GPU", True), ("2 GPUs", True), ("1 GPU", False), ("5", True)]
)
def test_a_setting_is_asked_for_by_words(tmp_path, words, fits):
    found = verdict(tmp_path, curve("A", 4), rule="each = 4", graphs="A", of=f"m {{{words}}}")
    assert (found[0] == YES) == fits and (fits or f"no run of m with {words}" in found[1])


def test_sides(tmp_path):
    rows = [row("A", 6), row("A", 2, method="n"), row("A", 3, method="o-1"), row("A", 12, quantity="w")]
    for of, over, value in (
        ("m", "n", 3), ("m", "n | o-1", 3), ("m", "absent | o-1", 2), ("m", "o-*", 2), ("m: w", "m", 2)
    ):  # fmt: skip
        given = {"graphs": "A", "of": of, "over": over}
        assert verdict(tmp_path, rows, rule=f"each = {value}", **given)[0] == YES
        assert verdict(tmp_path, rows, rule=f"each > {value}", **given)[0] == NO
    assert verdict(tmp_path, rows, rule="each > 1", graphs="A", of="p")[1] == "A: no v of p"
    assert verdict(tmp_path, rows, rule="each > 1", graphs="A", x="7")[1] == "A: no value at x = 7"


def test_values_need_the_papers_graph_and_speeds_one_of_its_size(tmp_path):
    size = {"claim": "vertices", "quantity": "vertices", "of": "", "graphs": "A", "rule": "each = 100"}
    stand_in = {"data": "stand-in: er"}
    sizes = [row("A", 100, method="", quantity="vertices")]
    given = {"rule": "each = 4", "graphs": "A", "sizes": [size]}
    assert verdict(tmp_path, [row("A", 4), *sizes], **given)[0] == YES
    other = [sizes[0] | {"ours": "50"}]
    assert verdict(tmp_path, [row("A", 4), *other], **given) == [OPEN, "A: 50 vertices, the paper's graph has 100"]
    replaced = [one | stand_in for one in [row("A", 4), *sizes]]
    assert verdict(tmp_path, replaced, **given) == [OPEN, "A: a stand-in"]
    given |= {"kind": "speed"}
    # Without the printed edges there is nothing to compare with; with them a stand-in has to have as many.
    assert verdict(tmp_path, replaced, **given) == [YES, "on stand-ins of the same size: A"]
    given["sizes"] = [size, size | {"claim": "edges", "quantity": "edges"}]
    assert verdict(tmp_path, replaced, **given) == [OPEN, "A: unknown edges, the paper's graph has 100"]


def test_only_the_printed_method_on_its_graphs_contradicts(tmp_path):
    rows = [*curve("A", 3), *curve("B", 4)]
    spared = "not on A; does not hold here, but what ran is not the paper's method line by line"
    assert verdict(tmp_path, rows, rule="each = 4") == [NO, "not on A"]
    assert verdict(tmp_path, rows, rule="each = 4", method="ours") == [OPEN, spared]
    assert verdict(tmp_path, rows, rule="each ≥ 3", method="ours")[0] == YES
    # Rivals of which details are invented decide nothing, whichever way it goes.
    for bound in (3, 4):
        assert verdict(tmp_path, rows, rule=f"each ≥ {bound}", method="R is not rebuilt") == [NONE, "R is not rebuilt"]
    # A factor may be missed on another machine, and a stand-in be another graph than the paper's.
    given = {"rule": "each ≥ 4", "kind": "factor"}
    assert (
        verdict(tmp_path, rows, **given)[0] == OPEN
        and "short of the printed factor" in verdict(tmp_path, rows, **given)[1]
    )
    assert verdict(tmp_path, [*curve("A", 5), *curve("B", 4)], **given)[0] == YES
    replaced = [one | {"data": "stand-in: er"} for one in rows]
    assert verdict(tmp_path, replaced, rule="each = 4", kind="speed")[0] == OPEN
    assert verdict(tmp_path, replaced, rule="each ≥ 3", kind="speed")[0] == YES


def test_a_lower_bound_can_show_that_a_claim_holds_and_nothing_else(tmp_path):
    rows = [row("A", 9, quantity="v at least"), row("A", 3, method="n")]
    given = {"graphs": "A", "over": "n"}
    noted = "lower bounds, as runs were stopped: A"
    for rule in ("each > 2", "each ≥ 3", "largest ≥ 3", "mean of all ≥ 3"):
        assert verdict(tmp_path, rows, rule=rule, **given) == [YES, noted]
    assert verdict(tmp_path, rows, rule="each > 4", **given) == [
        OPEN, f"{noted}; a lower bound does not say whether it holds",
    ]  # fmt: skip
    for rule in ("each = 3", "each < 4", "flat"):
        assert verdict(tmp_path, rows, rule=rule, **given) == [OPEN, "A: no v of m"]
    swapped = [row("A", 9), row("A", 3, method="n", quantity="v at least")]
    assert verdict(tmp_path, swapped, rule="each > 2", **given) == [OPEN, "A: no v of n"]


def test_graphs_behind_a_bar_may_be_missing_but_have_to_hold(tmp_path):
    given = {"rule": "each = 4 5", "graphs": "A | B"}
    assert verdict(tmp_path, curve("A", 4), **given) == [YES, "not measured on B"]
    assert verdict(tmp_path, [*curve("A", 4), *curve("B", 5)], **given) == [YES, ""]
    assert verdict(tmp_path, [*curve("A", 4), *curve("B", 4)], **given) == [NO, "not on B"]
    assert verdict(tmp_path, curve("B", 5), **given) == [OPEN, "holds on B; A: not measured"]


def test_the_rule_is_said_with_its_rows(tmp_path):
    (one,) = claims(tmp_path, {"rule": "each = 4", "tolerance": "0.5", "x": "1 2", "over": "n"})
    assert one.shown == "f, v of m over n at 1 2: each = 4, t 0.5"


def test_proofs_and_what_is_missing(tmp_path):
    assert verdict(tmp_path, [], kind="proof", rule="erratum line 5 has it") == [ERRATUM, "line 5 has it"]
    assert verdict(tmp_path, [], kind="proof", rule="contradicted docs/gim.md") == [NO, "docs/gim.md"]
    assert verdict(tmp_path, [], kind="missing", rule="not rebuilt") == [NONE, "not rebuilt"]
    assert count([{"verdict": NO}, {"verdict": NO}]) == {YES: 0, NO: 2, ERRATUM: 0, OPEN: 0, NONE: 0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "most = 3"}, "'most = 3' is no rule"),
        ({"rule": "each = 1 2 3"}, "3 numbers for 2 graphs"),
        ({"rule": "gain over 1"}, "is no rule"),
        ({"rule": "least at 3", "x": "1 2"}, "needs the place 3"),
        ({"rule": "flat", "tolerance": "-1"}, "at least 0"),
        ({"rule": "flat", "graphs": ""}, "name them"),
        ({"rule": "flat", "x": "A:1,2"}, "x names A, and the graphs are A, B"),
        ({"rule": "flat", "kind": "guess"}, "choose speed, factor, value, proof or missing"),
        ({"rule": "maybe docs", "kind": "proof"}, "is no verdict"),
        ({"rule": "flat", "method": ""}, "method says what ran"),
    ],
)
def test_broken_claims_are_refused_in_a_line(tmp_path, changes, message):
    with pytest.raises(InputError, match=r"claims.tsv, line 2 \(c0\): .*" + re.escape(message)):
        claims(tmp_path, changes)


def test_two_claims_of_a_name_and_broken_rows_are_refused(tmp_path):
    with pytest.raises(InputError, match="two claims are called c"):
        claims(tmp_path, *[{"claim": "c", "rule": "flat"}] * 2)
    with pytest.raises(InputError, match="the row of A in f is broken"):
        verdict(tmp_path, [row("A", "much")], rule="flat")


@pytest.mark.parametrize("paper", ITEMS)
def test_the_committed_claims_can_be_judged(paper):
    found = read_claims(str(CLAIMS / f"{paper}.tsv"))
    for claim in found:
        place = claim.row["rule"].partition(" ")[2]
        if claim.rule is not None:
            assert claim.row["item"] in ITEMS[paper], claim.row
        elif claim.kind == "proof":
            if claim.row["rule"].startswith(ERRATUM) and " " in place:
                continue  # said, not shown
            path, sign, part = re.fullmatch(r"([^:#]+)(::|#)?(.*)", place).groups()
            text = (ROOT / path).read_text()
            heads = [re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()]
            assert not sign or (f"def {part}(" in text if sign == "::" else part in heads), place
        else:
            assert claim.row["rule"], claim.row
    judged = judge(found, [], paper, "full")
    counts = count(judged)
    proven = sum(claim.kind == "proof" for claim in found)
    assert counts[YES] + counts[NO] + counts[ERRATUM] == proven
    unjudged = [one for one in found if one.kind != "proof" and one.row["method"] not in ("as printed", "ours")]
    assert counts[NONE] == len(unjudged) and counts[OPEN] == len(found) - proven - len(unjudged)


def test_every_paper_has_its_claims():
    assert {path.stem for path in CLAIMS.glob("*.tsv")} == set(ITEMS)


def test_of_several_runs_the_last_that_measured_an_item_on_a_graph_counts():
    def one(item, graph, ours, method="m", data="stand-in: er"):
        return {"item": item, "graph": graph, "method": method, "ours": ours, "data": data}

    small = [
        one("figure-1", "A", "1"),
        one("figure-1", "A", "2", "other"),
        one("figure-1", "B", "3"),
        one("t", "A", "4"),
    ]
    full = [one("figure-1", "A", "9"), one("t", "A", "NA")]
    assert joined([small, full]) == [small[2], small[3], full[0]]
    assert joined([full, small]) == small
    real = one("figure-1", "A", "7", data="real")
    assert joined([[real], full]) == [real, full[1]], "a real graph goes before a stand-in"
