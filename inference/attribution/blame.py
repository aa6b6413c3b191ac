"""The parts to blame for an answer: those whose removal changes it, alone or only together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trex.inference.attribution.leave_one_out import find_culprit

How = Literal["alone", "either", "together", "most", "alike", "none"]


@dataclass(frozen=True)
class Blame:
    """The parts to blame, strongest effect first, and how they act.

    "alone": leaving out the one part changes the answer. "either": so does leaving out any one of several.
    "together": only leaving out all of them does. Otherwise the answer stays, and "most" is the part whose removal
    lowers the confidence most, "alike" are several that do so equally, "none": no removal lowers it noticeably.
    """

    how: How
    parts: tuple[int, ...] = ()

    @property
    def is_flip(self) -> bool:
        """Whether removing them changes the answer."""
        return self.how in ("alone", "either", "together")


def find_blame(
    effects: Sequence[float], flips: Sequence[bool], together: Sequence[tuple[int, ...]] = ()
) -> Blame:
    """The blame, from the effect of leaving out each part and whether that changed the answer.

    `together` lists sets of several parts whose removal changed the answer, strongest first; they count if no
    single part does so. Parts with equal effects keep their order.
    """
    alone = sorted((i for i, is_flip in enumerate(flips) if is_flip), key=lambda i: (effects[i], i))
    if alone:
        return Blame("either" if len(alone) > 1 else "alone", tuple(alone))
    if together:
        return Blame("together", tuple(sorted(together[0], key=lambda i: (effects[i], i))))
    culprit = find_culprit(effects)
    if culprit.index is not None:
        return Blame("most", (culprit.index,))
    return Blame("alike", culprit.tied) if culprit.tied else Blame("none")
