"""Step 1: questions of all families about many scenes of a bank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.parts import Parts, batch_range, n_batches
from trex.auditing.sweeping.records import Examined
from trex.bank.bank import BATCH, Bank
from trex.inference.scoring import images
from trex.scenes.graph import Facts, facts_of
from trex.scenes.scene import Scene
from trex.trials.lines import Lines

OnProgress = Callable[[int, int], None]  # scenes done, scenes in all


@dataclass(frozen=True)
class Sweep:
    """Examines members of a bank at its look; one program leads, any number of others may help.

    What is told of a member is a function of its number, so the log does not depend on who examined what. A kill
    costs each program one batch at most.
    """

    bank: Bank
    asker: Asker
    parts: Parts
    members: range

    @property
    def n(self) -> int:
        """The number of scenes."""
        return len(self.members)

    def lead(self, log: Lines[Examined], on_progress: OnProgress) -> None:
        """Fill the log, from where it ends: in order, and out of order while another program has the next batch.

        A batch of a program that is suspended, or makes no progress, is examined here, too: to the same lines.
        """
        while len(log.values) < self.n:
            on_progress(len(log.values), self.n)
            batch = len(log.values) // BATCH
            if not self._joined(batch, log, wait=False):
                later = range(batch + 1, n_batches(self.n))
                if not any(self._completed(one) for one in later):
                    self._joined(batch, log, wait=True)
        self.parts.clear()
        on_progress(self.n, self.n)

    def help(self, n_joined: Callable[[], int], on_progress: OnProgress) -> None:
        """Examine what no other program does, from the end to the scenes that the log has; `n_joined` counts these.

        A batch that another program has is left to it, and to the leader if it dies.
        """
        for batch in reversed(range(n_batches(self.n))):
            joined = n_joined()
            if joined > batch * BATCH:
                break
            on_progress(joined, self.n)
            self._completed(batch, n_joined)
        on_progress(n_joined(), self.n)

    def _joined(self, batch: int, log: Lines[Examined], *, wait: bool) -> bool:
        """Whether this program examined the batch; False if another program holds it and `wait` is off."""
        whole, begin = batch_range(batch, self.members), self.members.start + len(log.values)
        what = f"scenes {whole.start} to {whole.stop - 1} of the audit"
        with self.parts.waited_for(batch, what) if wait else self.parts.taken(batch) as is_taken:
            if is_taken or wait:
                kept = self.parts.values(batch)[begin - whole.start : len(whole)] if is_taken else ()
                log.append([*kept, *self._examined(range(begin + len(kept), whole.stop))])
                self.parts.drop(batch)
        return is_taken or wait

    def _completed(self, batch: int, n_joined: Callable[[], int] = lambda: 0) -> bool:
        """Whether this program has examined the batch: not if another has it, or has done so before."""
        numbers = batch_range(batch, self.members)
        with self.parts.taken(batch) as is_taken:
            # The log may have taken it while this program waited for nothing but the lock.
            return (
                is_taken
                and n_joined() <= batch * BATCH
                and self.parts.complete(batch, numbers, self._examined)
            )

    def _examined(self, numbers: range) -> list[Examined]:
        if not numbers:
            return []
        scenes = self.bank.scenes(numbers)
        pictures = images(self.bank.renderer.render(scenes))
        return [
            self.asker.examine(facts_of(scene, self.asker.vocabulary), image, number)
            for scene, image, number in zip(scenes, pictures, numbers, strict=True)
        ]


def facts_again(scenes: Sequence[Scene], examined: Sequence[Examined]) -> list[Facts]:
    """The facts of examined scenes, as their lines hold them."""
    return [Facts(scene, one.shares, one.hiders) for scene, one in zip(scenes, examined, strict=True)]
