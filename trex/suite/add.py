"""`trex suite add`: the wrong hits of runs and the confirmed failures of audits, each as a sealed batch of a suite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from trex.auditing.document import is_audit, opened_failure, read_failures
from trex.auditing.records import read_settings
from trex.auditing.work import MANIFEST
from trex.export.clevr import LaidOut, write_answers, write_split
from trex.export.export import write_whole
from trex.export.items import FOUND, ExportItem, answer_json, read_items
from trex.foundation.errors import InputError
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json
from trex.foundation.words import escaped, quoted
from trex.render.picture import Picture
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, check_free, open_run
from trex.runs.picture_files import to_png
from trex.runs.record import Record
from trex.scenes.clevr_format.scene_json import SceneRecord
from trex.scenes.questions.program_json import program_from_json, program_to_json
from trex.scenes.questions.programs import Program
from trex.scenes.questions.truth import is_wrong
from trex.scenes.scene import Scene, scene_id
from trex.search.results import read_results
from trex.suite.batch import BATCH, CODEC, BatchFile, BatchScene, batch_name, read_batches
from trex.suite.options import SuiteAddOptions
from trex.trials.confirmation import Confirmation, read_confirmations

NEW = "batch"  # the place beside which a batch is filled, before its content names it


@dataclass(frozen=True)
class AddedBatch:
    """What a run or an audit gave: scenes that are new, and known to the suite.

    `unconfirmed` were left out since a confirmation is right or missing. `batch` is the new folder, None if nothing was
    new.
    """

    run: Path
    new: int
    known: int
    unconfirmed: int
    batch: Path | None


@dataclass(frozen=True)
class _Failure:
    """A wrong answer as a batch keeps it, but for the name that its place there gives it, and its scene.

    `picture` gives the PNGs of picture and mask; `more` is what `model_answers.json` holds besides.
    """

    kept: BatchScene
    scene: Scene
    program: Program
    picture: Callable[[], tuple[bytes, bytes]]
    more: Json = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, Program]:
        """What makes it the same test again, as `Batch.identity`."""
        return _sha256(self.picture()[0]), self.program


@dataclass(frozen=True)
class _Source:
    """The failures of a model in a run or an audit, and how many were left out."""

    folder: Path
    model: str
    failures: tuple[_Failure, ...]
    left_out: int = 0
    weights: str = ""


def add_runs(options: SuiteAddOptions) -> list[AddedBatch]:
    """Add the wrong hits of these runs, and the failures of audits, a new batch for each that has new ones.

    The same again adds nothing. All runs are read before anything is written; each batch reaches its place whole or not
    at all. A hit is left out if it is answered correctly at a preset at which it was confirmed and, with
    `confirmed`, if it never was.
    InputError if a run has no wrong hit or, with `confirmed`, no confirmation, an audit no confirmed family, or a
    question a word that is not CLEVR's.
    """
    suite = options.to
    sources = [_audited(run) if is_audit(run) else _found(run, options.confirmed) for run in options.runs]
    if suite.exists():
        read_batches(suite)
    check_free(suite)
    return [_add(source, suite) for source in sources]


def _found(run: Path, only_confirmed: bool) -> _Source:
    """The wrong hits of a run."""
    with open_run(run, for_writing=False) as folder:
        exported = read_items(folder, edits=False)
        confirmations, groups = read_confirmations(folder), _groups(folder, run.resolve().name)
    manifest = exported.manifest
    render, program = manifest.query.render, manifest.question.program
    if render.pictures > 1:
        raise InputError(
            f"{run} was searched with {render.mean_words}: its answers are means over so many pictures, and a "
            "suite asks about one picture; search with render.noise=1 and render.views=1"
        )
    steps = tuple(program_to_json(program))
    program_from_json(list(steps))  # a suite is read with CLEVR's words alone
    wrong = [item for item in exported.items if is_wrong(item.answer, item.truth)]
    if not wrong:
        problem = f"{run} has no hit with a wrong answer"
        raise InputError(f"{problem}; a suite keeps failures, so leave this run out")
    if only_confirmed and not confirmations:
        raise InputError(
            f"{run} has no confirmation, and --confirmed keeps confirmed hits only; make one first: "
            f"trex report {quoted(run)} --confirm PRESET"
        )
    failures = []
    for item in wrong:
        looks = _confirmed_at(item, confirmations)
        if looks is not None and (looks or not only_confirmed):
            answer = (str(item.truth), item.answer, item.confidence, looks)
            kept = BatchScene("", *answer, manifest.question.text, steps, *groups[item.picture])
            picture = partial(exported.picture, item)
            failures.append(_Failure(kept, item.scene, program, picture, answer_json(manifest, item)))
    return _Source(
        run, manifest.facts.model, tuple(failures), len(wrong) - len(failures), manifest.facts.weights
    )


def _groups(folder: RunFolder, name: str) -> dict[str, tuple[int, str]]:
    """By picture, the cluster of a hit and the chain or prior scene that it comes from.

    Hits of one family or one origin are related (`trex.families.lineage`). The number of a cluster may change once the
    run has more hits; a chain and its run's name stay.
    """
    results = read_results(folder.manifest, run_draws(folder))
    return {
        hit.record.picture: (cluster, _origin(hit.record, name))
        for hit, cluster in zip(results.found, results.families.clusters, strict=True)
    }


def _origin(record: Record, name: str) -> str:
    if record.chain < 0:
        return _of_scene(record.scene)
    return f"run {escaped(name)} {record.phase} {record.chain}"


def _of_scene(scene: Scene) -> str:
    return f"scene {scene_id(scene)}"


def _confirmed_at(item: ExportItem, confirmations: Sequence[Confirmation]) -> tuple[str, ...] | None:
    """The presets at which the answer was still wrong; None if it was right at one."""
    seen = [
        (confirmation.preset, scene)
        for confirmation in confirmations
        if (scene := confirmation.of(item.picture)) is not None
    ]
    return tuple(preset for preset, _ in seen) if all(scene.is_wrong for _, scene in seen) else None


def _audited(folder: Path) -> _Source:
    """The failures of a finished audit, each once however many families it belongs to."""
    found = read_failures(folder)
    opened = [(failure, *opened_failure(folder, failure)) for failure in found.failures]
    if not opened:
        raise InputError(f"{folder} has no confirmed family; a suite keeps failures, so leave this audit out")
    different = list(
        {(scene, program): (failure, picture) for failure, scene, program, picture in opened}.items()
    )
    scenes = [scene_id(scene) for (scene, _), _ in different]
    failures = []
    for (scene, program), (failure, picture) in different:
        answer = (failure.truth, failure.said, failure.confidence, (found.look,))
        steps = tuple(program_to_json(program))
        group = scenes.index(scene_id(scene))  # questions about one scene are related
        kept = BatchScene("", *answer, failure.question, steps, group, _of_scene(scene))
        failures.append(_Failure(kept, scene, program, partial(_pngs, picture)))
    settings = read_settings(folder / MANIFEST, inside=folder)
    return _Source(folder, found.model, tuple(failures), weights=settings.weights if settings else "")


def _pngs(picture: Picture) -> tuple[bytes, bytes]:
    return to_png(picture.pixels), to_png(picture.mask)


def _add(source: _Source, suite: Path) -> AddedBatch:
    """Write a batch of the failures that no batch of the suite has."""
    batches = read_batches(suite) if suite.exists() else ()
    known = {batch.identity(scene): batch.key(scene) for batch in batches for scene in batch.content.scenes}
    new = [failure for failure in source.failures if failure.identity not in known]
    also = [known[failure.identity] for failure in source.failures if failure.identity in known]
    place = write_whole(suite / NEW, lambda scratch: _fill(scratch, source, new, also)) if new else None
    return AddedBatch(source.folder, len(new), len(source.failures) - len(new), source.left_out, place)


def _fill(scratch: Path, source: _Source, new: Sequence[_Failure], also: Sequence[str]) -> str:
    """Write the batch; return the name that it gets by its content."""
    scenes = [replace(failure.kept, name=f"CLEVR_{FOUND}_{k:06d}.png") for k, failure in enumerate(new)]
    laid_out = [
        LaidOut(
            SceneRecord(failure.scene, kept.name, index, FOUND),
            kept.question,
            failure.program,
            kept.truth,
            failure.picture,
        )
        for index, (kept, failure) in enumerate(zip(scenes, new, strict=True))
    ]
    write_split(scratch, FOUND, laid_out, "trex suite add")
    answers = [_answer(source.model, kept) for kept in scenes]
    write_answers(scratch, [failure.more | row for failure, row in zip(new, answers, strict=True)])
    paths = sorted(path for path in scratch.rglob("*") if path.is_file())
    content = BatchFile(
        run=escaped(source.folder.resolve().name),
        model=source.model,
        scenes=tuple(scenes),
        files={path.relative_to(scratch).as_posix(): _sha256(path.read_bytes()) for path in paths},
        weights=source.weights,
        also=tuple(also),
    )
    data = CODEC.text(content).encode()
    write_atomic(scratch / BATCH, data)
    return batch_name(data)


def _answer(model: str, kept: BatchScene) -> Json:
    return {
        "split": FOUND,
        "image_filename": kept.name,
        "model": model,
        "question": kept.question,
        "true_answer": kept.truth,
        "model_answer": kept.answer,
        "confidence": kept.confidence,
    }


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
