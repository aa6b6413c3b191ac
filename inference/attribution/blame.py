"""Which parts are to blame for an answer: all those without which it is another one, alone or only together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trex.inference.attribution.leave_one_out import find_culprit

How = Literal["alone", "either", "together", "most", "alike", "none"]


@dataclass(frozen=True)
class Blame:
    """The parts to blame, strongest effect first, and in what way.

    "alone": leaving out the one part changes the answer. "either": so does leaving out any one of several. "together":
    only leaving out all of them does. Else the answer stays, and "most" is the part whose removal lowers the confidence
    most, "alike" are several that do so equally, "none": no removal lowers it noticeably.
    """

    how: How
    parts: tuple[int, ...] = ()

    @property
    def is_flip(self) -> bool:
        """Whether the answer becomes another one without them."""
        return self.how in ("alone", "either", "together")


def find_blame(
    effects: Sequence[float], flips: Sequence[bool], together: Sequence[tuple[int, ...]] = ()
) -> Blame:
    """The blame from the effect of leaving out each part, and whether that changed the answer.

    `together` are sets of several parts without which the answer changed, strongest first; they count if no part alone
    does so. Parts with the same effect stand in their own order.
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
