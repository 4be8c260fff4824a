"""Parameters of the spread of influence, for all systems that maximise it."""

from typing import Annotated, Literal

from gpukit.parameters.option import Option

Model = Literal["ic", "lt"]
"""Independent cascade or linear threshold."""

ModelParameter = Annotated[Model, Option("Independent cascade or linear threshold.")]
Rounds = Annotated[int, Option("Rounds of seeding, {range}.", metavar="T", ge=1, le=255)]
