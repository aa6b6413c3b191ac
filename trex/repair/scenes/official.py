"""The chosen models on pictures that this project has not rendered: right answers before and after."""

from __future__ import annotations

import hashlib
from itertools import chain
from pathlib import Path

import numpy as np

from trex.clevr_models.percept.model import Percept, PerceptModel, load_percept
from trex.datasets.clevr_questions import AskedFolder, QuestionOptions, read_folder
from trex.datasets.examples import Tally
from trex.foundation.files import make_folder
from trex.foundation.progress import Progress
from trex.repair.files import Flags, write_record
from trex.repair.results import BEFORE, Compared, CorrectResult, compared
from trex.repair.scenes.loaded import Folder, model_path
from trex.repair.scenes.proof import OFFICIAL, PROOF, TEST, OfficialProof, correction_key
from trex.scenes.questions.answers import is_same
from trex.worlds.asking import answers_to

OPTIONS = QuestionOptions(phrased=True)  # the folder's own questions, and those phrased from its scenes


def prove_official(folder: Folder, dataset: Path, progress: Progress) -> None:
    """Ask every model about every picture of a folder in CLEVR's layout, and store the comparison.

    InputError for a folder without answered questions; RunError if the correction is not finished.
    """
    key, models = correction_key(folder), chosen_models(folder)
    data_set = read_folder(dataset, OPTIONS)
    tally = Tally()
    before = _right(load_percept(model_path(folder.query.model.name)).percept, data_set, tally)
    rows: list[Compared] = []
    for done, (seed, path) in enumerate(models.items()):
        progress("models asked about official pictures", done, len(models))
        rows.append(official_row(seed, _right(load_percept(path).percept, data_set, Tally()), before))
    progress("models asked about official pictures", len(models), len(models))
    notes = (*data_set.notes, *tally.sentences)
    found = OfficialProof(corrected=key, dataset=data_set.name, pictures=len(before), rows=rows, notes=notes)
    make_folder(folder.path / PROOF)
    write_record(folder.path / PROOF / f"{OFFICIAL}{_digest(data_set)}.json", found)


def _digest(folder: AskedFolder) -> str:
    """Names a data set by its questions, so that what one shows is not replaced by another."""
    lines = [
        folder.name,
        *(
            f"{each.split}/{each.name} {q.text} {q.answer}"
            for each in folder.pictures
            for q in each.questions
        ),
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def chosen_models(folder: Folder) -> dict[int, Path]:
    """The weights of each seed that chose a model."""
    place = folder.require("correct")
    found = folder.found("correct", CorrectResult)
    return {
        seed: place / f"model-{seed}.safetensors"
        for seed, weight in enumerate(found.chosen)
        if weight is not None
    }


def official_row(seed: int, after: list[Flags], before: list[Flags]) -> Compared:
    """The comparison of right answers, given picture by picture; the questions about a picture are a cluster."""
    clusters = list(chain.from_iterable([number] * len(each) for number, each in enumerate(before)))
    flags = (np.concatenate(after), np.concatenate(before))
    return compared(seed, BEFORE, TEST, flags, clusters)


def _right(percept: Percept, folder: AskedFolder, tally: Tally) -> list[Flags]:
    """Of each picture's questions, which the model answers rightly."""
    model, found = PerceptModel(percept), []
    for picture, pixels in folder.read(tally):
        answers = answers_to(model, pixels, picture.questions)
        right = [is_same(answer, q.answer) for answer, q in zip(answers, picture.questions, strict=True)]
        found.append(np.array(right, np.bool_))
    return found
