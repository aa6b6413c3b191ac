"""Rendered CLEVR scenes as a domain: Blender draws them, and the truth of each picture is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import read_bytes
from trex.render.png_url import url_of_png
from trex.repair.domain import Domain, Opened
from trex.repair.files import Found
from trex.repair.folder import Step
from trex.repair.results import BEFORE, DECIDING, CorrectResult, DistillResult, scenario_test, wrong_words
from trex.repair.scenes.bench import tune
from trex.repair.scenes.families import cluster
from trex.repair.scenes.found import found_scenes, has_stored
from trex.repair.scenes.identify import SceneIdentifyResult, grow
from trex.repair.scenes.label import TruthResult, judge
from trex.repair.scenes.loaded import Folder, SceneLoaded, open_scenes, scene_sources
from trex.repair.settings import SceneQuery
from trex.scenes.vocabulary import CLEVR
from trex.worlds.world import open_renderer


def prepare(query: SceneQuery, place: Path | None, data: Path | None, processes: int | None) -> Opened:
    """The model, and the runs whose scenes are taken, checked; InputError for what cannot be used."""
    if data is not None:
        raise InputError("--data does not apply: a repair on rendered scenes takes no data set; drop it")
    if place is None or not has_stored(place / "identify", query.identify.runs):
        found_scenes(query.identify.runs, CLEVR)

    def opened() -> SceneLoaded:
        assert place is not None
        return open_scenes(query, place, lambda section: open_renderer(section, CLEVR, processes))

    return scene_sources(query), opened


def show(folder: Folder, results: Mapping[Step, Found]) -> dict[str, object]:
    """Misread objects of components, and each scenario before and after."""
    labels, correct, distilled = results.get("label"), results.get("correct"), results.get("distill")
    examples, sentences = {}, {}
    if isinstance(labels, TruthResult):
        place = folder.require("label")
        for verdict in labels.verdicts:
            sentences[verdict.number] = verdict.sentence
            examples[verdict.number] = [
                (url_of_png(read_bytes(place / each.file, error=RunError, follow_links=False)), each.words)
                for each in verdict.examples
            ]
    rows = []
    if isinstance(correct, CorrectResult) and correct.before is not None:
        for number in (scenario.number for scenario in correct.corrected):
            test = scenario_test(DECIDING, number)
            before, after = wrong_words([correct.before], test), wrong_words(correct.best, test)
            rows.append(
                (number, sentences.get(number, ""), before, after, correct.claim(BEFORE, test).difference)
            )
    return {
        "template": "repair_scenes.html",
        "title": folder.query.model.name,
        "what": (
            "Objects that the model misreads in rendered scenes, clustered, judged by the truth, and corrected (after "
            "Defuse)."
        ),
        "curve": "",
        "looks": folder.query.generator,
        "components": {each.number: each for each in distilled.components}
        if isinstance(distilled, DistillResult)
        else {},
        "examples": examples,
        "scenarios": rows,
    }


SCENES = Domain(
    records={
        "identify": SceneIdentifyResult,
        "distill": DistillResult,
        "label": TruthResult,
        "correct": CorrectResult,
    },
    prepare=prepare,
    grow=grow,
    cluster=cluster,
    judge=judge,
    tune=tune,
    show=show,
)
