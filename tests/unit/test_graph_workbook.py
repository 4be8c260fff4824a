"""Edges in workbooks of Excel: the same graph as of the CSV with these cells, and rows at fault by their numbers."""

import csv
import datetime
import io
import zipfile

import numpy as np
import pytest

from gpukit.errors import InputError, UsageError
from gpukit.graph.lines import COUNTS
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.graph.read.formats import read_edges

openpyxl = pytest.importorskip("openpyxl")

ROWS = [
    ("date", "from", "to", "weight"),
    (datetime.date(2024, 1, 2), "Jürgen Groß", "Åsa Øre", 3),
    (datetime.date(2024, 1, 3), "Åsa Øre", "Smith, J", 2.5),
    (None, None, None, None),
    (datetime.date(2024, 1, 4), "Smith, J", "Jürgen Groß", 1.0),
]


@pytest.fixture
def workbook(tmp_path):
    """Return a function that writes sheets, by their titles, into a workbook."""

    def write(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "mails.xlsx")
        return tmp_path / "mails.xlsx"

    return write


def edges(listed):
    return [*zip(listed.labels.texts(listed.u).tolist(), listed.labels.texts(listed.v).tolist(), strict=True)]


def test_a_sheet_is_the_csv_of_its_cells(workbook, tmp_path):
    text = io.StringIO()
    csv.writer(text).writerows([[str(cell) for cell in row if cell is not None] for row in ROWS])
    (tmp_path / "mails.csv").write_text(text.getvalue(), encoding="utf-8")
    found, expected = (read_edges(path, COUNTS) for path in (workbook(A=ROWS, B=[]), tmp_path / "mails.csv"))
    assert edges(found) == edges(expected) == [
        ("Jürgen Groß", "Åsa Øre"), ("Åsa Øre", "Smith, J"), ("Smith, J", "Jürgen Groß")
    ]  # fmt: skip
    np.testing.assert_array_equal(found.w, expected.w)
    assert found.said == expected.said | {"separator": "cell borders"}
    assert found.digest is not None


def test_numbers_are_ids_and_texts_like_numbers_stay_names(workbook):
    found = read_edges(workbook(A=[("source", "target"), (7, 9), (9, 12)]))
    assert (found.labels, found.u.tolist(), found.v.tolist()) == (None, [7, 9], [9, 12])
    found = read_edges(workbook(A=[("source", "target"), ("007", "+49"), ("7", "007")]))
    assert edges(found) == [("007", "+49"), ("7", "007")]


def test_of_several_sheets_one_is_named(workbook):
    path = workbook(mails=ROWS, people=[("name",), ("ann",)])
    with pytest.raises(
        InputError, match=r"has 2 sheets that hold something, of mails, people; --sheet NAME says which"
    ):
        read_edges(path)
    assert len(read_edges(path, options=ReadOptions(sheet="mails")).u) == 3
    with pytest.raises(UsageError, match="has no sheet 'Mails'; there are mails, people"):
        read_edges(path, options=ReadOptions(sheet="Mails"))


def test_the_row_at_fault_is_named(workbook):
    rows = [*ROWS, (None, "", "ann", 1)]
    with pytest.raises(InputError, match="mails.xlsx, line 6: a name is empty"):
        read_edges(workbook(A=rows))
    found = read_edges(workbook(A=rows), options=ReadOptions(skip_bad=1))
    assert len(found.u) == 3 and found.bad == ("line 6: a name is empty; every line needs two",)


@pytest.mark.parametrize("decimal", [None, ","])
def test_numbers_are_numbers_however_decimals_are_written(workbook, decimal):
    rows = [("from", "to", "weight"), ("a", "b", 0.25), ("b", "c", 0.5 if decimal is None else "0,5")]
    found = read_edges(workbook(A=rows), 1, options=ReadOptions(decimal=decimal))
    assert found.w.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"separator": "comma"}, "which needs no separator; leave --sep out"),
        ({"columns": "who,whom"}, "no column is called 'who'"),
    ],
)
def test_what_is_said_must_fit_a_workbook(workbook, options, said):
    with pytest.raises(UsageError, match=said):
        read_edges(workbook(A=ROWS), options=ReadOptions(**options))


def test_what_is_no_workbook_is_refused_in_a_line(workbook, tmp_path):
    with pytest.raises(InputError, match="has 0 sheets that hold something"):
        read_edges(workbook(A=[], B=[]))
    with zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as packed:
        packed.writestr("a.txt", "1 2\n")
    with pytest.raises(InputError, match="odd.xlsx"):
        read_edges(tmp_path / "odd.xlsx")
    (tmp_path / "e.csv").write_text("1,2\n")
    with pytest.raises(UsageError, match="which has no sheets; leave --sheet out"):
        read_edges(tmp_path / "e.csv", options=ReadOptions(sheet="A"))


def test_decimals_may_begin_with_a_comma_in_a_text(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes("\ufefffrom;to;weight\nJürgen;Åsa;0,25\nÅsa;Jürgen;1\n".encode())
    found = read_edges(path, 1, options=ReadOptions(decimal=","))
    assert found.w.tolist() == [0.25, 1.0] and edges(found)[0] == ("Jürgen", "Åsa")
    with pytest.raises(InputError, match="line 2: weight '0,25' has a comma; --decimal , reads it"):
        read_edges(path, 1)
    path.write_text("from;to;weight\na;b;0,25\nb;c;1.250,5\n")
    with pytest.raises(InputError, match="line 3: weight '1.250,5' is not a probability"):
        read_edges(path, 1, options=ReadOptions(decimal=","))
