"""Lists of names on the command line: names that contain commas, and suggestions for unknown names."""

from typing import TYPE_CHECKING

from gpukit.api.vertices import source_weight
from gpukit.graph.lines import quoted

if TYPE_CHECKING:
    from gpukit.graph.labels import Labels

MOST, LONGEST = 100, 6
"""Most parts of a list in which names are searched, and most parts of one name."""


def with_quotes(text: str, labels: "Labels", *, weights: bool = False) -> str:
    """Quote the names in a list that contain commas, if the list can be read in only one way.

    If the whole text is a name, it is one name. A list with quotes is not changed, and neither is a list in which every
    part between commas is a name. If the list cannot be read, and a similar name with commas exists, the text is one
    name.

    Parameters
    ----------
    text : str
        ``A,B,…``.
    labels : Labels
        The names of all vertices.
    weights : bool
        Whether ``NAME:WEIGHT`` may replace a name.
    """
    parts = text.split(",")
    if '"' in text or not 1 < len(parts) <= MOST:
        return text
    if labels.find([text.strip()])[0] >= 0:
        return quoted(text.strip())
    places = range(len(parts))
    found = {
        (start, end): word
        for start in places
        for end in range(start + 1, min(start + LONGEST, len(parts)) + 1)
        if (word := _quoted(",".join(parts[start:end]).strip(), labels, weights))
    }
    if all((start, start + 1) in found for start in places):
        return text
    ways: list[list[str]] = [[] for _ in parts] + [[""]]  # for each position at most two ways to read the rest
    for start in reversed(places):
        ways[start] = [f",{found[one]}{rest}" for one in found if one[0] == start for rest in ways[one[1]]][:2]
    is_near = ":" not in text and all(map(str.strip, parts)) and any("," in name for name in labels.near(text))
    if is_near and not ways[0]:
        return quoted(text.strip())
    return ways[0][0][1:] if len(ways[0]) == 1 else text


def _quoted(word: str, labels: "Labels", weights: bool) -> str:
    """Return a name, or a name with a weight, in quotes; an empty text if the word is neither."""
    name, colon, weight = word.rpartition(":")
    if labels.find([word])[0] >= 0:
        return f'"{word}"'
    is_one = weights and colon and source_weight(weight.strip()) is not None and labels.find([name])[0] >= 0
    return f'"{name}":{weight}' if is_one else ""
