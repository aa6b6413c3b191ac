"""From a query file to a run folder with its report: searched, resumed, concluded."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from trex.finding.conclude import Outcome, conclude_run
from trex.finding.examine import After, examined
from trex.finding.source import QuerySource
from trex.foundation.errors import InputError, TrexError
from trex.foundation.words import differing_keys, quoted
from trex.inference.statistics.staying import PRIOR_DEVIATION
from trex.query.schema import ProgramStep, Query
from trex.query.target import given_target
from trex.query.toml_file import parse_query
from trex.report.report import write_report
from trex.runs.draw_log import read_draws
from trex.runs.folder import FINISHED, QUERY, RunFolder, check_out, create, is_run, open_run, restored
from trex.runs.journal import Journal
from trex.runs.manifest import PACKAGES, DamagedManifest, Manifest, RunFacts, versions
from trex.runs.open_world import open_world
from trex.runs.own_code import own_codes
from trex.runs.record import PRIOR
from trex.runs.sessions import session
from trex.runs.trust import record_made_here
from trex.search.engine import Engine, InProcess
from trex.search.lost_pictures import restore_pictures
from trex.search.progress import Status, Watcher
from trex.search.render_speed import measured
from trex.search.results import read_results
from trex.search.search import Search
from trex.worlds.costs import device_of, resolved_spread
from trex.worlds.fingerprint import weights_fingerprint
from trex.worlds.kernels import AUTO
from trex.worlds.latents import SCENES
from trex.worlds.recorded import WorldFacts
from trex.worlds.registry import is_shipped
from trex.worlds.world import OpenWorld, Plan

OnBegin = Callable[[Path], None]
FIRST_S = 10.0  # a search that is over by then has its whole page at once
SHARE = 0.05  # of the time that writing may take


def _has_run_of(run_dir: Path, plan: Plan) -> tuple[bool, str]:
    """Whether the run in this folder is one of this query, and if not, in which keys the queries differ."""
    found = open_run(run_dir, for_writing=False).manifest
    if found.query == plan.query:
        is_same = found.facts.cards == plan.cards
        return is_same, "" if is_same else "the shapes of scene.introduce"
    return False, differing_keys(_by_key(found.query), _by_key(plan.query))


def edited_note(folder: RunFolder) -> str:
    """Which keys of the run's `query.toml` were edited since and are not used, or what is wrong in it; "" if none were.

    Not those that the file leaves to the run: it has replaced them by values of its own. Nor any that the file does not
    state, if another version made the run: its default may have been another.
    """
    manifest, before = folder.manifest, _by_key(folder.manifest.query)
    place = folder.path / QUERY
    try:
        query = parse_query(folder.query_text, str(place), manifest.overrides)
    except TrexError as error:
        return f"{error}; the run keeps the query with which it began"
    now, left = _by_key(query), set[str]()
    if manifest.versions.get(PACKAGES[0]) != versions()[PACKAGES[0]]:
        left |= now.keys() - _by_key(query, is_stated=True).keys()
    left |= {key for key, each in now.items() if each in (None, "", AUTO)}
    if before["search.prior_scenes"] == before["search.bank"]:  # the whole bank is judged
        left.add("search.prior_scenes")
    if manifest.world.form is not SCENES:  # numbers of classes are names in the run
        left |= {"answer", "target.probabilities"}
    keys = differing_keys(
        *({key: each for key, each in of.items() if key not in left} for of in (before, now))
    )
    how = f"trex find {quoted(place)} --out ANOTHER_FOLDER"
    if any(name.endswith(".toml") for name in query.scene.introduce):  # cards are not copied to the run
        how = f"copy it to {quoted(Path(manifest.folder))}, where its shape cards are, and give that copy to trex find"
    return keys and (
        f"{place} was edited after the run began, in {keys}; the run keeps its query. To search with the edited one: "
        f"{how}"
    )


def _by_key(query: Query, *, is_stated: bool = False) -> dict[str, object]:
    """The values of a query by their keys, "search.seed" and the like; or only of those that it states."""
    found: dict[str, object] = {}
    for name, value in query.model_dump(exclude_unset=is_stated).items():
        section = {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {}
        found |= section or {name: value}
    return found


def find_query(
    source: QuerySource,
    run_dir: Path,
    progress: Watcher,
    on_begin: OnBegin,
    after: After | None = None,
) -> Outcome:
    """Run a query; calls `on_begin` with the run folder before anything is rendered.

    If `run_dir` already holds a run of the same query, that run is resumed. `after` is what follows the search.
    """
    plan = source.plan()
    try:
        _check_out(run_dir, source, plan)
    except InputError as error:  # looked at once: a run that another process begins later is in use
        if not is_run(run_dir):
            raise
        is_same, keys = _has_run_of(run_dir, plan)
        if not is_same:
            raise InputError(f"{error}; the queries differ in {keys}") from error
        return resume(run_dir, progress, on_begin, after)
    world = plan.open()
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(
                create(run_dir, source.text, manifest_of(world, source.path, source.overrides))
            )
            record_made_here(run_dir, plan.query)
            on_begin(run_dir)
            for note in plan.notes:
                progress.note(note)
            try:
                done = run_to_end(InProcess(world, folder), folder, progress, goes_on=after is not None)
            except InputError:  # the renderer rejects the query: without a draw, there is no run
                if folder.draws.stat().st_size == 0:
                    shutil.rmtree(run_dir, ignore_errors=True)
                raise
            return examined(folder, world, done, after)
        finally:
            world.close()


def _check_out(run_dir: Path, source: QuerySource, plan: Plan) -> None:
    """As `check_out`, once a damaged `run.json` of a run that this query began is written again."""
    try:
        check_out(run_dir)
    except DamagedManifest:
        with closing(plan.open()) as world:
            if not restored(run_dir, manifest_of(world, source.path, source.overrides)):
                raise
        check_out(run_dir)


def resume(path: Path, progress: Watcher, on_begin: OnBegin, after: After | None = None) -> Outcome:
    """Continue a run from its last draw; RunError if a draw is damaged, or if model or renderer have changed.

    Lost and damaged pictures of its hits are rendered again.
    """
    with open_run(path, for_writing=True) as folder:
        records = read_draws(folder.draws, folder.manifest)
        with open_world(folder) as world:
            on_begin(path)
            for note in filter(None, (edited_note(folder), *world.plan.notes)):
                progress.note(note)
            restore_pictures(folder, world, records)
            done = run_to_end(InProcess(world, folder), folder, progress, goes_on=after is not None)
            return examined(folder, world, done, after)


def run_to_end(engine: Engine, folder: RunFolder, progress: Watcher, *, goes_on: bool = False) -> Outcome:
    """Run the search of an open run folder on this engine to its end: draws, results, report.

    The report is there from the first find on. `goes_on` if it is written once more after this.
    """
    with Journal(folder) as journal:
        page = GrowingPage(folder, journal, progress)
        with session(folder.path, journal), measured(folder.manifest.query, journal):
            Search(folder, engine, journal, page).run()
        folder.write(FINISHED, f"{len(journal.records)} draws\n")
        return conclude_run(folder, journal.records, reloads=goes_on)


def manifest_of(world: OpenWorld, path: Path, overrides: Sequence[str]) -> Manifest:
    """The manifest of a new run folder."""
    plan = world.plan
    facts = RunFacts(
        question=plan.question.text,
        program=tuple(
            ProgramStep(function=step.function, inputs=step.inputs, value_inputs=step.value_inputs)
            for step in plan.question.program
        ),
        possible=plan.question.possible,
        model=plan.model_name,
        labels=plan.bound.labels,
        cards=plan.cards,
        size=world.size,
        trained_on=plan.trained_on,
        world=_world_facts(plan),
        weights=weights_fingerprint(plan.model_name, plan.bound),
        spread=resolved_spread(plan.query, device_of(world.made.renderer)),
        presumed=PRIOR_DEVIATION,
    )
    return Manifest(
        source=str(path),
        folder=str(path.parent.resolve()),
        overrides=tuple(overrides),
        query=plan.query,
        facts=facts,
        made=world.made,
        versions=versions()
        | given_target(plan.query.target, plan.target, len(plan.bound.labels))
        | own_codes(plan),
    ).read_by(plan.world)


def _world_facts(plan: Plan) -> WorldFacts | None:
    """The facts needed to read the draws of a user-defined world; None for a shipped world."""
    kind = plan.world
    if is_shipped(plan.query.generator.name):
        return None
    return WorldFacts(
        one=kind.noun.one, many=kind.noun.many, scope=kind.scope(plan.query), has_scenes=kind.form is SCENES
    )


class GrowingPage:
    """Follows a search for another watcher, and writes the run's page when the number of finds has changed.

    No draw depends on it: it reads what is on the disk.
    """

    def __init__(
        self,
        folder: RunFolder,
        journal: Journal,
        inner: Watcher,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._journal, self._inner, self._clock = folder, journal, inner, clock
        self._shown, self._next = 0, clock() + FIRST_S

    def update(self, status: Status) -> None:
        """Tell the other watcher, then write the page if it is time."""
        self._inner.update(status)
        began = self._clock()
        if status.found == self._shown or began < self._next or not self._journal.of(PRIOR):
            return
        results = read_results(self._folder.manifest, self._journal.records)
        write_report(self._folder, results, {}, reloads=True)
        ended = self._clock()
        self._shown, self._next = status.found, ended + (ended - began) / SHARE

    def note(self, words: str) -> None:
        """Tell the other watcher."""
        self._inner.note(words)
