"""The prior draws of a run at the deciding look, and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.statistics.budget import WANTED
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.two_phase import Selection, everyone
from trex.inference.types import Draw, Floats
from trex.worlds.latents import Latent


@dataclass(frozen=True)
class PriorSample:
    """Independent prior draws at the deciding look, and their selection from all that they stand for.

    `draws` are in the order of the selection's members.
    """

    draws: tuple[Draw[Latent], ...]
    selection: Selection
    how_often: HowOften

    @property
    def is_enough(self) -> bool:
        """Whether no chain is needed: the target is common and, with a bank, its draws stand for the level set."""
        is_all = len(self.draws) == self.selection.n
        return self.how_often.is_common and (is_all or self.how_often.ess >= WANTED)

    @property
    def is_whole(self) -> bool:
        """Whether no scene had a chance to be left out, so that the model did not choose which scenes are here."""
        return bool((self.selection.inclusion == 1.0).all())

    @property
    def counted(self) -> tuple[tuple[Draw[Latent], ...], Selection]:
        """The draws that the rate counts, with their selection: the further ones alone if a common target had some."""
        n = self.how_often.n
        return (self.draws, self.selection) if n == len(self.draws) else (self.draws[-n:], everyone(n))

    @property
    def log_weights(self) -> Floats:
        """(n,): log of weight / inclusion, for weighted resampling of the level set."""
        return self.selection.log_weights(log_weights(self.draws))

    @property
    def inclusion(self) -> Floats:
        """(n,): the probability with which each draw was chosen."""
        chosen: Floats = self.selection.inclusion[self.selection.members]
        return chosen


def log_weights(draws: Sequence[Draw[Latent]]) -> Floats:
    """(n,): the draws' log weights."""
    return np.array([draw.state.log_weight for draw in draws], dtype=np.float64)
