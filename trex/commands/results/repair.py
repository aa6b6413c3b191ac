"""A repair in Python: what `trex.repair` and `trex.open_repair` give, and the steps, which the shell uses too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import TypeVar, cast

from trex.commands.parameters import in_keywords
from trex.commands.verb import with_options
from trex.foundation.errors import InputError, TrexError
from trex.foundation.files import from_here, path_of, read_text
from trex.foundation.progress import Progress
from trex.labelling.polls import of_known_truth, read_shown
from trex.labelling.votes import VOTES, read_tally, votes_csv
from trex.pages.display import display_if
from trex.repair.correct import correct_and_measure
from trex.repair.domain import Voters
from trex.repair.files import Found, Sources
from trex.repair.folder import RepairFolder, create
from trex.repair.folder import Step as StepName
from trex.repair.folder import open_repair as open_folder
from trex.repair.options import ProofOptions, StepOptions, VoteOptions
from trex.repair.report import PAGE, Results, read_results, write_report
from trex.repair.results import CorrectResult, DistillResult
from trex.repair.settings import (
    DecoderQuery,
    SceneQuery,
    chosen_table,
    repair_path,
    repair_query,
)
from trex.repair.steps import Folder, distill, domain_of, draw, identify, label, prepared
from trex.repair.votes_file import COMMITTEE, LIMIT, PEOPLE
from trex.runs.place import RUNS

REPAIRS = RUNS / "repair"  # where repairs are kept if nothing else is said
Given = str | PathLike[str]
ShowProgress = Callable[[Path], AbstractContextManager[Progress]]
Step = Callable[[Folder, object, Progress], object]
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Repair:
    """A repair in its folder, of a digit model or on rendered scenes; each step resumes, and a finished one is kept.

    `data` is the folder of a digit model's data set, None for the places in docs/how-to/digits.md; `processes` are
    Blender's. Ctrl-C raises KeyboardInterrupt and keeps what is done. A step raises InputError for settings or votes
    that cannot be used, RunError if the step before it is missing or the folder was changed.
    """

    path: Path
    data: Path | None = None
    processes: int | None = None
    shown: ShowProgress = field(default_factory=lambda: display_of(True))

    def __str__(self) -> str:
        """The sentences; why there are none, if no step is finished or the folder cannot be read."""
        try:
            return str(self.results)
        except TrexError as error:
            return str(error)

    def __repr__(self) -> str:
        try:
            finished = ", ".join(self.results.found)
        except TrexError:  # every other use says why
            return f"<Repair {from_here(self.path)}>"
        return f"<Repair {from_here(self.path)}: finished {finished}; print it for all>"

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
        """Whether the page claims that the model is repaired; docs/how-to/repair.md says what that takes."""
        return self.results.is_repaired

    def identify(self) -> Found:
        """Grow mistakes, or resume that; `repair` has done it already unless it was stopped."""
        self._carry_out(identify)
        return self.results.identify

    def distill(self) -> DistillResult:
        """Cluster the mistakes."""
        self._carry_out(distill, _after("identify"))
        return _found(self.results.distill)

    def pictures(self) -> Path:
        """The folder of the pictures to vote on, drawn if they are not there."""
        self._carry_out(lambda folder, loaded, progress: draw(folder, loaded), _after("distill"))
        with open_folder(self.path) as folder:
            return folder.require("pictures")

    @with_options(VoteOptions)
    def label(self, voters: str | None = None, **votes: object) -> Found:
        """Label the groups; rendered scenes are labelled by the truth, and take no votes."""
        return self.label_by(VoteOptions.checked(_given(voters=voters, **votes)))

    def label_by(self, votes: VoteOptions) -> Found:
        """The same, by checked options.

        Parameters
        ----------
        votes : VoteOptions
            The keywords of `label`. Example: VoteOptions(voters="committee").
        """
        self._carry_out(_label_step(votes), partial(_check_votes, votes))
        return _found(self.results.label)

    def correct(self) -> CorrectResult:
        """Fine-tune the model with every control, and judge all of it; of digit models, measure novelty too."""
        self._carry_out(correct_and_measure, _after("label"))
        return _found(self.results.correct)

    @with_options(ProofOptions)
    def prove(self, **of: object) -> Results:
        """What holds of a correction on scenes beyond its own tests, measured now or before (`results.proof`).

        Every model answers the questions about official pictures; each query is searched with the model before and with
        the corrected ones. InputError for a repair that is not on scenes, and for a folder, query or seed that cannot
        be used, RunError if the correction is not finished.
        """
        return self.prove_by(ProofOptions.checked(_given(**of)))

    def prove_by(self, options: ProofOptions) -> Results:
        """The same, by checked options.

        Parameters
        ----------
        options : ProofOptions
            The keywords of `prove`. Example: ProofOptions(queries=("demo",)).
        """
        from trex.commands.results.proof import prove_searches
        from trex.repair.scenes.official import prove_official

        with open_folder(self.path) as opened:
            if not isinstance(opened.query, SceneQuery):
                raise InputError(
                    f"{self.path} is no repair on rendered scenes; only those are proved by a new search"
                )
            folder = cast(RepairFolder[SceneQuery], opened)
            folder.require("correct")
            with self.shown(self.path) as progress:
                prepared(opened, self.data, self.processes)
                if options.dataset is not None:
                    prove_official(folder, options.dataset, progress)
                for query in options.queries:
                    prove_searches(folder, query, options.set, options.seeds, progress)
            return read_results(opened)

    def report(self) -> Path:
        """The path of `report.html`, written anew with `report.json` beside it."""
        self.document()
        return self.path / PAGE

    def document(self) -> dict[str, object]:
        """The same, and what the JSON file holds."""
        with open_folder(self.path) as folder:
            return write_report(folder)

    def _carry_out(self, step: Step, check: Callable[[Folder], object] | None = None) -> None:
        """A step, after a check that comes before data are loaded."""
        with open_folder(self.path) as folder:
            if check is not None:
                check(folder)
            with (
                self.shown(self.path) as progress,
                prepared(folder, self.data, self.processes)[1]() as loaded,
            ):
                step(folder, loaded, progress)


def open_repair(
    path: Given, *, data: Given | None = None, processes: int | None = None, progress: bool = True
) -> Repair:
    """The repair in a folder; InputError if there is none.

    Parameters
    ----------
    path : str or path
        The repair's folder. Example: "runs/repair/mnist".
    data : str or path, default None
        The folder of a digit model's data set; None for the places in docs/how-to/digits.md.
        Example: data="data/mnist".
    processes : int, default one per core, up to 4
        Blender processes. Example: processes=2.
    progress : bool, default True
        Show the progress of each step.
    """
    folder = path_of(path, 'the folder of a repair, such as "runs/repair/mnist"')
    place = None if data is None else path_of(data, 'the folder of a data set, such as "data/mnist"')
    repair = Repair(folder, place, processes, display_of(progress))
    open_folder(repair.path).close()
    return repair


def begun(repair: Repair, query: str, overrides: Sequence[str]) -> Repair:
    """The repair of a query with overrides KEY=VALUE, with its mistakes grown."""
    path = repair_path(query)
    text, table = chosen_table(path, overrides)
    wanted = repair_query(table, str(path))
    with repair.shown(repair.path) as progress:
        sources, opened = domain_of(wanted).prepare(wanted, repair.path, repair.data, repair.processes)
        with create(repair.path, text, wanted, sources, overrides) as folder, opened() as loaded:
            identify(folder, loaded, progress)
    return repair


def display_of(progress: bool) -> ShowProgress:
    """The display of a step in Python, whose errors name keywords; it shows nothing without `progress`."""

    @contextmanager
    def shown(place: Path) -> Iterator[Progress]:
        with in_keywords(StepOptions), display_if(progress) as display:
            yield saying(lambda: display.say(f"writing to {place}"), display.show)

    return shown


def saying(begin: Callable[[], None], show: Progress) -> Progress:
    """A step's progress, which says first where it writes: what fails before has written nothing.

    Parameters
    ----------
    begin : function
        Says it. Example: lambda: log.info("begun").
    show : Progress
        Shows the progress. Example: silent.
    """
    begin_once = cache(begin)

    def progress(step: str, done: int, total: int | None, /, *facts: str) -> None:
        begin_once()
        show(step, done, total, *facts)

    return progress


def _after(before: StepName) -> Callable[[Folder], Path]:
    return lambda folder: folder.require(before)


def _check_votes(votes: VoteOptions, folder: Folder) -> None:
    has_votes = votes.voters is not None or bool(votes.votes)
    if not isinstance(folder.query, SceneQuery):
        if not has_votes:
            raise InputError('give either voters, "committee" or "people", or votes, CSV files')
    elif has_votes or votes.without:
        raise of_known_truth(folder)
    folder.require("distill")


def _label_step(votes: VoteOptions) -> Step:
    voters, without = votes.voters, votes.without
    texts = {path: read_text(path, limit=LIMIT) for path in votes.votes}

    def run(folder: Folder, loaded: object, progress: Progress) -> None:
        if isinstance(folder.query, SceneQuery):
            return label(folder, loaded, progress)
        if voters == PEOPLE:
            draw(folder, loaded)
            texts[folder.path / VOTES] = votes_csv(read_tally(folder.path, read_shown(folder)))
        label(folder, loaded, progress, Voters(None if voters == COMMITTEE else texts, without))

    return run


def _found(result: R | None) -> R:
    """The result of a step that has just been carried out."""
    assert result is not None
    return result


def _given(**keywords: object) -> dict[str, object]:
    """The keywords that are not None."""
    return {name: value for name, value in keywords.items() if value is not None}
