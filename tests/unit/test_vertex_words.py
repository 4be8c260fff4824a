"""Names with commas in a list: quoted if there is only one way to read them, otherwise unquoted."""

import itertools

import pytest

from gpukit.cli.vertices.names import with_quotes
from gpukit.graph.labels import Labels
from gpukit.graph.lines import split

NAMES = ["Lee, K", "Smith", "Smith, J", "a", "a,b", "b", "b,c", "x:2", "y, z"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smith, J", '"Smith, J"'),
        ("Lee, K,Smith", '"Lee, K","Smith"'),
        ("Smith, Lee, K", '"Smith","Lee, K"'),
        ("a,b", '"a,b"'),  # a name as a whole
        ("b,a", "b,a"),
        ("Meier, Otto", "Meier, Otto"),
        ("Lea, K", '"Lea, K"'),  # no name: the message is about all of it
        ("a,b,c", '"a","b,c"'),
        ("a,b,b,c", "a,b,b,c"),  # "a,b" and "b,c", or "a", "b" and "b,c"
        ("a,b,c,b", '"a","b,c","b"'),
        ("Smith, K", '"Smith, K"'),
        ('"Smith, J",a', '"Smith, J",a'),
        ("Smith", "Smith"),
        ("", ""),
        ("a,", "a,"),
    ],
)
def test_a_name_with_a_comma_needs_no_quotes_where_it_is_clear(text, expected):
    assert with_quotes(text, Labels.of(sorted(NAMES))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smith, J:3,a", '"Smith, J":3,"a"'),
        ("y, z:0.5,x:2", '"y, z":0.5,"x:2"'),
        ("Lee, K:x", "Lee, K:x"),
        ("a:1,b:2", "a:1,b:2"),
    ],
)
def test_weights_follow_names(text, expected):
    assert with_quotes(text, Labels.of(sorted(NAMES)), weights=True) == expected


def test_every_list_of_names_that_is_read_one_way_is_read_so():
    """All lists of up to three names: what was put end to end in one way only is found, and no other gets quotes."""
    labels = Labels.of(sorted(NAMES))
    lists = [names for count in (1, 2, 3) for names in itertools.product(NAMES, repeat=count)]
    readings = {}
    for names in lists:
        readings.setdefault(",".join(names), []).append(list(names))
    for text, ways in readings.items():
        found = with_quotes(text, labels)
        plain = [part.strip() for part in text.split(",")]
        longer = len(plain) > 3  # readings by more names are not in the table
        if all(part in NAMES for part in plain) or len(ways) > 1:
            assert found == (f'"{text}"' if len(plain) > 1 and text in NAMES else text)
        elif not longer:
            assert split(found, ",") == ways[0]


def test_names_that_may_be_meant_are_near():
    labels = Labels.of(sorted(["Ann Lee", "Anna", "Bob", "Joanne", "Zoë Groß"], key=str.encode))
    assert labels.near("ann") == ["Anna", "Joanne", "Ann Lee"]
    assert labels.near("zoë gross") == ["Zoë Groß"] and labels.near("bop") == ["Bob"] and labels.near("xyz") == []
    assert labels.advice("bop", "give names") == "did you mean 'Bob'? Otherwise give names"
    assert labels.advice("xyz", "give names") == labels.advice("", "give names") == "give names"


def test_names_that_differ_in_case_or_blanks_are_joined_under_the_most_frequent_spelling():
    labels = Labels.of(sorted(["GROSS", "Groß", "groß", "ann  b", "Ann b", "zoe"], key=str.encode))
    ends = labels.find(["groß", "GROSS", "Groß", "Groß", "GROSS", "ann  b", "Ann b"])
    joined, vertices = labels.merged(ends, fold_case=True, strip=True)
    assert joined.texts(range(len(joined))).tolist() == ["GROSS", "ann b", "zoe"]
    assert vertices[labels.find(["GROSS", "Groß", "groß", "Ann b", "zoe"])].tolist() == [0, 0, 0, 1, 2]
    assert joined.find(["gross", "GROß", "ANN   B", "ann", "Zoe"]).tolist() == [0, 0, 1, -1, 2]
    only_case, _ = labels.merged(ends, fold_case=True, strip=False)
    assert only_case.texts(range(len(only_case))).tolist() == ["Ann b", "GROSS", "ann  b", "zoe"]
    assert only_case.find(["ANN  B", "ann   b"]).tolist() == [2, -1]
