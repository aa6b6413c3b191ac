"""`trex suite add`: keeps the wrong hits of runs, and the confirmed failures of audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trex.auditing.reporting.failures import is_audit
from trex.crosscheck.confirmation import Confirmation, read_confirmations
from trex.export.clevr import write_clevr
from trex.export.export import write_whole
from trex.export.items import Exported, ExportItem, read_items
from trex.foundation.errors import InputError
from trex.foundation.printable import escaped
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, check_free, open_run
from trex.scenes.questions.answers import is_same
from trex.scenes.questions.program_json import program_from_json, program_to_json
from trex.search.results import read_results
from trex.suite.add_audit import AuditSelection, add_failures, select_audit
from trex.suite.batch import BatchFile, BatchScene, read_batches
from trex.suite.sealing import NEW, Added, file_hashes, known_scenes, seal, sha256


@dataclass(frozen=True)
class _Selection:
    """A run, its wrong hits, each with the presets that confirm it, and the number left out.

    `groups` numbers groups of related hits, by picture.
    """

    run: Path
    exported: Exported
    hits: tuple[tuple[ExportItem, tuple[str, ...]], ...]
    left_out: int
    groups: Mapping[str, int]


def add_runs(runs: Sequence[Path], suite: Path, *, only_confirmed: bool = False) -> list[Added]:
    """Add the wrong hits of these runs, and the failures of audits, a new batch for each that has new ones.

    The same again adds nothing. All runs are read before anything is written; each batch reaches its place whole or not
    at all. A hit is left out if it is answered correctly at a preset at which it was confirmed and, with
    `only_confirmed`, if it never was.
    InputError if a run has no wrong hit, an audit no confirmed family, or a question a word that is not CLEVR's.
    """
    selections = [select_audit(run) if is_audit(run) else _select(run, only_confirmed) for run in runs]
    if suite.exists():
        read_batches(suite)
    check_free(suite)
    return [
        add_failures(selection, suite) if isinstance(selection, AuditSelection) else _add(selection, suite)
        for selection in selections
    ]


def _select(run: Path, only_confirmed: bool) -> _Selection:
    with open_run(run, for_writing=False) as folder:
        exported = read_items(folder, edits=False)
        confirmations, groups = read_confirmations(folder), _groups(folder)
    noise = exported.manifest.query.render.noise
    if noise > 1:
        raise InputError(
            f"{run} was searched with render.noise = {noise}: its answers are means over so many noise draws, and a "
            "suite asks about one picture; search with render.noise=1"
        )
    program = program_to_json(exported.manifest.question.program)
    program_from_json(program)  # a suite is read with CLEVR's words alone
    wrong = [
        item for item in exported.items if item.truth is not None and not is_same(item.answer, item.truth)
    ]
    if not wrong:
        problem = f"{run} has no hit with a wrong answer"
        raise InputError(f"{problem}; a suite keeps failures, so leave this run out")
    looks = [(item, _confirmed_at(item, confirmations)) for item in wrong]
    hits = tuple((item, at) for item, at in looks if at is not None and (at or not only_confirmed))
    return _Selection(run, exported, hits, len(wrong) - len(hits), groups)


def _groups(folder: RunFolder) -> dict[str, int]:
    """By picture, the cluster of a hit: hits of one family or one origin are related (`trex.search.families`)."""
    results = read_results(folder.manifest, run_draws(folder))
    clusters = results.families.clusters
    return {one.record.picture: cluster for one, cluster in zip(results.found, clusters, strict=True)}


def _confirmed_at(item: ExportItem, confirmations: Sequence[Confirmation]) -> tuple[str, ...] | None:
    """The presets at which the answer was still wrong; None if it was right at one."""
    seen = [(one.preset, scene) for one in confirmations if (scene := one.of(item.picture)) is not None]
    return tuple(preset for preset, _ in seen) if all(scene.is_wrong for _, scene in seen) else None


def _add(selection: _Selection, suite: Path) -> Added:
    """Write a batch of the scenes that no batch of the suite has."""
    known = known_scenes(suite)
    exported = selection.exported
    program = exported.manifest.question.program
    new = [hit for hit in selection.hits if (sha256(exported.picture(hit[0])[0]), program) not in known]
    place = None
    if new:
        hits = tuple((replace(item, index=index), at) for index, (item, at) in enumerate(new))
        place = write_whole(suite / NEW, lambda scratch: _fill(scratch, replace(selection, hits=hits)))
    return Added(selection.run, len(new), len(selection.hits) - len(new), selection.left_out, place)


def _fill(scratch: Path, selection: _Selection) -> str:
    """Write the batch; return its name."""
    manifest = selection.exported.manifest
    write_clevr(scratch, replace(selection.exported, items=tuple(item for item, _ in selection.hits)))
    program = tuple(program_to_json(manifest.question.program))
    content = BatchFile(
        run=escaped(selection.run.resolve().name),
        model=manifest.facts.model,
        scenes=tuple(
            BatchScene(
                item.name,
                str(item.truth),
                item.answer,
                item.confidence,
                at,
                manifest.question.text,
                program,
                selection.groups[item.picture],
            )
            for item, at in selection.hits
        ),
        files=file_hashes(scratch),
        weights=manifest.facts.weights,
    )
    return seal(scratch, content)
