"""Plain random testing: a list of failing scenes, and no sentence."""

from __future__ import annotations

from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import look
from benchmarks.planted.referee import Referee


def random_testing(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """Render as many prior scenes as the budget has, and keep those in which an answer is wrong."""
    looked = [look(referee, known) for known in referee.draw(referee.left)]
    return Result((), sum(each.failed for each in looked))
