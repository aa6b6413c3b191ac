"""Step 1: questions of all families about many scenes of a bank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.lines import Lines
from trex.auditing.sweeping.records import Examined
from trex.bank.bank import BATCH, Bank
from trex.inference.scoring import images
from trex.scenes.conditions import Facts, facts_of
from trex.scenes.scene import Scene

OnProgress = Callable[[int, int], None]  # scenes done, scenes in all


def sweep(bank: Bank, asker: Asker, log: Lines[Examined], n: int, tell: OnProgress) -> None:
    """Examine members 0 to n - 1 of a bank at its look, from where the log ends; a kill costs at most one batch."""
    for begin in range(len(log.values), n, BATCH):
        numbers = range(begin, min(begin + BATCH, n))
        tell(begin, n)
        scenes = bank.scenes(numbers)
        pictures = images(bank.renderer.render(scenes))
        log.append(
            [
                asker.examine(facts_of(scene, asker.vocabulary), image, number)
                for scene, image, number in zip(scenes, pictures, numbers, strict=True)
            ]
        )
    tell(n, n)


def facts_again(scenes: Sequence[Scene], examined: Sequence[Examined]) -> list[Facts]:
    """The facts of examined scenes, as their lines hold them."""
    return [Facts(scene, one.shares, one.hiders) for scene, one in zip(scenes, examined, strict=True)]
