"""What a dose curve turns up and down, on which scenes, and how finely."""

from __future__ import annotations

from typing import Annotated

from trex.curves.doses import QUANTITIES
from trex.foundation.options import Option, Options

NAMES = f"{', '.join(list(QUANTITIES)[:-1])} or {list(QUANTITIES)[-1]}"


class CurveOptions(Options):
    """The options of a dose curve."""

    over: Annotated[
        str,
        Option(
            f"What is turned up and down: {NAMES}; in a world of your own, the name of a number.",
            metavar="QUANTITY",
            example="distance",
        ),
    ] = "visible"
    family: Annotated[
        int | None, Option("Only the hits of this family of the report.", metavar="N", low=1, example=1)
    ] = None
    scenes: Annotated[
        int, Option("Number of hits, most confident first.", low=1, high=10_000, example=20)
    ] = 12
    doses: Annotated[
        int | None,
        Option(
            "Number of doses, evenly spaced over the quantity's range.",
            metavar="K",
            low=2,
            high=100,
            example=5,
        ),
    ] = None
    at: Annotated[
        tuple[float, ...],
        Option(
            "A dose, in place of those by default. Repeatable.",
            metavar="DOSE",
            example=(0.0, 0.06),
        ),
    ] = ()
    draws: Annotated[
        int,
        Option(
            "Noise draws of each scene at each dose: its own, then fresh ones.",
            metavar="R",
            low=1,
            high=1000,
            example=4,
        ),
    ] = 1
    object: Annotated[
        tuple[int, ...],
        Option(
            "The index of the misread object of each hit, most confident first; by default the one that was traced, or "
            "the object responsible. Repeatable.",
            metavar="INDEX",
            example=(0, 2),
        ),
    ] = ()
