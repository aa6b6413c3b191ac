"""Repairs: `trex.begin_repair`, `trex.open_repair`, and the steps, which the command line carries out through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar, cast

from trex.foundation.errors import InputError
from trex.foundation.files import read_text
from trex.foundation.progress import Progress
from trex.labelling.polls import read_shown
from trex.labelling.votes import VOTES, read_tally, votes_csv
from trex.pages.display import display_if
from trex.query.toml_text import toml_value
from trex.repair.correct import correct_and_measure
from trex.repair.domain import Voters, domain_of, prepared
from trex.repair.files import Found, Sources
from trex.repair.folder import RepairFolder, create
from trex.repair.folder import open_repair as open_folder
from trex.repair.report import PAGE, Results, read_results, write_report
from trex.repair.results import CorrectResult, DistillResult
from trex.repair.settings import (
    DecoderQuery,
    SceneQuery,
    chosen_table,
    repair_path,
    repair_query,
)
from trex.repair.steps import Folder, distill, draw, identify, label
from trex.repair.votes_file import COMMITTEE, LIMIT, PEOPLE, check_voters
from trex.runs.place import RUNS

REPAIRS = RUNS / "repair"  # where repairs are kept if nothing else is said
Given = str | PathLike[str]
ShowProgress = Callable[[Path], AbstractContextManager[Progress]]
Step = Callable[[Folder, object, Progress], object]
R = TypeVar("R")


@dataclass(frozen=True)
class Repair:
    """A repair in its folder, of a digit model or on rendered scenes; each step resumes, and a finished one is kept.

    `data` is the folder of a digit model's data set, None for the places that docs/REPAIR.md names; `processes` are
    Blender's. Ctrl-C raises KeyboardInterrupt and keeps what is done. A step raises InputError for settings or votes
    that cannot be used, RunError if the step before it is missing or the folder was changed.
    """

    path: Path
    data: Path | None = None
    processes: int | None = None
    shown: ShowProgress = field(default_factory=lambda: display_of(True), repr=False)

    @property
    def query(self) -> DecoderQuery | SceneQuery:
        """The query with every default filled in, as `repair.toml` has it now."""
        with open_folder(self.path) as folder:
            return folder.query

    @property
    def sources(self) -> Sources:
        """Names and hashes of generator, model and data."""
        with open_folder(self.path) as folder:
            return folder.sources

    @property
    def results(self) -> Results:
        """What the finished steps found: `identify`, `distill`, `label`, `correct`, `novelty`; None if not finished."""
        with open_folder(self.path) as folder:
            return read_results(folder)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the finished steps show, in words: the text that `trex repair report` prints."""
        return tuple(self.results.sentences)

    @property
    def is_repaired(self) -> bool:
        """Whether the page claims that the model is repaired; docs/REPAIR.md says what that takes."""
        return self.results.is_repaired

    def identify(self) -> Found:
        """Grow mistakes, or resume that; `begin_repair` has done it already unless it was stopped."""
        self._carry_out(identify)
        return self.results.identify

    def distill(self) -> DistillResult:
        """Cluster the mistakes."""
        self._carry_out(distill)
        return _found(self.results.distill)

    def pictures(self) -> Path:
        """The folder of the pictures to vote on, drawn if they are not there."""
        self._carry_out(lambda folder, loaded, progress: draw(folder, loaded))
        with open_folder(self.path) as folder:
            return folder.require("pictures")

    def label(
        self, voters: str | None = None, *, votes: Given | Sequence[Given] | None = None, without: Sequence[str] = (),
    ) -> Found:  # fmt: skip
        """Label the components: `voters` "committee" or "people" (the served page), or CSV files, one or several.

        `votes` names the files, `without` leaves out annotators by name. Rendered scenes are labelled by the truth, and
        take none of these.
        """
        self._carry_out(_label_step(voters, votes, without))
        return _found(self.results.label)

    def correct(self) -> CorrectResult:
        """Fine-tune the model with every control, and judge all of it; of digit models, measure novelty too."""
        self._carry_out(correct_and_measure)
        return _found(self.results.correct)

    def prove(
        self,
        *,
        dataset: Given | None = None,
        queries: Sequence[Given] = (),
        set: Mapping[str, object] | Sequence[str] | None = None,
        seeds: Sequence[int] = (),
    ) -> Results:
        """What holds of a correction on scenes beyond its own tests, measured now or before (`results.proof`).

        `dataset` is a folder of official pictures in CLEVR's layout: every model answers its questions. Each of
        `queries` (TOML files) is searched with the model before and with the chosen model of each of `seeds` (of all,
        if none is given); `set` overrides keys of these queries. InputError for a repair that is not on scenes, and for
        a folder, query or seed that cannot be used, RunError if the correction is not finished.
        """
        from trex.commands.results.proof import prove_searches
        from trex.repair.scenes.official import prove_official

        with open_folder(self.path) as opened:
            if not isinstance(opened.query, SceneQuery):
                raise InputError(
                    f"{self.path} is no repair on rendered scenes; only those are proved by a new search"
                )
            folder = cast(RepairFolder[SceneQuery], opened)
            with self.shown(self.path) as progress:
                prepared(opened, self.data, self.processes)
                if dataset is not None:
                    prove_official(folder, Path(fspath(dataset)), progress)
                for query in queries:
                    prove_searches(folder, Path(fspath(query)), overrides_of(set), seeds, progress)
            return read_results(opened)

    def report(self) -> Path:
        """The path of `report.html`, written anew with `report.json` beside it."""
        self.document()
        return self.path / PAGE

    def document(self) -> dict[str, object]:
        """The same, and what the JSON file holds."""
        with open_folder(self.path) as folder:
            return write_report(folder)

    def _carry_out(self, step: Step) -> None:
        with (
            open_folder(self.path) as folder,
            self.shown(self.path) as progress,
            prepared(folder, self.data, self.processes).open() as loaded,
        ):
            step(folder, loaded, progress)


def begin_repair(
    query: Given, *, out: Given | None = None, data: Given | None = None, set: Mapping[str, object] | None = None,
    processes: int | None = None, progress: bool = True,
) -> Repair:  # fmt: skip
    """Begin a repair and grow its mistakes, or resume that; docs/REPAIR.md has the steps that follow.

    `query` is a TOML file or the name of a shipped repair such as "mnist" or "clevr" (rendered scenes);
    `set={"identify.noise": "printed"}` sets any key by its dotted name. `out` is the folder to write to,
    runs/repair/NAME if not given; without `progress` nothing is displayed. Raises InputError before anything is written
    if a key, a model or the data cannot be used.
    """
    repair = Repair(
        Path(fspath(out)) if out is not None else REPAIRS / repair_path(fspath(query)).stem,
        None if data is None else Path(fspath(data)),
        processes,
        display_of(progress),
    )
    return begun(repair, query, overrides_of(set))


def open_repair(
    path: Given, *, data: Given | None = None, processes: int | None = None, progress: bool = True
) -> Repair:
    """The repair in a folder; InputError if there is none."""
    repair = Repair(
        Path(fspath(path)), None if data is None else Path(fspath(data)), processes, display_of(progress)
    )
    open_folder(repair.path).close()
    return repair


def begun(repair: Repair, query: Given, overrides: Sequence[str]) -> Repair:
    """The repair of a query with overrides KEY=VALUE, with its mistakes grown."""
    path = repair_path(fspath(query))
    text, table = chosen_table(path, overrides)
    wanted = repair_query(table, str(path))
    with repair.shown(repair.path) as progress:
        found = domain_of(wanted).prepare(wanted, repair.path, repair.data, repair.processes)
        with create(repair.path, text, wanted, found.sources) as folder, found.open() as loaded:
            identify(folder, loaded, progress)
    return repair


def overrides_of(given: Mapping[str, object] | Sequence[str] | None) -> list[str]:
    """KEY=VALUE for each key of `set`, or as the command line gives them; InputError for anything else."""
    if isinstance(given, list | tuple):
        return [str(each) for each in given]
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise InputError('set is not a mapping of keys; write e.g. set={"identify.noise": "printed"}')
    return [f"{key}={toml_value(key, value)}" for key, value in (given or {}).items()]


def display_of(progress: bool) -> ShowProgress:
    """The display of a step, which says first where it writes; nothing without `progress`."""

    @contextmanager
    def shown(place: Path) -> Iterator[Progress]:
        with display_if(progress) as display:
            display.say(f"writing to {place}")
            yield display.show

    return shown


def _label_step(voters: str | None, votes: Given | Sequence[Given] | None, without: Sequence[str]) -> Step:
    """The step with these votes; InputError for some that exclude each other."""
    if isinstance(without, str):
        raise InputError(f"without = {without!r} is one text; give a list of names")
    if voters is not None:
        check_voters(voters)
    if voters == COMMITTEE and without:
        raise InputError("without leaves out annotators, and a committee has none; drop it")
    given = () if votes is None else (votes,) if isinstance(votes, str | PathLike) else tuple(votes)
    if votes is not None and not given:
        raise InputError("votes names no file; give one for each annotator")
    texts = {Path(fspath(each)): read_text(Path(fspath(each)), limit=LIMIT) for each in given}

    def run(folder: Folder, loaded: object, progress: Progress) -> None:
        if isinstance(folder.query, SceneQuery):
            if voters is not None or texts or without:
                raise InputError("for rendered scenes the truth is known, so a repair on them takes no votes")
            return label(folder, loaded, progress)
        if (voters is None) == (not texts):
            raise InputError('give either voters, "committee" or "people", or votes, CSV files')
        if voters == PEOPLE:
            draw(folder, loaded)
            texts[folder.path / VOTES] = votes_csv(read_tally(folder.path, read_shown(folder)))
        label(folder, loaded, progress, Voters(None if voters == COMMITTEE else texts, tuple(without)))

    return run


def _found(result: R | None) -> R:
    """The result of a step that has just been carried out."""
    assert result is not None
    return result
