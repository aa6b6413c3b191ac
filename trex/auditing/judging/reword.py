"""Whether a family's mistakes depend on how the question is put: its failures, asked again in other words.

Only failures that stay at the deciding look are asked about, of the pictures that are there. The wordings mean the
same (`trex.scenes.questions.english.wordings`), so that a model that understands the question fails in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.auditing.examine import Asker
from trex.auditing.judging.confirm import Failing, Wrong, deciding_scene, mistaken
from trex.auditing.judging.membership import Membership
from trex.auditing.records import Reworded
from trex.clevr_models.interface.bound import reads_words
from trex.clevr_models.interface.question import Question
from trex.families.family import Family
from trex.inference.scoring import images
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.proportion import Proportion
from trex.render.renderer import SceneRenderer
from trex.scenes.questions.families import SceneQuestion
from trex.trials.lines import Rows
from trex.worlds.asking import Said

MOST = 0.5  # of other wordings: below it, by the whole interval, a family depends on the wording


@dataclass(frozen=True)
class Reworder:
    """A renderer at the deciding look, and the model; `wordings` ways to put a question, the plain one included."""

    renderer: SceneRenderer
    asker: Asker
    wordings: int

    def reword(self, number: int, family: Family, failures: Sequence[Failing], log: Rows[Reworded]) -> None:
        """Ask about failures of family `number` in each other wording, from where the log ends."""
        done = sum(row.family == number for row in log.values)
        for at in range(done, (self.wordings - 1) * len(failures)):
            before, which = divmod(at, len(failures))
            log.append([self._row(number, family, failures[which], before + 1)])

    def _row(self, number: int, family: Family, failing: Failing, wording: int) -> Reworded:
        """The mistakes that are made in the plain words, again in others; a question that has no others is left out."""
        facts, examined, _ = failing
        if not reads_words(self.asker.model):
            return Reworded(number, examined.scene, wording, 0, 0, 0, is_read=False, again=0)
        scene, membership = deciding_scene(facts.scene), Membership(family, examined, self.asker.vocabulary)
        put = [
            (each, texts[0], texts[wording])
            for each in mistaken(family, failing, self.asker)
            if len(texts := self.asker.wordings(each[1], examined.scene, each[0].at, wording + 1)) > wording
        ]
        (image,) = images(self.renderer.render([scene]))
        plain = self._said(image, [(text, question) for (_, question), text, _ in put])
        other = self._said(image, [(text, question) for (_, question), _, text in put])

        def is_made(each: Wrong, output: Said) -> bool:
            return membership.is_failure(scene, *each, output.answer)

        sure = self.asker.sure
        pairs = [
            (before, after, is_made(each, after))
            for (each, *_), before, after in zip(put, plain, other, strict=True)
            if before.probability >= sure and is_made(each, before)
        ]
        stays = sum(is_again and after.probability >= sure for _, after, is_again in pairs)
        moved = sum(before != after for before, after, _ in pairs)
        again = sum(is_again for *_, is_again in pairs)
        return Reworded(number, examined.scene, wording, len(pairs), stays, moved, again=again)

    def _said(self, image: NDArray[np.float32], put: Sequence[tuple[str, SceneQuestion]]) -> list[Said]:
        return self.asker.ask_in_words(image, [Question(text, question.program) for text, question in put])


@dataclass(frozen=True)
class Wordings:
    """How a family's mistakes fare in other words.

    Of all other wordings that were asked, `again`: those in which the mistake is made again; `stays`: those in which it
    is, as surely. Those about one scene are a cluster. In audits of before `again` is not known, and None. `is_read` is
    False if the model reads programs alone, so that nothing was asked; `is_moved` if the words change any probability
    at all.
    """

    stays: Proportion
    is_read: bool = True
    is_moved: bool = True
    again: Proportion | None = None

    @property
    def matter(self) -> bool:
        """Whether the family depends on the wording: by the whole interval, its mistakes are made in less than MOST.

        However surely: of mistakes that are just sure enough to count, many are a little less sure in any other words.
        """
        return self.is_read and (self.again or self.stays).interval.high < MOST


def wordings_of(rows: Sequence[Reworded], failures: int) -> Wordings | None:
    """How one family's mistakes fare by its rows, in the order of the log; None if nothing could be asked.

    A wording in which not all `failures` were asked again, as an audit was stopped, does not count.
    """
    rows = rows[: len(rows) - len(rows) % max(failures, 1)]
    if any(not row.is_read for row in rows):
        return Wordings(Proportion(0, 0), is_read=False)
    scenes = sorted({row.scene for row in rows})
    mine = [[row for row in rows if row.scene == scene] for scene in scenes]
    asked = [sum(row.asked for row in each) for each in mine]
    stays = clustered_share([sum(row.stays for row in each) for each in mine], asked)
    if not stays.of:
        return None
    again = None
    if all(row.again is not None for row in rows):
        again = clustered_share([sum(row.again or 0 for row in each) for each in mine], asked)
    return Wordings(stays, is_moved=any(row.moved for row in rows), again=again)


def wordings_words(found: Wordings | None) -> str:
    """How a family's mistakes fare in other words, as a sentence; "" if that was not asked."""
    if found is None:
        return ""
    if not found.is_read:
        return "No other wording was tried: the model reads the question's program, not its words."
    shown = found.again or found.stays
    text = f"tays in {shown.count} of {shown.of} other wordings (95% CI {shown.range})"
    if not found.is_moved:
        text += ", with the very same probabilities, as if the model did not read the words"
    elif found.again and found.stays.count < shown.count:
        text += f", as surely in {found.stays.count}"
    return f"Depends on how the question is put: s{text}." if found.matter else f"S{text}."
