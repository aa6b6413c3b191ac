"""`trex report --confirm`: renders the most confident hits of runs at another preset and scores them, one by one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.progress import Progress
from trex.foundation.words import counted
from trex.inference.scoring import images
from trex.inference.types import Floats
from trex.query.schema import RenderSection
from trex.render.picture import Picture
from trex.render.presets import Preset, preset_named
from trex.render.renderer import SceneRenderer
from trex.runs.folder import RunFolder, check_free, open_run
from trex.runs.manifest import differences
from trex.runs.pictures import read_picture
from trex.runs.trust import check_made_here
from trex.search.hit import Hit
from trex.trials.confirmation import (
    CODEC,
    FOLDER,
    Confirmation,
    Confirmed,
    Look,
    confirmation_path,
    read_confirmation,
)
from trex.trials.hits import SAME, largest_change, stored_hits
from trex.trials.options import ConfirmOptions
from trex.worlds.fingerprint import model_fingerprint, probe_probabilities_of
from trex.worlds.looks import deciding_scorer
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan, open_renderer


@dataclass
class _Task:
    """A run, the hits to confirm, and what is confirmed of it so far."""

    folder: RunFolder
    plan: Plan
    hits: tuple[Hit, ...]
    renderer: SceneRenderer
    done: Confirmation

    def confirm(self, hit: Hit) -> Confirmed:
        """Render and score a hit, and write it down."""
        record = hit.record
        plan = self.plan
        scorer = deciding_scorer(plan.query.render, self.renderer, plan.bound, plan.vocabulary)
        (scored,) = scorer.score([record.scene])
        assert isinstance(scored.picture, Picture)
        after = self.folder.save_picture(scored.picture.pixels, scored.picture.mask)
        scene = Confirmed(
            truth=hit.known_truth,
            before=_look(self.plan, np.array(record.log_probs), record.picture),
            after=_look(self.plan, scored.log_probs, after),
        )
        self.done = self.done.with_scene(scene)
        write_atomic(confirmation_path(self.folder, self.done.preset), CODEC.text(self.done).encode())
        return scene


def confirm(
    paths: Sequence[Path], options: ConfirmOptions, progress: Progress
) -> list[tuple[RunFolder, Confirmation]]:
    """Confirm the hits of each run; the first hit of every run comes before the second of any.

    Each hit is saved as soon as it is done and rendered only once, so the same command resumes after a kill. Raises
    RunError if a run has no hits, or if its model has changed.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(open_run(path, for_writing=True)) for path in _different(paths)]
        return confirm_open(folders, options, progress)


def confirm_open(
    folders: Sequence[RunFolder], options: ConfirmOptions, progress: Progress
) -> list[tuple[RunFolder, Confirmation]]:
    """As `confirm`, of runs that are open for writing."""
    preset = preset_named(options.preset)
    section = RenderSection(preset=preset.name, device=options.device, processes=1)
    with ExitStack() as stack:
        checked = [(folder, *_check(folder, preset, options.top)) for folder in folders]
        tasks = []
        for folder, plan, hits in checked:
            renderer = open_renderer(section, plan.vocabulary)
            stack.callback(renderer.close)
            done = _begun(folder, preset, renderer.key, len(hits))
            tasks.append(_Task(folder, plan, hits, renderer, done))
        rows = zip_longest(*(task.hits for task in tasks))
        in_turn = [(task, hit) for row in rows for task, hit in zip(tasks, row, strict=True) if hit]
        todo = [(task, hit) for task, hit in in_turn if task.done.of(hit.record.picture) is None]
        total, before = len(in_turn), len(in_turn) - len(todo)
        last = f"{counted(before, 'scene')} confirmed before" if before else ""
        for number, (task, hit) in enumerate(todo, start=before):
            progress(
                "scenes confirmed",
                number,
                total,
                last,
                f"rendering scene {number + 1} at preset {preset.name}",
            )
            scene = task.confirm(hit)
            change = f"{scene.before.confidence:.3f} to {scene.after.confidence:.3f}"
            last = f"{task.folder.path.name}: {change}, {scene.verdict}"
        progress("scenes confirmed", total, total, last, "")
        return [(task.folder, task.done.only([hit.record.picture for hit in task.hits])) for task in tasks]


def _different(paths: Sequence[Path]) -> list[Path]:
    """The paths of different runs, as given; of several paths of one run, the first."""
    different: dict[str, Path] = {}
    for path in paths:
        different.setdefault(os.path.realpath(path), path)
    return list(different.values())


def _check(folder: RunFolder, preset: Preset, top: int) -> tuple[Plan, tuple[Hit, ...]]:
    """All cheap checks: the hits, their stored pictures, and that the model's answers on them are unchanged."""
    found = stored_hits(folder, "to confirm", top)
    manifest = folder.manifest
    if manifest.query.render.preset == preset.name:
        raise InputError(
            f"{folder.path} was searched at preset {preset.name} already; give another preset with --confirm"
        )
    check_free(folder.path)
    check_made_here(folder.path, manifest.query)
    plan = make_plan(manifest.query, Path(manifest.folder))
    model = {
        "model": model_fingerprint(plan.model_name, plan.bound),
        "probe_probabilities": probe_probabilities_of(plan.bound),
    }
    now = manifest.made.model_copy(update=model)
    if changed := differences(manifest.made, now):
        raise RunError(
            f"{folder.path} cannot be confirmed: {'; '.join(changed)}; restore that, or search anew"
        )
    if manifest.query.render.pictures == 1:  # the answers of a mean over draws are on no one picture
        for hit in found:
            _check_before(folder, plan, hit)
    plan.bound.log_probs(np.zeros((1, preset.height, preset.width, 3), np.float32))  # some take only one size
    return plan, found


def _check_before(folder: RunFolder, plan: Plan, found: Hit) -> None:
    """Raise RunError if the model's answers on the stored pictures differ from the recorded draws."""
    pixels, mask = read_picture(folder, found.record.picture)
    row = plan.bound.log_probs(images([Picture(pixels, mask, "")]))[0]
    off = largest_change(found.record.log_probs, row)
    if off > SAME:
        raise RunError(
            f"{folder.path}: the model's answers on the stored picture {found.record.picture[:8]} have changed since "
            f"the search (a probability by {off:.3g}); a comparison with another preset would mean nothing"
        )


def _begun(folder: RunFolder, preset: Preset, renderer: str, n: int) -> Confirmation:
    """The results of an earlier call; RunError if they come from another renderer or model."""
    model = folder.manifest.made.model
    old = read_confirmation(folder, preset.name)
    if old is not None and (old.renderer, old.model) != (renderer, model):
        raise RunError(
            f"{confirmation_path(folder, preset.name)} was made with renderer {old.renderer} and model {old.model}, "
            f"now they are {renderer} and {model}; restore those, or delete the file to start over"
        )
    make_folder(folder.path / FOLDER)
    size = (preset.width, preset.height)
    return Confirmation(preset.name, size, renderer, model, n, old.scenes if old else ())


def _look(plan: Plan, log_probs: Floats, picture: str) -> Look:
    return Look(
        picture=picture,
        answer=plan.bound.labels[int(log_probs.argmax())],
        confidence=plan.target.confidence(log_probs),
        is_hit=bool(plan.target.is_hit(log_probs)),
        log_probs=tuple(map(float, log_probs)),
    )
