"""The contact sheet, small and without pictures of a data set; accuracies of cards; marks in record and list."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reproduce.experiments.experiment import CellResult, Outcome, run_experiment
from reproduce.experiments.figures import has_violins, latent_groups
from reproduce.experiments.page import write_page
from reproduce.experiments.record import (
    CellRecord,
    ModelAccuracy,
    _recorded_accuracy,
    accuracy_of,
    read_outcome,
)
from reproduce.experiments.record import TestSetCounts as Counts  # pytest collects names that begin with Test
from reproduce.experiments.test_set import TEST_SET
from reproduce.paper.agreement import compared
from reproduce.paper.paper import compare_all, markdown
from reproduce.paper.paper_file import Item, Paper
from reproduce.sheet.canvas import LIMIT, packed
from reproduce.sheet.sheet import SHEET, panels, write_sheet
from tests.worlds.mnist_worlds import N_TEST, write_data
from trex.labelling.polls import marking, write_marks
from trex.labelling.votes import Vote, VoteLog
from trex.mnist_models.load import SHIPPED, weights_path
from trex.pages.figures import COLORS, INK
from trex.pages.thumbnails import light_url
from trex.search.progress import Silent
from trex.trials.baseline.baseline import MarkCounts
from trex.trials.baseline.files import read_stored

QUERY = """
answer = "7"

[generator]
name = "mnist-vae"

[target]
kind = "threshold"
threshold = 0.5
"""
EXPERIMENT = """
title = "Digits"
source = "nobody"
form = "matrix"
query = "query.toml"
pairs = ["1", "7"]
latents = ["sure"]
cells = [
  { name = "sure", set = { "target.kind" = "threshold", "target.threshold" = 0.3, "answer" = "1" } },
  { name = "lost", set = { "target.kind" = "threshold", "target.threshold" = 0.999999999, "answer" = "1" } },
]

[set]
"target.kind" = "ambiguous"
"search.prior_scenes" = 40
"search.steps" = 0
"""
WHITE = light_url(np.full((28, 28, 1), 255, np.uint8))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    place = tmp_path_factory.mktemp("sheet")
    (place / "query.toml").write_text(QUERY.replace("threshold = 0.5", ""), "utf-8")
    (place / "digits.toml").write_text(EXPERIMENT, "utf-8")
    return carried_out(place, write_data(place / "data"))


def carried_out(place: Path, data: Path) -> Outcome:
    name = str(place / "digits.toml")
    return run_experiment(
        name, (), (), place / "digits", lambda _: Silent(), lambda *_: None, lambda _: None, data
    )


def drawn(outcome: Outcome) -> list[bytes]:
    return [panel.tobytes() for panel in panels(outcome)]


def changed(outcome: Outcome, change: Callable[[CellResult], CellResult]) -> Outcome:
    return replace(outcome, results=tuple(map(change, outcome.results)))


def with_white_test_pictures(result: CellResult) -> CellResult:
    return replace(result, test_picture=WHITE)


def with_white_pictures(result: CellResult) -> CellResult:
    return replace(result, pictures=(WHITE,))


def test_a_sheet_is_written_within_its_limit(outcome: Outcome) -> None:
    write_page(outcome, ())
    data = (outcome.folder / SHEET).read_bytes()
    assert 0 < len(data) <= LIMIT
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "WEBP" and image.width <= 800


@pytest.mark.parametrize("limit", [60_000, 5_000])
def test_noise_is_packed_at_a_lower_quality_and_then_smaller(limit: int) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (700, 700, 3)).astype(np.uint8))
    data = packed(noise, limit)
    with Image.open(io.BytesIO(data)) as image:
        assert len(data) <= limit and image.width <= 700


@pytest.mark.parametrize("form", ["matrix", "strip", "table"])
def test_no_picture_of_the_test_set_is_on_the_sheet(outcome: Outcome, form: str) -> None:
    """Other pictures of the test set change nothing. Planted bug: pictures of the sampler do."""
    pairs = outcome.experiment.pairs if form == "matrix" else ()
    shaped = replace(outcome, experiment=outcome.experiment.model_copy(update={"form": form, "pairs": pairs}))
    before = drawn(shaped)
    assert drawn(changed(shaped, with_white_test_pictures)) == before
    if form != "matrix":  # in which no pair is found here
        assert drawn(changed(shaped, with_white_pictures))[0] != before[0]


def test_a_level_set_that_was_not_found_has_no_violins_and_no_latents(outcome: Outcome) -> None:
    """Its draws are prior draws far outside of it, however many of them there are. Planted bug: those were drawn."""
    sure = outcome.results[0]
    lost = replace(sure, results=replace(sure.results, found=()))
    assert has_violins(sure) and not has_violins(lost)
    assert "level set" in {group.name for group in latent_groups(sure, COLORS, INK)}
    assert "level set" not in {group.name for group in latent_groups(lost, COLORS, INK)}


def test_the_matrix_of_the_test_set_is_a_file_of_its_own(outcome: Outcome) -> None:
    write_sheet(outcome)
    before = (outcome.folder / TEST_SET / SHEET).read_bytes()
    hit = read_stored(outcome.folder / TEST_SET).baselines[0]
    write_sheet(changed(outcome, lambda result: replace(result, test_picture=WHITE, test_set=hit)))
    assert (outcome.folder / TEST_SET / SHEET).read_bytes() != before
    write_sheet(outcome)


def test_marks_of_the_test_set_reach_record_and_table(outcome: Outcome) -> None:
    """They outlive the same command again, which scores the pictures anew."""
    place = outcome.folder / TEST_SET
    with marking(place) as found:
        log = VoteLog(found.place, found.shown)
        first = next(iter(found.shown.pictures))
        log.append(Vote(annotator="Ada", picture=first, label="mislabelled"))
        log.close()
        write_marks(found)
    again = carried_out(outcome.folder.parent, outcome.folder.parent / "data")
    record = write_page(again, ())
    counts = record.cells[0].test_set
    assert counts is not None and counts.marks is not None and counts.marks.mislabelled == 1
    assert counts.marks.unmarked == counts.mistakes - 1 and counts.examined == N_TEST
    assert "1 with a wrong label" in (outcome.folder / "experiment.md").read_text()
    assert read_outcome(outcome.folder) == record
    assert f"trex label {place} --serve" in (outcome.folder / "experiment.html").read_text()


def test_a_record_names_no_folder_of_this_machine(outcome: Outcome) -> None:
    """Records are published. The page, which stays here, gives the command that runs here."""
    record = write_page(outcome, ())
    assert record.command.endswith("--dataset DIR")
    assert str(outcome.folder.parent) not in (outcome.folder / "experiment.json").read_text()
    assert str(outcome.dataset).startswith(str(outcome.folder.parent)) and "/" in outcome.name
    assert f"--dataset {outcome.dataset}" in (outcome.folder / "experiment.html").read_text()


def test_the_accuracy_is_that_of_the_card_of_the_weights_of_the_run(outcome: Outcome) -> None:
    card = json.loads((SHIPPED / "mnist-classifier.json").read_text())
    manifest = outcome.results[0].manifest
    right = card["figures"]["right"]
    assert accuracy_of(manifest) == ModelAccuracy("mnist-classifier", "test", right, 10_000)
    record = write_page(outcome, ())
    assert [accuracy.right for accuracy in record.accuracies] == [right]
    assert "mnist-classifier is right on 9917 of 10000" in (outcome.folder / "experiment.html").read_text()
    other = manifest.made.model_copy(update={"model": "mnist-classifier 0000000000000000"})
    assert accuracy_of(manifest.model_copy(update={"made": other})) is None  # planted: trained anew since


@pytest.mark.parametrize(
    "figures",
    [None, {}, {"split": "test", "right": 3}, {"split": "test", "right": 3, "n": 2}, {"right": 1, "n": 2}],
)
def test_a_card_without_an_accuracy_gives_none(figures: object) -> None:
    assert weights_path("mnist-vae").is_file()
    assert _recorded_accuracy({"figures": figures}) is None


@pytest.mark.parametrize(("right", "verdict"), [(4_950, "agrees"), (5_490, "agrees"), (9_917, "differs")])
def test_an_accuracy_agrees_within_five_points(outcome: Outcome, right: int, verdict: str) -> None:
    item = Item(item="H", what="w", experiment="digits", compare="accuracy", published_value=0.5)
    record = replace(write_page(outcome, ()), accuracies=(ModelAccuracy("m", "test", right, 10_000),))
    assert compared(item, record, "").verdict == verdict
    assert compared(item, replace(record, accuracies=()), "").verdict == "absent"


def test_mistakes_of_a_test_set_are_told_with_and_without_marks(outcome: Outcome) -> None:
    item = Item(item="3", what="w", experiment="digits", compare="mistakes", command="c")
    record = write_page(outcome, ())
    cell = record.cells[0]
    plain = replace(cell, test_set=Counts(100, 9, 5))
    marked = replace(cell, test_set=Counts(100, 9, 4, MarkCounts(3, 1, 0, 0)))

    def here(*cells: CellRecord) -> str:
        return compared(item, replace(record, cells=cells), "").here

    assert here(replace(cell, test_set=None)) == "–"
    assert here(plain) == "5 of 100, mislabelled ones not sorted out"
    assert (
        here(plain, marked) == "9 of 100, without 3 mislabelled ones 6 (0 of these unclear, 5 not looked at)"
    )


def test_the_page_links_each_sheet_relative_to_itself_and_says_what_is_left_out(outcome: Outcome) -> None:
    write_page(outcome, ())
    item = Item(item="Table 1", what="VAE digits", experiment="digits", compare="shown")
    paper = Paper(title="P", items=(item, item.model_copy(update={"item": "Table 2"})))
    outputs = outcome.folder.parent
    rows = compare_all(paper, outputs)
    page = markdown(paper, rows, "python -m reproduce paper", outputs / "PAPER.md")
    assert page.count("[pictures](digits/sheet.webp), without those of the test set |") == 2
    assert (
        page.count("![VAE digits](digits/sheet.webp)") == 1
        and "### Table 1\n\nVAE digits. Pictures of" in page
    )
    assert "(../digits/sheet.webp)" in markdown(paper, rows, "", outputs / "docs" / "PAPER.md")
    (outcome.folder / SHEET).unlink()
    assert (
        "pictures"
        not in markdown(paper, compare_all(paper, outputs), "", outputs / "PAPER.md").split("|---")[1]
    )
