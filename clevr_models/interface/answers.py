"""The 28 answers of CLEVR v1.0, in the order of every model's probabilities."""

from __future__ import annotations

COUNTS = tuple(str(n) for n in range(11))
BOOLEANS = ("yes", "no")
COLORS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
MATERIALS = ("rubber", "metal")
SHAPES = ("cube", "sphere", "cylinder")
SIZES = ("large", "small")
ANSWERS = (*COUNTS, *BOOLEANS, *COLORS, *MATERIALS, *SHAPES, *SIZES)
UNPARSED = "<unparsed>"  # the label of replies that are none of them, for models that reply in words
MOST = 0.5  # of the probability: with more of it on no answer, a model does not answer as it is asked to
