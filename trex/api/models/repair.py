"""Repairs: `trex.begin_repair`, `trex.open_repair`, and the steps, which the command line carries out through here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

from trex.api.models.given import REPAIRS, Given, ShowProgress, display_of, overrides_of, path_of
from trex.foundation.errors import InputError
from trex.labelling.polls import read_shown
from trex.labelling.votes import VOTES, read_tally, votes_csv
from trex.repair import loaded as loading
from trex.repair.correction.results import CorrectResult
from trex.repair.distill import DistillResult, distill
from trex.repair.folder import RepairFolder, create
from trex.repair.folder import open_repair as open_folder
from trex.repair.identify import IdentifyResult, check_enough, identify
from trex.repair.label import LabelResult, label_by_committee, label_by_files, label_by_texts
from trex.repair.loaded import Loaded, Progress, check_sources
from trex.repair.novelty import NoveltyResult, correct_and_compare
from trex.repair.page.report import PAGE, write_report
from trex.repair.page.results import Results, read_results
from trex.repair.pictures import draw_pictures
from trex.repair.records import Sources
from trex.repair.scenes.settings import is_of_scenes
from trex.repair.settings import RepairQuery, chosen_table, repair_path, repair_query
from trex.repair.votes_file import COMMITTEE, PEOPLE, check_voters

Step = Callable[[RepairFolder, Loaded, Progress], None]
R = TypeVar("R")


@dataclass(frozen=True)
class Repair:
    """A repair of a digit model in its folder; each step resumes, and a finished one is not repeated.

    `data` is the folder of the data set, None for the places that docs/REPAIR.md names. Ctrl-C raises
    KeyboardInterrupt and keeps what is done. A step raises InputError for settings or votes that cannot be used,
    RunError if the step before it is missing or the folder was changed. `progress=False` displays nothing.
    """

    path: Path
    data: Path | None = None

    @property
    def query(self) -> RepairQuery:
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
    def is_mended(self) -> bool:
        """Whether the page claims that the model is mended; docs/REPAIR.md says what that takes."""
        return self.results.is_mended

    def identify(self, *, progress: bool = True) -> IdentifyResult:
        """Grow mistakes, or resume that; `begin_repair` has done it already unless it was stopped."""
        self._carry_out(identify, progress)
        return self.results.identify

    def distill(self, *, progress: bool = True) -> DistillResult:
        """Cluster the codes of the mistakes."""
        self._carry_out(distill, progress)
        return _found(self.results.distill)

    def pictures(self, *, progress: bool = True) -> Path:
        """The folder of the pictures to vote on, drawn if they are not there."""
        self._carry_out(label_step(None, (), ()), progress)
        with open_folder(self.path) as folder:
            return folder.require("pictures")

    def label(
        self, voters: str | None = None, *, votes: Given | Sequence[Given] | None = None, without: Sequence[str] = (),
        progress: bool = True,
    ) -> LabelResult:  # fmt: skip
        """Label the components: `voters` "committee" or "people" (the served page), or CSV files, one or several.

        `votes` names the files, `without` leaves out annotators by name.
        """
        if (voters is None) == (votes is None):
            raise InputError('give either voters, "committee" or "people", or votes, CSV files')
        if isinstance(without, str):
            raise InputError(f"without = {without!r} is one text; give a list of names")
        if voters == COMMITTEE and without:
            raise InputError("without leaves out annotators, and a committee has none; drop it")
        given = () if votes is None else (votes,) if isinstance(votes, str | PathLike) else tuple(votes)
        if votes is not None and not given:
            raise InputError("votes names no file; give one for each annotator")
        paths = tuple(Path(fspath(one)) for one in given)
        self._carry_out(label_step(voters, paths, tuple(without)), progress)
        return _found(self.results.label)

    def correct(self, *, progress: bool = True) -> CorrectResult:
        """Fine-tune the model with every control, and measure novelty."""
        self._carry_out(correct_and_compare, progress)
        return _found(self.results.correct)

    @property
    def novelty(self) -> NoveltyResult | None:
        """The distances to the nearest training pictures, which `correct` measures."""
        return self.results.novelty

    def report(self) -> Path:
        """The path of `report.html`, written anew with `report.json` beside it."""
        with open_folder(self.path) as folder:
            write_report(folder)
        return self.path / PAGE

    def _carry_out(self, run: Step, progress: bool) -> None:
        carried_out(self.path, self.data, run, display_of(progress)).close()


def begin_repair(
    query: Given, *, out: Given | None = None, data: Given | None = None,
    set: Mapping[str, object] | None = None, progress: bool = True,
) -> Repair:  # fmt: skip
    """Begin a repair and grow its mistakes, or resume that; docs/REPAIR.md has the steps that follow.

    `query` is a TOML file or the name of a shipped repair such as "mnist"; `set={"identify.noise": "printed"}` sets any
    key by its dotted name. `out` is the folder to write to, runs/repair/NAME if not given. Raises InputError before
    anything is written if a key, a model or the data cannot be used.
    """
    data_dir = path_of(data)
    with begun(fspath(query), overrides_of(set), path_of(out), data_dir, display_of(progress)) as folder:
        return Repair(folder.path, data_dir)


def open_repair(path: Given, *, data: Given | None = None) -> Repair:
    """The repair in a folder; InputError if there is none."""
    repair = Repair(Path(fspath(path)), path_of(data))
    open_folder(repair.path).close()
    return repair


def begun(
    query: str, overrides: Sequence[str], out: Path | None, data: Path | None, shown: ShowProgress
) -> RepairFolder:
    """The repair of a query, open, with its mistakes grown; `shown` gives the display of a folder's progress."""
    path = repair_path(query)
    text, table = chosen_table(path, overrides)
    if is_of_scenes(table):
        raise InputError(f"{query} is a repair on rendered scenes; from Python: trex.begin_scene_repair")
    wanted = repair_query(table, str(path))
    place = out or REPAIRS / path.stem
    with shown(place) as progress:
        loaded = loading.load(wanted, data)
        check_enough(wanted, loaded)
        folder = create(place, text, wanted, loaded.sources)
        return _done(folder, loaded, identify, progress)


def carried_out(place: Path, data: Path | None, run: Step, shown: ShowProgress) -> RepairFolder:
    """The repair in this folder, open, with a step carried out; models and data are loaded and checked before."""
    folder = open_folder(place)
    try:
        with shown(place) as progress:
            loaded = loading.load(folder.query, data)
            check_sources(loaded, folder.sources, place)
            return _done(folder, loaded, run, progress)
    except BaseException:
        folder.close()
        raise


def label_step(voters: str | None, votes: Sequence[Path], without: tuple[str, ...]) -> Step:
    """The step with these votes; without any, only the pictures are drawn. InputError for unknown voters."""
    if voters is not None:
        check_voters(voters)

    def run(opened: RepairFolder, loaded: Loaded, progress: Progress) -> None:
        if votes:
            label_by_files(opened, loaded, votes, without)
        elif voters == PEOPLE:
            served = votes_csv(read_tally(opened.path, read_shown(opened)))
            label_by_texts(opened, loaded, {opened.path / VOTES: served}, without)
        elif voters == COMMITTEE:
            label_by_committee(opened, loaded, progress)
        else:
            draw_pictures(opened, loaded)

    return run


def _done(folder: RepairFolder, loaded: Loaded, run: Step, progress: Progress) -> RepairFolder:
    try:
        run(folder, loaded, progress)
    except BaseException:
        folder.close()
        raise
    return folder


def _found(result: R | None) -> R:
    """The result of a step that has just been carried out."""
    assert result is not None
    return result
