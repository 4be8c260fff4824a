"""What may be asked of the systems: the choices, and the defaults that more than one place needs.

`Params` of each system checks against this table, and the options of the command line are made from it. It imports
nothing large, so that help is quick, and so that a command can set its threads before numba is imported. A choice is a
plain string everywhere, also in an artifact; the first one is the default where no constant says otherwise.
"""

from typing import Any, Literal, get_args

from gpukit.errors import UsageError

# Spread of influence: gim, imgpu, merit
Model = Literal["ic", "lt"]
"""Independent cascade or linear threshold."""

# gim.Params
Bound = Literal["opim", "imm"]
Sampler = Literal["skip", "scan"]
Samples = Literal["grid", "fresh", "original"]
Selection = Literal["index", "scan"]
Sets = Literal["kept", "plain"]
Sentinels = Literal["auto", "off"]
GIM_EPSILON = 0.1
GIM_OPTIMISM = 0.01
GIM_MAX_MEMBERS = 2**30
IMM_MIN_SETS = 200_000
SENTINEL_MIN_SETS = 4096
"""Where sets end at a sentinel they are cheap, and a certificate needs so few that chance would choose most seeds."""

# imgpu.Params
IMGPU_WORLDS = 20_000

# kpar.Params, and the length of an answer
KPAR_ALPHA = 0.2
KPAR_EPSILON = 0.5
KPAR_K = 100
TOPPPR_PRECISION = 0.99
"""ρ of TopPPR in the experiments of kPAR's paper (5.1)."""
Depth = Literal["refined", "auto", "end"]
"""How far a query goes."""
Stop = Literal["refined", "auto"]
"""Of these depths those that a server, and the answers of all vertices, may have."""

# merit.Params
Update = Literal["coupled", "paper", "regenerate"]
Ids = Literal["kept", "fresh"]
Certificate = Literal["fresh", "paper"]
Residual = Literal["renormalised", "raw"]
MERIT_EPSILON = 0.5
MERIT_BATCH = 16

# diversity.Params, and the length of an answer
Context = Literal["comp", "core", "truss"]
"""What counts as a social context: components, cores or trusses of an ego-network."""
DIVERSITY_MODEL: Context = "truss"
DIVERSITY_K = 4
DIVERSITY_T = 100


def choices(kind: Any) -> tuple[str, ...]:
    """Return the values of a choice, the default first."""
    return get_args(kind)


def default(kind: Any) -> Any:
    """Return the default of a choice: its first value."""
    return get_args(kind)[0]


# Ranges that a command checks before it reads a graph, under the name of its option, and Params whatever happens.


def check_gim_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """Check the accuracy of gim; raises UsageError."""
    if not 1e-6 <= epsilon < 1:
        raise UsageError(f"{name} is {epsilon}; it must lie in [1e-6, 1): less would take over 10^12 RR sets")


def check_worlds(worlds: int, name: str = "worlds", fewest: int = 2) -> None:
    """Check a number of live-edge worlds: the standard error of an estimate needs two; raises UsageError."""
    if not fewest <= worlds < 2**31:
        raise UsageError(f"{name} is {worlds}; {fewest} to 2^31 - 1 are allowed")
