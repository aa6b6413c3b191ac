"""The results of a repair's finished steps, and what they show."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trex.repair.correction.correct import RESULT as CORRECTED
from trex.repair.correction.results import CorrectResult
from trex.repair.distill import RESULT as DISTILLED
from trex.repair.distill import DistillResult
from trex.repair.folder import STEPS, RepairFolder
from trex.repair.identify import RESULT as IDENTIFIED
from trex.repair.identify import IdentifyResult
from trex.repair.label import RESULT as LABELLED
from trex.repair.label import LabelResult
from trex.repair.novelty import RESULT as COMPARED
from trex.repair.novelty import NoveltyResult
from trex.repair.page.sentences import compared, corrected, distilled, identified, voted
from trex.repair.records import read_record


class Results(NamedTuple):
    """The results of the finished steps."""

    identify: IdentifyResult
    distill: DistillResult | None
    label: LabelResult | None
    correct: CorrectResult | None
    novelty: NoveltyResult | None = None

    @property
    def sentences(self) -> list[str]:
        """What they show."""
        found = [identified(self.identify)]
        found += [distilled(self.distill)] if self.distill is not None else []
        found += [voted(self.label)] if self.label is not None else []
        found += list(corrected(self.correct)) if self.correct is not None else []
        return found + ([compared(self.novelty)] if self.novelty is not None else [])

    @property
    def is_mended(self) -> bool:
        """Whether the controls and intervals of the correction support that the model is mended."""
        return self.correct is not None and self.correct.is_mended


def read_results(folder: RepairFolder) -> Results:
    """The results of the finished steps; RunError if not even the first is finished."""

    def done(step: str) -> Path | None:
        name = next(one for one in STEPS if one == step)
        return folder.require(name) if folder.is_done(name) else None

    distill, label, correct, novelty = (done(name) for name in ("distill", "label", "correct", "novelty"))
    return Results(
        read_record(IdentifyResult, folder.require("identify") / IDENTIFIED),
        read_record(DistillResult, distill / DISTILLED) if distill is not None else None,
        read_record(LabelResult, label / LABELLED) if label is not None else None,
        read_record(CorrectResult, correct / CORRECTED) if correct is not None else None,
        read_record(NoveltyResult, novelty / COMPARED) if novelty is not None else None,
    )
