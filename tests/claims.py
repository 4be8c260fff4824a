"""Comparison of figures in sentences of documents with recorded rows; shared by the tests of the papers' pages."""

from records import RESULTS, ROOT, one, record

__all__ = ["RESULTS", "ROOT", "one", "record", "says"]


def says(document, sentence, values):
    """Check that a document has a sentence, filled with values; where lines break does not matter."""
    text = " ".join((ROOT / document).read_text().split())
    said = " ".join(sentence.format(*values).split())
    assert said in text, f"{document} should say: {said}"
