"""Examined scenes as families see them: what failed in each, and for which of its units which conditions hold."""

from __future__ import annotations

from collections.abc import Sequence

from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Examined
from trex.families.discover import Situation, Vocabularies, conditions_of
from trex.families.symptom import Failure, answered, misread
from trex.scenes.graph import Facts


class ExaminedScene(Situation):
    """One scene of an audit, with what the model said about it."""

    def __init__(
        self, facts: Facts, examined: Examined, asker: Asker, conditions: Vocabularies | None = None
    ) -> None:
        super().__init__(
            facts,
            failures_of(examined),
            [answer.truth for answer in examined.answers],
            conditions or conditions_of(asker.vocabulary),
            lambda: asker.asked(facts.scene, examined.scene),
        )
        self.examined = examined


def situations(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> list[ExaminedScene]:
    """The situations of examined scenes."""
    conditions = conditions_of(asker.vocabulary)
    return [ExaminedScene(facts, one, asker, conditions) for facts, one in rows]


def failures_of(examined: Examined) -> list[Failure]:
    """What failed in a picture.

    Kinds of wrong answers count only where nothing is known to be misread: otherwise they may follow from that.
    """
    if examined.misread:
        return [misread(one) for one in examined.misread]
    answers = ((mistake.at, examined.answers[mistake.at]) for mistake in examined.mistakes)
    return [answered(at, one.truth, one.said) for at, one in answers]
