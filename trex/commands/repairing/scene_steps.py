"""The steps of `trex repair` on rendered scenes: each is carried out as from Python, and tells its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trex.commands.repairing.step import progress_of
from trex.commands.shell.result import print_result

if TYPE_CHECKING:
    from trex.api.models.scene_repair import SceneRepair
    from trex.query.toml_file import Table


def is_scene_folder(place: Path) -> bool:
    """Whether the repair in a folder is one on rendered scenes; InputError if there is none."""
    from trex.repair.folder import table_of
    from trex.repair.scenes.settings import is_of_scenes

    return is_of_scenes(table_of(place))


def identify_scenes_step(place: Path, text: str, table: Table, processes: int | None, as_json: bool) -> None:
    """Begin or resume a repair, and carry out its first step."""
    from trex.api.models.scene_repair import begun_scenes
    from trex.repair.scenes.words import identified_words

    result = begun_scenes(place, text, table, progress_of, processes).identify()
    document = {"folder": str(place), **result.model_dump()}
    print_result(document, identified_words(result, place), as_json)


def distill_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Cluster the misread objects."""
    from trex.repair.scenes.words import distilled_words

    result = _repair(place, processes).distill()
    print_result({"folder": str(place), **result.model_dump()}, distilled_words(result, place), as_json)


def label_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Judge the components by the truth."""
    from trex.repair.scenes.words import labelled_words

    result = _repair(place, processes).label()
    print_result({"folder": str(place), **result.model_dump()}, labelled_words(result, place), as_json)


def correct_scenes_step(place: Path, processes: int | None, as_json: bool) -> None:
    """Tune the model and judge all of it."""
    from trex.repair.scenes.words import corrected_words

    result = _repair(place, processes).correct()
    print_result({"folder": str(place), **result.model_dump()}, corrected_words(result, place), as_json)


def prove_scenes_step(
    place: Path,
    dataset: Path | None,
    queries: Sequence[Path],
    overrides: Sequence[str],
    seeds: Sequence[int],
    as_json: bool,
) -> None:
    """Ask about official pictures, and search again."""
    from trex.repair.scenes.proof.words import proof_sentences

    found = _repair(place, None).proved(dataset, queries, overrides, seeds)
    document = {
        "folder": str(place),
        "official": [one.model_dump() for one in found.officials],
        "searches": [{**one.model_dump(), "verdict": one.verdict} for one in found.searches],
    }
    words = [*proof_sentences(found), f"next: trex repair report {place}"]
    print_result(document, "\n".join(words), as_json)


def report_scenes_step(place: Path, as_json: bool) -> None:
    """Write the page and the JSON file of all finished steps."""
    from trex.repair.page.report import DOCUMENT, PAGE

    document = _repair(place, None).document()
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {place / PAGE}\nJSON: {place / DOCUMENT}"
    print_result({"page": str(place / PAGE), **document}, f"{words}\n{files}", as_json)


def _repair(place: Path, processes: int | None) -> SceneRepair:
    from trex.api.models.scene_repair import SceneRepair

    return SceneRepair(place, progress_of, processes)
