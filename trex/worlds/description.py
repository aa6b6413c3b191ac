"""What the harness asks of a kind of world: one file a kind, and nothing else knows which it is.

The first half opens a world for a query. The second half reads the draws of a run, without model or renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trex.inference.types import Draw
from trex.worlds.latents import Latent

if TYPE_CHECKING:  # plans know worlds
    pass

Summary = Callable[[Draw[Latent]], float]
Chains = Sequence[Sequence[Draw[Latent]]]


class Noun(NamedTuple):
    """What a latent is called once it is rendered: one, and several."""

    one: str
    many: str

    def distinct(self, n: int) -> str:
        """ "1 distinct scene", "7 distinct scenes"."""
        return f"{n} distinct {self.one if n == 1 else self.many}"


class Judgment(NamedTuple):
    """The true answer, None where nobody knows it; and whether the model's is wrong, None where that is not known."""

    truth: str | None
    is_wrong: bool | None


NOT_KNOWN = Judgment(None, None)


class Outline(NamedTuple):
    """What may exist, and how it is rendered, in words."""

    world: str
    renders: str
