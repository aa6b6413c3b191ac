"""`trex confirm`: renders the most confident hits of runs at another preset and scores them again, one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from trex.crosscheck.confirmation import (
    CODEC,
    FOLDER,
    Confirmation,
    Confirmed,
    Look,
    confirmation_path,
    read_confirmation,
)
from trex.crosscheck.hits import stored_hits
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import make_folder, write_atomic
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
from trex.worlds.fingerprint import model_fingerprint, probe_probabilities_of
from trex.worlds.latents import any_renderer
from trex.worlds.looks import deciding_scorer
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan, open_renderer

SAME = 1e-6  # allowed difference between two machines' log probabilities for the same picture


@dataclass(frozen=True)
class ConfirmOptions:
    """Preset, device, and the number of hits of each run, most confident first."""

    preset: str = "clevr"
    top: int = 20
    device: str = "auto"


class ConfirmProgress(Protocol):
    """Receives progress updates while hits are confirmed."""

    def begin(self, done: int, total: int) -> None:
        """Called at the start: `done` of all scenes exist already."""
        ...

    def done(self, run: Path, scene: Confirmed) -> None:
        """Called after each scene is rendered, scored and written."""
        ...


@dataclass(frozen=True)
class LookTask:
    """A run with the hits to confirm."""

    folder: RunFolder
    plan: Plan
    found: tuple[Hit, ...]
    renderer: SceneRenderer

    @property
    def pictures(self) -> tuple[str, ...]:
        """The names of the hits' pictures."""
        return tuple(found.record.picture for found in self.found)


def confirm(
    paths: Sequence[Path], options: ConfirmOptions, watcher: ConfirmProgress
) -> list[tuple[RunFolder, Confirmation]]:
    """Confirm the hits of each run; the first hit of every run comes before the second of any.

    Each hit is saved as soon as it is done and rendered only once, so the same command resumes after a kill. Raises
    RunError if a run has no hits, or if its model has changed.
    """
    preset = preset_named(options.preset)
    if options.top < 1:
        raise InputError(f"--top {options.top} is not possible; give 1 or more")
    section = RenderSection(preset=preset.name, device=options.device, processes=1)
    with ExitStack() as stack:
        folders = [stack.enter_context(open_run(path, for_writing=True)) for path in _different(paths)]
        checked = [_check(folder, preset, options.top) for folder in folders]
        tasks = []
        for folder, plan, found in checked:
            renderer = open_renderer(section, plan.vocabulary)
            stack.callback(renderer.close)
            tasks.append(LookTask(folder, plan, found, renderer))
        made = [_begun(task, preset) for task in tasks]
        _confirm_all(tasks, made, watcher)
        return [(task.folder, one.only(task.pictures)) for task, one in zip(tasks, made, strict=True)]


def _confirm_all(tasks: Sequence[LookTask], made: list[Confirmation], watcher: ConfirmProgress) -> None:
    """Confirm all hits; `made` grows scene by scene, in the order of `tasks`."""
    todo = [pair for pair in _in_turn(tasks) if made[pair[0]].of(pair[1].record.picture) is None]
    watcher.begin(sum(len(task.found) for task in tasks) - len(todo), sum(len(task.found) for task in tasks))
    for at, found in todo:
        task = tasks[at]
        scene = _again(task, found)
        made[at] = made[at].with_scene(scene)
        write_atomic(confirmation_path(task.folder, made[at].preset), CODEC.text(made[at]).encode())
        watcher.done(task.folder.path, scene)


def _in_turn(tasks: Sequence[LookTask]) -> Iterator[tuple[int, Hit]]:
    """The first hit of each run, then the second of each, with the index of the run."""
    for rank in range(max(len(task.found) for task in tasks)):
        for at, task in enumerate(tasks):
            if rank < len(task.found):
                yield at, task.found[rank]


def _different(paths: Sequence[Path]) -> list[Path]:
    """The paths of different runs, as given; of several paths of one run, the first."""
    different: dict[str, Path] = {}
    for path in paths:
        different.setdefault(os.path.realpath(path), path)
    return list(different.values())


def _check(folder: RunFolder, preset: Preset, top: int) -> tuple[RunFolder, Plan, tuple[Hit, ...]]:
    """All cheap checks: the hits, their stored pictures, and that the model's answers on them are unchanged."""
    found = stored_hits(folder, "to confirm", top)
    manifest = folder.manifest
    if manifest.query.render.preset == preset.name:
        raise InputError(
            f"{folder.path} was searched at preset {preset.name} already; give another with --preset"
        )
    check_free(folder.path)
    check_made_here(folder.path, manifest.query)
    plan = make_plan(manifest.query, Path(manifest.folder))
    asked = {
        "model": model_fingerprint(plan.model_name, plan.bound),
        "probe_probabilities": probe_probabilities_of(plan.bound),
    }
    now = manifest.made.model_copy(update=asked)
    if changed := differences(manifest.made, now):
        raise RunError(
            f"{folder.path} cannot be confirmed: {'; '.join(changed)}; restore that, or search anew"
        )
    if manifest.query.render.noise == 1:  # the answers of a mean over draws are on no one picture
        for one in found:
            _check_before(folder, plan, one)
    plan.bound.log_probs(np.zeros((1, preset.height, preset.width, 3), np.float32))  # some take only one size
    return folder, plan, found


def _check_before(folder: RunFolder, plan: Plan, found: Hit) -> None:
    """Raise RunError if the model's answers on the stored pictures differ from the recorded draws."""
    pixels, mask = read_picture(folder, found.record.picture)
    row = plan.bound.log_probs(images([Picture(pixels, mask, "")]))[0]
    off = float(np.abs(np.exp(row) - np.exp(np.array(found.record.log_probs))).max())
    if off > SAME:
        raise RunError(
            f"{folder.path}: the model's answers on the stored picture {found.record.picture[:8]} have changed since "
            f"the search (a probability by {off:.3g}); a comparison with another preset would mean nothing"
        )


def _begun(task: LookTask, preset: Preset) -> Confirmation:
    """The results of an earlier call; RunError if they come from another renderer or model."""
    folder, model = task.folder, task.folder.manifest.made.model
    size = (preset.width, preset.height)
    new = Confirmation(preset.name, size, task.renderer.key, model, asked=len(task.found))
    old = read_confirmation(folder, preset.name)
    if old is not None and (old.renderer, old.model) != (new.renderer, new.model):
        raise RunError(
            f"{confirmation_path(folder, preset.name)} was made with renderer {old.renderer} and model {old.model}, "
            f"now they are {new.renderer} and {new.model}; restore those, or delete the file to start over"
        )
    make_folder(folder.path / FOLDER)
    return replace(new, scenes=old.scenes) if old else new


def _again(task: LookTask, found: Hit) -> Confirmed:
    record = found.record
    renderer = any_renderer(task.renderer)
    (scored,) = deciding_scorer(task.plan.query.render, renderer, task.plan.bound).score([record.scene])
    picture = scored.picture
    assert isinstance(picture, Picture)
    return Confirmed(
        truth=found.known_truth,
        before=_look(task.plan, np.array(record.log_probs), record.picture),
        after=_look(task.plan, scored.log_probs, task.folder.save_picture(picture.pixels, picture.mask)),
    )


def _look(plan: Plan, log_probs: Floats, picture: str) -> Look:
    return Look(
        picture=picture,
        answer=plan.bound.labels[int(log_probs.argmax())],
        confidence=plan.target.confidence(log_probs),
        is_hit=bool(plan.target.is_hit(log_probs)),
        log_probs=tuple(map(float, log_probs)),
    )
