"""Repairs on rendered scenes: `trex.begin_scene_repair`, `open_scene_repair`, and the steps of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TypeVar

from trex.api.models.given import REPAIRS, Given, ShowProgress, display_of, overrides_of, path_of
from trex.api.models.scene_proof import prove_searches
from trex.foundation.errors import InputError
from trex.query.toml_file import Table
from trex.repair.folder import begin_folder, table_of
from trex.repair.loaded import Progress
from trex.repair.page.report import PAGE
from trex.repair.records import Sources
from trex.repair.scenes.correct import correct_scenes
from trex.repair.scenes.distill import SceneDistillResult, distill_scenes
from trex.repair.scenes.found import found_scenes, has_stored
from trex.repair.scenes.identify import SceneIdentifyResult, identify_scenes
from trex.repair.scenes.label import SceneLabelResult, label_scenes
from trex.repair.scenes.loaded import (
    SceneFolder,
    SceneLoaded,
    check_scene_sources,
    open_scene_folder,
    open_scenes,
    scene_sources,
)
from trex.repair.scenes.page import SceneResults, read_scene_results, write_scene_report
from trex.repair.scenes.proof.official import prove_official
from trex.repair.scenes.proof.records import Proof, read_proof
from trex.repair.scenes.results import SceneCorrectResult
from trex.repair.scenes.settings import SceneRepairQuery, is_of_scenes, scene_query
from trex.repair.settings import chosen_table, repair_path
from trex.scenes.vocabulary import CLEVR

Step = Callable[[SceneFolder, SceneLoaded, Progress], None]
R = TypeVar("R")


@dataclass(frozen=True)
class SceneRepair:
    """A repair on rendered scenes in its folder; each step resumes, and a finished one is not repeated.

    `processes` are Blender's. Ctrl-C raises KeyboardInterrupt and keeps what is done. A step raises InputError for
    settings that cannot be used, RunError if the step before it is missing or the folder was changed.
    """

    path: Path
    shown: ShowProgress
    processes: int | None = None

    @property
    def query(self) -> SceneRepairQuery:
        """The query with every default filled in, as `repair.toml` has it now."""
        with open_scene_folder(self.path) as folder:
            return folder.query

    @property
    def sources(self) -> Sources:
        """Model, with its hash, and looks."""
        with open_scene_folder(self.path) as folder:
            return folder.sources

    @property
    def results(self) -> SceneResults:
        """What the finished steps found: `identify`, `distill`, `label`, `correct`; None if not finished."""
        with open_scene_folder(self.path) as folder:
            return read_scene_results(folder)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the finished steps show, in words: the text that `trex repair report` prints."""
        return tuple(self.results.sentences)

    @property
    def is_mended(self) -> bool:
        """Whether the page claims that the model is mended; docs/REPAIR.md says what that takes."""
        return self.results.is_mended

    def identify(self) -> SceneIdentifyResult:
        """Find and grow mistakes, or resume that."""
        self._carry_out(identify_scenes)
        return self.results.identify

    def distill(self) -> SceneDistillResult:
        """Cluster the misread objects."""
        self._carry_out(distill_scenes)
        return _found(self.results.distill)

    def label(self) -> SceneLabelResult:
        """Judge the components by the truth of fresh scenes."""
        self._carry_out(label_scenes)
        return _found(self.results.label)

    def correct(self) -> SceneCorrectResult:
        """Tune the model with every control, and judge all of it."""
        self._carry_out(correct_scenes)
        return _found(self.results.correct)

    def prove(
        self,
        *,
        dataset: Given | None = None,
        queries: Sequence[Given] = (),
        set: Mapping[str, object] | None = None,
        seeds: Sequence[int] = (),
    ) -> Proof:
        """What holds of the correction beyond its own tests, measured now or before.

        `dataset` is a folder of official pictures in CLEVR's layout: every model answers its questions. Each of
        `queries` (TOML files) is searched with the model before and with the chosen model of each of `seeds` (of all,
        if none is given); `set` overrides keys of these queries. InputError for a folder, query or seed that cannot be
        used, RunError if the correction is not finished.
        """
        return self.proved(path_of(dataset), [Path(fspath(one)) for one in queries], overrides_of(set), seeds)

    def proved(
        self, dataset: Path | None, queries: Sequence[Path], overrides: Sequence[str], seeds: Sequence[int]
    ) -> Proof:
        """The same from the command line's arguments; overrides are KEY=VALUE."""
        with open_scene_folder(self.path) as folder, self.shown(self.path) as progress:
            check_scene_sources(folder.query, folder.sources, self.path)
            if dataset is not None:
                prove_official(folder, dataset, progress)
            for query in queries:
                prove_searches(folder, query, overrides, seeds, progress)
            return read_proof(folder)

    def report(self) -> Path:
        """The path of `report.html`, written anew with `report.json` beside it."""
        self.document()
        return self.path / PAGE

    def document(self) -> dict[str, object]:
        """The content of `report.json`, written with the page."""
        with open_scene_folder(self.path) as folder:
            return write_scene_report(folder)

    def _carry_out(self, run: Step) -> None:
        with open_scene_folder(self.path) as folder, self.shown(self.path) as progress:
            check_scene_sources(folder.query, folder.sources, self.path)
            with open_scenes(folder.query, self.path, self.processes) as loaded:
                run(folder, loaded, progress)


def begin_scene_repair(
    query: Given = "clevr", *, out: Given | None = None, set: Mapping[str, object] | None = None,
    processes: int | None = None, progress: bool = True,
) -> SceneRepair:  # fmt: skip
    """Begin a repair on rendered scenes and find its mistakes, or resume that.

    The keywords are those of `trex.begin_repair`; `processes` are Blender's. Raises InputError before anything is
    written if a key, the model or a look cannot be used.
    """
    path = repair_path(fspath(query))
    text, table = chosen_table(path, overrides_of(set))
    if not is_of_scenes(table):
        raise InputError(f"{query} is no repair on rendered scenes; from Python: trex.begin_repair")
    repair = begun_scenes(path_of(out) or REPAIRS / path.stem, text, table, display_of(progress), processes)
    repair.identify()
    return repair


def open_scene_repair(path: Given, *, processes: int | None = None, progress: bool = True) -> SceneRepair:
    """The repair on rendered scenes in a folder; InputError if there is none."""
    place = Path(fspath(path))
    if not is_of_scenes(table_of(place)):
        raise InputError(f"{place} is no repair on rendered scenes; from Python: trex.open_repair")
    return SceneRepair(place, display_of(progress), processes)


def begun_scenes(
    place: Path, text: str, table: Table, shown: ShowProgress, processes: int | None = None
) -> SceneRepair:
    """The repair of a query's text and table, begun if it is not there; its steps are still to be carried out."""
    query = scene_query(table, str(place))
    if not has_stored(place / "identify", query.identify.runs):
        found_scenes(query.identify.runs, CLEVR)  # errors before anything is written
    SceneFolder(place, query, sources := scene_sources(query), begin_folder(place, text, sources)).close()
    return SceneRepair(place, shown, processes)


def _found(result: R | None) -> R:
    """The result of a step that has just been carried out."""
    assert result is not None
    return result
