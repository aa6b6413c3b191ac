"""Step 5: `report.html` and `report.json` of the steps on scenes that are finished."""

from __future__ import annotations

from typing import NamedTuple

from trex.foundation.files import read_bytes, write_atomic
from trex.pages.page import page
from trex.render.png_url import url_of_png
from trex.repair.folder import Step
from trex.repair.page.report import DOCUMENT, PAGE
from trex.repair.records import read_record, write_json
from trex.repair.scenes import results as names
from trex.repair.scenes import words
from trex.repair.scenes.correct import RESULT as CORRECTED
from trex.repair.scenes.distill import RESULT as DISTILLED
from trex.repair.scenes.distill import SceneDistillResult
from trex.repair.scenes.identify import RESULT as IDENTIFIED
from trex.repair.scenes.identify import SceneIdentifyResult
from trex.repair.scenes.label import RESULT as LABELLED
from trex.repair.scenes.label import SceneLabelResult, seen_words
from trex.repair.scenes.loaded import SceneFolder
from trex.repair.scenes.proof.records import Proof, read_proof
from trex.repair.scenes.proof.words import proof_sentences
from trex.repair.scenes.results import SceneCorrectResult

SHOWN: tuple[Step, ...] = (
    "identify",
    "distill",
    "label",
    "correct",
)  # it has neither voters nor novelty


class SceneResults(NamedTuple):
    """The results of the finished steps."""

    identify: SceneIdentifyResult
    distill: SceneDistillResult | None
    label: SceneLabelResult | None
    correct: SceneCorrectResult | None
    proof: Proof

    @property
    def is_mended(self) -> bool:
        """Whether the correction's own tests and everything of the proof support that the model is mended."""
        return self.correct is not None and self.correct.is_mended and self.proof.holds

    @property
    def sentences(self) -> list[str]:
        """What they show."""
        found = [words.identified(self.identify)]
        found += [words.distilled(self.distill)] if self.distill is not None else []
        found += [words.labelled(self.label)] if self.label is not None else []
        if self.correct is None:
            return found
        proved = proof_sentences(self.proof) if self.correct.best else ()
        return [*found, *words.corrected(self.correct, self.proof.holds), *proved]


def read_scene_results(folder: SceneFolder) -> SceneResults:
    """The results of the finished steps; RunError if not even the first is finished."""
    done = {step: folder.require(step) for step in SHOWN if folder.is_done(step)}
    return SceneResults(
        read_record(SceneIdentifyResult, folder.require("identify") / IDENTIFIED),
        read_record(SceneDistillResult, done["distill"] / DISTILLED) if "distill" in done else None,
        read_record(SceneLabelResult, done["label"] / LABELLED) if "label" in done else None,
        read_record(SceneCorrectResult, done["correct"] / CORRECTED) if "correct" in done else None,
        read_proof(folder),
    )


def write_scene_report(folder: SceneFolder) -> dict[str, object]:
    """Write the page and the JSON file; returns what the file holds."""
    results = read_scene_results(folder)
    correct, proof = results.correct, results.proof
    document: dict[str, object] = {
        "sentences": results.sentences,
        "is_mended": results.is_mended,
        "halved": correct.halved() if correct is not None else [],
        "sources": folder.sources.model_dump(mode="json"),
        "query": folder.query.model_dump(mode="json"),
        **{
            step: None if one is None else one.model_dump(mode="json")
            for step, one in results._asdict().items()
            if step in SHOWN
        },
        "proof": {
            "official": [one.model_dump(mode="json") for one in proof.officials],
            "searches": [{**one.model_dump(mode="json"), "verdict": one.verdict} for one in proof.searches],
        },
    }
    write_json(folder.path / DOCUMENT, document)
    missing = [step for step in SHOWN if not folder.is_done(step)]
    values: dict[str, object] = {
        "model": folder.query.model.name,
        "looks": folder.query.generator,
        "results": results,
        "examples": _examples(folder, results.label),
        "seen": seen_words,
        "rows": _rows(correct),
        "columns": [words.NAMES[name] for name in names.TESTS],
        "scenarios": words.scenario_rows(correct, results.label) if correct and results.label else [],
        "claims": _claims(correct),
        "missing": missing,
        "commands": [f"trex repair {one} {folder.path}" for one in ("distill", "label", "correct", "report")],
    }
    write_atomic(folder.path / PAGE, page("repair_scenes.html", values).encode())
    return document


def _examples(folder: SceneFolder, found: SceneLabelResult | None) -> dict[int, list[tuple[str, str]]]:
    """For each component pictures as data URLs, each with what is misread."""
    if found is None:
        return {}
    place = folder.require("label")

    def url(name: str) -> str:
        return url_of_png(read_bytes(place / name, follow_links=False))

    return {one.number: [(url(each.file), each.words) for each in one.examples] for one in found.verdicts}


def _rows(found: SceneCorrectResult | None) -> list[tuple[str, list[str]]]:
    if found is None:
        return []
    return [
        (name, [words.share_words(models, test) for test in names.TESTS])
        for name, models in words.rows_of(found)
    ]


def _claims(found: SceneCorrectResult | None) -> list[tuple[str, str, str, str]]:
    """Against what, on which test, the difference, and what it supports."""
    if found is None:
        return []
    rows = []
    for against in found.others:
        for test in names.TESTS:
            claim = found.claim(against, test)
            verdict = "better in every seed" if claim.is_better else "no clear difference"
            if claim.is_worse:
                verdict = "worse in a seed"
            rows.append((words.NAMES[against], words.NAMES[test], words.difference_words(claim), verdict))
    return rows
