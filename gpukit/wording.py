"""Numbers in sentences."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one: ``1 vertex``, ``1,500 vertices``."""
    if number == 1:
        return f"1 {noun}"
    for end, instead in (("ex", "ices"), ("y", "ies"), ("s", "ses")):
        if noun.endswith(end):
            return f"{number:,} {noun.removesuffix(end)}{instead}"
    return f"{number:,} {noun}s"
