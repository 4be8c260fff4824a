"""Names and colours shared by the figures and the page."""

METHODS = {"gim": "gIM", "degree-discount": "degree discount", "degree": "highest degree", "random": "random"}
"""Seed choices in the order of legends and tables, with their display names."""

SIMULATORS = {"fixed": "fixed worlds", "fresh": "fresh worlds", "celf": "CELF", "mixgreedy": "MixGreedy"}
SIMULATORS |= {"newgreedy": "NewGreedy", "esmce": "ESMCE", "pmia": "PMIA"} | METHODS
"""IMGPU and its competitors, in the order of legends and tables."""

SWITCHES = {"none": "none", "K": "K, levels combined", "R": "R, vertices reordered", "U": "U, loads unrolled"}
SWITCHES |= {"KRU": "all three"}
"""IMGPU's optimisations."""

POLICIES = {"coupled": "MERIT", "regenerate": "MERIT, sets drawn again", "anew": "PASTI, new sets"}
"""Treatment of the mRR sets in each round: kept with their coins, all redrawn with the same ids, or redrawn with new
ids."""

MODELS = {"ic": "independent cascade", "lt": "linear threshold"}

RANKINGS = {"kpar": "kPAR", "fora": "FORA+", "fora-16": "FORA+, δ 16/n", "fora-cpu": "FORA+, δ 16/n, CPU"}
RANKINGS |= {"topppr": "TopPPR", "monte-carlo": "Monte Carlo", "truth": "power method"}
"""Methods for top-k queries, in the order of legends and tables."""

CIRCLES = {"comp": "components", "core": "cores", "truss": "trusses"}
"""Notions of a social context."""

INK = "#1f2328"
MUTED = "#59636e"
GRID = "#d5dae0"
PAPER = "#ffffff"
SERIES = ("#1b6ac9", "#b45309", "#1a7f37", "#7d5ba6", "#b3246b", "#0b7285")
"""Hues with a contrast of at least 4.5 on white; lines and dots also differ in marker, not only in hue."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper"} | {
    colour: f"--series-{number}" for number, colour in enumerate(SERIES, start=1)
}
"""The CSS variable for each colour in a figure on the page, for its dark mode."""
