"""Which object of each hit is misread: the one that is given, that a trace tells, or that is responsible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.clevr_models.interface.bound import AsksMany
from trex.curves.options import CurveOptions
from trex.curves.subject import Subject
from trex.explain.stored import read_explanations
from trex.families.trace import trace
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress, silent
from trex.foundation.words import counted
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.runs.trust import check_made_here
from trex.scenes.graph import facts_of
from trex.scenes.misreading import Answered
from trex.scenes.scene import scene_id
from trex.search.hit import Hit
from trex.worlds.world import open_model


def misread_objects(
    folder: RunFolder, hits: Sequence[Hit], options: CurveOptions, progress: Progress = silent
) -> list[tuple[Hit, Subject]]:
    """The hits whose misread object is known, with its index; InputError if none is, or if a given one is not there.

    Without given indices, the model is asked many questions about each hit, if it answers them at once: nothing is
    rendered. What that does not tell, explanations may: the object responsible.
    """
    if options.object:
        indices = _given(hits, options)
    else:
        explained = read_explanations(folder)
        chiefs = [
            explained[name].chief if (name := hit.record.picture) in explained else None for hit in hits
        ]
        indices = [
            chief if traced is None else traced
            for traced, chief in zip(_traced(folder, hits, progress), chiefs, strict=True)
        ]
    found = [
        (hit, Subject(hit.record.scene, index))
        for hit, index in zip(hits, indices, strict=False)
        if index is not None
    ]
    if not found:
        raise InputError(
            f"no misread object of the hits of {folder.path} is known; trex explain {folder.path} finds the objects "
            f"responsible, or name the object of each hit with {options.written('object')}"
        )
    return found


def _given(hits: Sequence[Hit], options: CurveOptions) -> list[int | None]:
    """The indices that the user gave, one for each hit from the first on."""
    if len(options.object) > len(hits):
        times = f"{options.written('object')} was given {len(options.object)} times"
        raise InputError(f"{times} for {counted(len(hits), 'hit')}; give it once for each")
    for hit, index in zip(hits, options.object, strict=False):
        last = len(hit.record.scene.objects) - 1
        if not 0 <= index <= last:
            has = f"the hit of {hit.origin} has objects 0 to {last}"
            raise InputError(f"{options.written('object')} {index}: {has}")
    return list(options.object)


def _traced(folder: RunFolder, hits: Sequence[Hit], progress: Progress) -> list[int | None]:
    """The object whose misreading explains the answer to each hit; None where nothing tells.

    Of several misreadings, the one that explains the answer to the run's question, else the strongest of an object.
    """
    manifest = folder.manifest
    check_made_here(folder.path, manifest.query)
    model = open_model(manifest.query.model.name, manifest.query.model.options)
    if not isinstance(model, AsksMany):
        return [None] * len(hits)
    found: list[int | None] = []
    for done, hit in enumerate(hits):
        progress("hits traced", done, len(hits), "asking the model about each picture")
        image = read_picture(folder, hit.record.picture)[0].astype(np.float32) / np.float32(255.0)
        facts = facts_of(hit.record.scene, manifest.vocabulary)
        rng = np.random.default_rng(int(scene_id(facts.scene)[:16], 16))
        said = Answered(manifest.question.program, hit.answer, hit.answers[0][1])
        traced = trace(rng, model, facts, image, manifest.vocabulary, [said])
        first = traced.by[0]
        misreadings = traced.misreadings if first is None else traced.misreadings[first:]
        found.append(next((each.index for each in misreadings if each.index is not None), None))
    return found
