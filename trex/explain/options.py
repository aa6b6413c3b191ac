"""Which parts an explanation has."""

from __future__ import annotations

from typing import Annotated

from trex.foundation.options import Option, Options


class ExplainOptions(Options):
    """The parts to make of each explanation; existing ones are not made again."""

    top: Annotated[int, Option("Number of hits, most confident first.", low=1, high=100_000, example=20)] = 5
    trace: Annotated[
        bool,
        Option(
            "Ask the model some 200 questions about each wrong answer's picture, to find what it misreads.",
            ("--trace/--no-trace",),
        ),
    ] = True
    edits: Annotated[
        bool,
        Option("Change each attribute of each object: about 11 renders per object.", ("--edits/--no-edits",)),
    ] = True
    flip_depth: Annotated[
        int,
        Option(
            "Search for sets of at most this many edits that together make the model right (or change a right "
            "answer); 0: no search.",
            low=0,
            high=10,
            example=0,
        ),
    ] = 2
    flip_renders: Annotated[
        int,
        Option(
            "Renders per scene for sets of two or more edits; used only if no single edit flips.",
            low=0,
            high=100_000,
            example=100,
        ),
    ] = 40
    nuisances: Annotated[
        int,
        Option(
            "Repeat under K other cameras and lights, for the two strongest objects and those responsible: "
            "3 K renders per scene or more; 0: do not repeat.",
            metavar="K",
            low=0,
            high=1000,
            example=2,
        ),
    ] = 5
    every_object: Annotated[
        bool,
        Option(
            "With --nuisances: repeat for every object, not only for the chosen ones.", ("--every-object",)
        ),
    ] = False
    saliency: Annotated[
        bool,
        Option("SmoothGrad and integrated gradients (torch models).", ("--saliency/--no-saliency",)),
    ] = True
