"""The steps of `trex repair` on rendered scenes: each carries out its step and tells its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trex.cli.repairing.step import progress_of
from trex.cli.result import tell_result

if TYPE_CHECKING:
    from trex.query.toml_file import Table
    from trex.repair.loaded import Progress
    from trex.repair.scenes.loaded import SceneFolder, SceneLoaded

SceneStep = Callable[["SceneFolder", "SceneLoaded", "Progress"], None]


def is_scene_folder(place: Path) -> bool:
    """Whether the repair in a folder is one on rendered scenes; InputError if there is none."""
    from trex.repair.folder import table_of
    from trex.repair.scenes.settings import is_of_scenes

    return is_of_scenes(table_of(place))


def identify_scenes_step(place: Path, text: str, table: Table, processes: int | None, as_json: bool) -> None:
    """Begin or resume a repair, and carry out its first step."""
    from trex.repair.folder import begin_folder
    from trex.repair.records import read_record
    from trex.repair.scenes.identify import RESULT, SceneIdentifyResult, identify_scenes
    from trex.repair.scenes.loaded import SceneFolder, open_scenes, scene_sources
    from trex.repair.scenes.settings import scene_query
    from trex.repair.scenes.words import identified_words

    query = scene_query(table, str(place))
    sources = scene_sources(query)
    lock = begin_folder(place, text, sources)
    with SceneFolder(place, query, sources, lock) as folder:
        with open_scenes(query, place, processes) as loaded, progress_of(place) as progress:
            identify_scenes(folder, loaded, progress)
        result = read_record(SceneIdentifyResult, folder.require("identify") / RESULT)
    document = {"folder": str(place), **result.model_dump()}
    tell_result(document, identified_words(result, place), as_json)


def distill_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Cluster the misread objects."""
    from trex.repair.records import read_record
    from trex.repair.scenes.distill import RESULT, SceneDistillResult, distill_scenes
    from trex.repair.scenes.words import distilled_words

    with scene_step(place, distill_scenes, processes) as folder:
        result = read_record(SceneDistillResult, folder.require("distill") / RESULT)
    tell_result({"folder": str(place), **result.model_dump()}, distilled_words(result, place), as_json)


def label_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Judge the components by the truth."""
    from trex.repair.records import read_record
    from trex.repair.scenes.label import RESULT, SceneLabelResult, label_scenes
    from trex.repair.scenes.words import labelled_words

    with scene_step(place, label_scenes, processes) as folder:
        result = read_record(SceneLabelResult, folder.require("label") / RESULT)
    tell_result({"folder": str(place), **result.model_dump()}, labelled_words(result, place), as_json)


def correct_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Tune the model and judge all of it."""
    from trex.repair.records import read_record
    from trex.repair.scenes.correct import RESULT, correct_scenes
    from trex.repair.scenes.results import SceneCorrectResult
    from trex.repair.scenes.words import corrected_words

    with scene_step(place, correct_scenes, processes) as folder:
        result = read_record(SceneCorrectResult, folder.require("correct") / RESULT)
    tell_result({"folder": str(place), **result.model_dump()}, corrected_words(result, place), as_json)


def report_scenes_step(place: Path, as_json: bool) -> None:
    """Write the page and the JSON file of all finished steps."""
    from trex.repair.page.report import DOCUMENT, PAGE
    from trex.repair.scenes.loaded import open_scene_repair
    from trex.repair.scenes.page import write_scene_report

    with open_scene_repair(place) as folder:
        document = write_scene_report(folder)
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {place / PAGE}\nJSON: {place / DOCUMENT}"
    tell_result({"page": str(place / PAGE), **document}, f"{words}\n{files}", as_json)


@contextmanager
def scene_step(place: Path, run: SceneStep, processes: int | None) -> Iterator[SceneFolder]:
    """Carry out a step of the repair in this folder, which stays open inside."""
    from trex.repair.scenes.loaded import check_scene_sources, open_scene_repair, open_scenes

    typer.echo(f"writing to {place}", err=True)
    with open_scene_repair(place) as folder:
        check_scene_sources(folder.query, folder.sources, place)
        with open_scenes(folder.query, place, processes) as loaded, progress_of(place) as progress:
            run(folder, loaded, progress)
        yield folder
