"""What the finished steps of a repair show: results, sentences, and `report.html` and `report.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trex.foundation.files import write_atomic
from trex.foundation.words import quoted
from trex.pages.page import page
from trex.repair.files import Found, write_json
from trex.repair.folder import COMMANDS, STEPS, Step
from trex.repair.results import CorrectResult, DistillResult
from trex.repair.settings import SceneQuery
from trex.repair.steps import Folder, domain_of

if TYPE_CHECKING:
    from trex.repair.scenes.proof import Proof

PAGE, DOCUMENT = "report.html", "report.json"


@dataclass(frozen=True, repr=False)
class Results:
    """What the finished steps found, by step; and what was proved besides of a correction on scenes."""

    found: Mapping[Step, Found]
    proof: Proof | None = None

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return f"<Results: {self.title}; of {', '.join(self.found)}; print it for all>"

    @property
    def identify(self) -> Found:
        return self.found["identify"]

    @property
    def distill(self) -> DistillResult | None:
        found = self.found.get("distill")
        return found if isinstance(found, DistillResult) else None

    @property
    def label(self) -> Found | None:
        return self.found.get("label")

    @property
    def correct(self) -> CorrectResult | None:
        found = self.found.get("correct")
        return found if isinstance(found, CorrectResult) else None

    @property
    def novelty(self) -> Found | None:
        """The distances to the nearest training pictures, of a repair of decoded pictures."""
        return self.found.get("novelty")

    @property
    def sentences(self) -> list[str]:
        """What they show, claimed only if controls, intervals and proof support it."""
        rows = [
            line
            for found in self.found.values()
            for line in (self._corrected if isinstance(found, CorrectResult) else found.sentences)
        ]
        is_proved = self.proof is not None and self.correct is not None and bool(self.correct.best)
        return [*rows, *self.proof.sentences] if self.proof is not None and is_proved else rows

    @property
    def _corrected(self) -> list[str]:
        """What the correction shows, its verdict last."""
        holds = self.proof is None or self.proof.holds
        return self.correct.said(is_proof_held=holds) if self.correct is not None else []

    @property
    def title(self) -> str:
        """The verdict in a few words, before the model's name: "Not repaired"."""
        if self.correct is None:
            return "Repair, not finished"
        return "Repaired" if self.is_repaired else "Not repaired"

    @property
    def verdict(self) -> str:
        """The verdict with its reasons, "" of a repair that is not finished."""
        return self._corrected[-1] if self.correct is not None else ""

    @property
    def is_repaired(self) -> bool:
        """Whether the correction's own tests and everything of a proof support that the model is repaired."""
        holds = self.proof is None or self.proof.holds
        return self.correct is not None and self.correct.is_repaired and holds


def read_results(folder: Folder) -> Results:
    """The results of the finished steps; RunError if not even the first is finished."""
    records = domain_of(folder.query).records
    folder.require("identify")
    found = {
        step: folder.found(step, records[step]) for step in STEPS if step in records and folder.is_done(step)
    }
    if not isinstance(folder.query, SceneQuery):
        return Results(found)
    from trex.repair.scenes.proof import read_proof

    return Results(found, read_proof(folder))


def write_report(folder: Folder) -> dict[str, object]:
    """Write the page and the JSON file; returns what the file holds."""
    results, domain = read_results(folder), domain_of(folder.query)
    correct = results.correct
    document: dict[str, object] = {
        "sentences": results.sentences,
        "is_repaired": results.is_repaired,
        "sources": folder.sources.model_dump(mode="json"),
        "query": folder.query.model_dump(mode="json"),
        **{
            step: results.found[step].model_dump(mode="json") if step in results.found else None
            for step in domain.records
        },
    }
    if results.proof is not None:
        halved = correct.halved() if correct is not None else []
        document |= {"halved": halved, "proof": results.proof.document}
    write_json(folder.path / DOCUMENT, document)
    missing: dict[str, str] = {}  # of two steps of one command, the first
    for step in (step for step in domain.records if step not in results.found):
        missing.setdefault(COMMANDS.get(step, step), folder.lacks(step))
    claims = correct.claims() if correct is not None else []
    values: dict[str, object] = {
        "results": results,
        "rows": correct.table() if correct is not None else [],
        "columns": [correct.rules.names[name] for name in correct.columns] if correct is not None else [],
        "claims": [(each.against, each.test, each.difference, each.verdict) for each in claims if each.rows],
        "names": correct.rules.names if correct is not None else {},
        "missing": missing,
        "commands": [
            f"trex repair {each} {quoted(folder.path)}" for each in ("distill", "label", "correct", "report")
        ],
        **domain.show(folder, results.found),
    }
    write_atomic(folder.path / PAGE, page("repair.html", values).encode())
    return document
