"""The parts responsible for an answer: those whose removal explains it, alone or only together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trex.inference.attribution.leave_one_out import strongest

How = Literal["alone", "either", "together", "most", "alike", "none"]


@dataclass(frozen=True)
class Blame:
    """The parts responsible, strongest effect first, and how they act.

    A flip is another answer, or the right one: the caller says which. "alone": leaving out the one part is a flip.
    "either": so is leaving out any one of several. "together": only leaving out all of them is. Otherwise "most" is the
    part whose removal lowers the confidence most, "alike" are several that do so equally, "none": no removal lowers it
    noticeably, or only flips count.
    """

    how: How
    parts: tuple[int, ...] = ()

    @property
    def is_flip(self) -> bool:
        """Whether removing them is a flip."""
        return self.how in ("alone", "either", "together")


def find_blame(
    effects: Sequence[float],
    flips: Sequence[bool],
    together: Sequence[tuple[int, ...]] = (),
    *,
    only_flips: bool = False,
) -> Blame:
    """The blame, from the effect of leaving out each part and whether that was a flip.

    `together` lists sets of several parts whose removal was a flip, strongest first; they count if no single part's is.
    With `only_flips` no part is responsible for its effect alone. Parts with equal effects keep their order.
    """
    alone = sorted((i for i, is_flip in enumerate(flips) if is_flip), key=lambda i: (effects[i], i))
    if alone:
        return Blame("either" if len(alone) > 1 else "alone", tuple(alone))
    if together:
        return Blame("together", tuple(sorted(together[0], key=lambda i: (effects[i], i))))
    parts = () if only_flips else strongest(effects)
    return Blame("most" if len(parts) == 1 else "alike" if parts else "none", parts)
