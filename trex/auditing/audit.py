"""An audit: a folder that holds what was asked and answered, from which the same command goes on after any stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.grouping.group import group
from trex.auditing.judging.by_question import Row, by_question
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import Finding, HeldOut, Share, belonging, covered, findings, held_out
from trex.auditing.judging.leanings import Leaning, leanings
from trex.auditing.judging.not_found import LookedFor, looked_for
from trex.auditing.judging.probe import Prober, probe_shares
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.lines import Lines
from trex.auditing.sweeping.records import (
    EXAMINED,
    PROBED,
    REMEDY,
    SETTINGS,
    TESTED,
    Examined,
    Probed,
    Settings,
    Tested,
)
from trex.auditing.sweeping.sweep import facts_again, sweep
from trex.bank.bank import bank_of
from trex.clevr_models.interface.bound import ClevrModel
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import make_folder, refuse_links, write_atomic
from trex.foundation.locked_folder import LOCK, lock_folder
from trex.query.schema import RenderSection
from trex.render.cache import CachedRenderer
from trex.render.renderer import SceneRenderer
from trex.scenes.conditions import Facts
from trex.scenes.prior import ScenePrior
from trex.worlds.world import open_renderer

MANIFEST, SWEPT, TESTS, PICTURES = "audit.json", "swept.jsonl", "tested.jsonl", "pictures"
PROBES = "probed.jsonl"
Tell = Callable[[str, int, int], None]  # step, done, of


@dataclass(frozen=True)
class Audit:
    """A finished audit; `coverage` is the share of the held-out confident mistakes in confirmed families."""

    folder: Path
    settings: Settings
    findings: tuple[Finding, ...]
    by_question: tuple[Row, ...]
    coverage: Share
    rest: Sequence[tuple[Facts, Examined]]  # the held-out scenes
    asker: Asker
    looked_for: LookedFor  # kinds of confident mistakes, and those that no held-out scene shows
    probes: Mapping[
        int, Mapping[str, Share]
    ]  # by family and way, of scenes like its failures those that fail too
    leanings: tuple[Leaning, ...]  # to kinds of confident mistakes that no scene shows

    @property
    def scenes(self) -> dict[int, Facts]:
        """The held-out scenes, by number."""
        return {one.scene: known for known, one in self.rest}

    @property
    def confirmed(self) -> tuple[Finding, ...]:
        """The families that were confirmed in held-out scenes."""
        return tuple(one for one in self.findings if one.is_confirmed)


def audit(
    model: ClevrModel,
    settings: Settings,
    prior: ScenePrior,
    folder: Path,
    bank_folder: Path | None = None,
    processes: int | None = None,
    tell: Tell = lambda step, done, of: None,
    probed: int = 0,
) -> Audit:
    """Audit a model, or go on with an audit that was stopped; a finished one is only read.

    `probed` scenes like the failures of each confirmed family are made in each way; more can be asked for later.
    InputError if the folder holds anything else, or an audit with other settings.
    """
    lock = _open(folder, settings)
    try:
        return _carried_out(model, settings, prior, folder, bank_folder, processes, tell, probed)
    finally:
        os.close(lock)


def _open(folder: Path, settings: Settings) -> int:
    known = SETTINGS.read(folder / MANIFEST, REMEDY) if folder.is_dir() else None
    if known is not None and known != settings:
        differing = ", ".join(name for name, value in vars(settings).items() if getattr(known, name) != value)
        raise InputError(f"{folder} holds an audit with other settings ({differing}); choose another --out")
    if known is None and folder.exists() and not (folder.is_dir() and _begun_only(folder)):
        raise InputError(f"{folder} exists and holds no audit; choose another folder with --out")
    make_folder(folder)
    refuse_links(folder)
    lock = lock_folder(folder, RunError(f"another process audits into {folder}; wait for it or stop it"))
    if known is None:
        write_atomic(folder / MANIFEST, SETTINGS.text(settings).encode())
    return lock


def _begun_only(folder: Path) -> bool:
    return {entry.name for entry in folder.iterdir()} <= {LOCK}


def _carried_out(
    model: ClevrModel,
    settings: Settings,
    prior: ScenePrior,
    folder: Path,
    bank_folder: Path | None,
    processes: int | None,
    tell: Tell,
    probed: int,
) -> Audit:
    asker = Asker(model, prior.vocabulary, settings.questions, settings.seed, settings.sure)
    total = settings.scenes + settings.held_out
    section = RenderSection(preset=settings.look, processes=processes)
    with Lines(folder / SWEPT, EXAMINED) as log, bank_of(prior, section, bank_folder) as bank:
        sweep(bank, asker, log, total, lambda done, of: tell("scenes", done, of))
        examined = log.values[:total]
        facts = facts_again(bank.scenes(range(total)), examined)
    rows = list(zip(facts, examined, strict=True))
    swept, rest = rows[: settings.scenes], rows[settings.scenes :]
    tell("rules", 0, 1)
    families = group([one for _, one in swept], [one for one, _ in swept], asker)
    seen = [held_out(family, rest, asker) for family in families]
    owners = belonging(families, rest, asker)
    scenes = {one.scene: known for known, one in rest}
    renderer = _renderer(settings, prior, folder, processes)
    try:
        tested = _tested(folder, renderer, asker, seen, settings.tested, tell)
        found = findings(seen, tested, owners, settings.severity)
        chosen = [one for one in found if one.is_confirmed]
        probes = _probes(folder, Prober(renderer, asker, probed), chosen, scenes, tell)
    finally:
        renderer.close()
    return Audit(
        folder,
        settings,
        tuple(found),
        tuple(by_question([one for _, one in rows])),
        covered(owners, {one.number for one in chosen}),
        rest,
        asker,
        looked_for(rest),
        {one.number: probe_shares([row for row in probes if row.family == one.number]) for one in chosen},
        leanings(rows, asker),
    )


def _tested(
    folder: Path, renderer: SceneRenderer, asker: Asker, seen: Sequence[HeldOut], most: int, tell: Tell
) -> list[Tested]:
    """Failures of each family at the deciding look, at most so many."""
    with Lines(folder / TESTS, TESTED) as log:
        for number, one in enumerate(seen):
            tell("families", number, len(seen))
            Confirmer(renderer, asker).confirm(number, one.family, one.failures[:most], log)
        return list(log.values)


def _probes(
    folder: Path, prober: Prober, chosen: Sequence[Finding], scenes: Mapping[int, Facts], tell: Tell
) -> list[Probed]:
    """Scenes like the failures of each family, with all that earlier calls made."""
    with Lines(folder / PROBES, PROBED) as log:
        for number, one in enumerate(chosen):
            tell("probes", number, len(chosen))
            members = [(row.scene, scenes[row.scene].scene) for row in one.stayed]
            prober.probe(one.number, one.family, members, log)
        return list(log.values)


def _renderer(settings: Settings, prior: ScenePrior, folder: Path, processes: int | None) -> SceneRenderer:
    section = RenderSection(preset=settings.deciding, processes=processes)
    return CachedRenderer(open_renderer(section, prior.vocabulary, processes), folder / PICTURES)
