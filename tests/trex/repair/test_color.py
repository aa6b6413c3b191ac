"""All steps on pictures in color that come in tracks: the planted failure is found and repaired, and no track leaks."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.trex.repair.color_toy import FRAMES, color_data, color_toy
from tests.trex.repair.test_label import HEAD, truths, vote_lines
from tests.worlds.repair_toy import PLANTED, label_by_committee, label_by_files, toy_folder, toy_query
from trex.artifacts.card import read_card
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.mnist_models.pictures import split_tracks
from trex.repair.correct import correct
from trex.repair.decoders.bench import bench_of
from trex.repair.decoders.committee import IN_COLOR, MEMBERS, members_for
from trex.repair.decoders.identify import GROWN as GROWN_FILE
from trex.repair.decoders.identify import read_mistakes
from trex.repair.decoders.label import VoteResult, training_of
from trex.repair.decoders.loaded import validation_rows
from trex.repair.decoders.pictures import ITEMS, read_items
from trex.repair.report import PAGE, write_report
from trex.repair.results import FRESH, GROWN, SWEEP, ZERO, CorrectResult
from trex.repair.steps import distill, draw, identify

QUERY = {"correct": {"seeds": 1}}


def groups_of(rows: np.ndarray) -> set[int]:
    groups = color_toy().train.groups
    assert groups is not None
    return set(groups[rows].tolist())


def test_a_planted_failure_in_color_is_found_labelled_and_mended(tmp_path: Path) -> None:
    loaded = color_toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(**QUERY)) as folder:
        identify(folder, loaded, silent)
        grown = read_mistakes(folder.require("identify") / GROWN_FILE)
        assert len(grown.rows) > 50 and np.linalg.norm(grown.codes - PLANTED, axis=1).max() < 1.5
        distill(folder, loaded, silent)
        place = draw(folder, loaded)
        items = read_items(place / ITEMS)
        assert items.pictures.shape[1:] == (32, 32, 3)
        shown = np.asarray(Image.open(io.BytesIO((place / f"{items.names[0]}.png").read_bytes())))
        assert shown.shape == (32, 32, 3) and not shown[..., 2].any()
        assert np.abs(shown / 255 - items.pictures[0]).max() < 0.002
        votes = tmp_path / "votes.csv"
        votes.write_text(HEAD + vote_lines(items, truths(items, loaded), "Ada"))
        label_by_files(folder, loaded, [votes], ())
        (component,) = folder.found("label", VoteResult).components
        assert component.is_scenario and component.label == "right" and component.purity.value == 1.0
        sound = color_data("train", 600, share=0.0)  # D itself does not show where the model is wrong
        correct(folder, replace(loaded, train=sound), silent)
        found = folder.found("correct", CorrectResult)
        card = read_card(folder.require("correct") / "model-0.safetensors")
        write_report(folder)
    claims = {(claim.against, claim.test): claim for claim in found.claims()}
    assert all(claims[against, test].is_better for against in ("before", ZERO) for test in (FRESH, GROWN))
    assert found.before is not None and found.before.accuracy(FRESH).count == 0
    assert all(tuned.accuracy(FRESH).count == 0 for tuned in found.of(SWEEP, 0.0))
    assert card["picture"] == [32, 32, 3] and card["licence"] == "of the pictures"
    assert "lambda 0" in (tmp_path / "r" / PAGE).read_text()


def test_no_track_that_judges_is_learned_by_anything(tmp_path: Path) -> None:
    loaded = color_toy()
    query = toy_query(identify={"validation": 61})
    learning, judging = validation_rows(query, loaded.train)
    assert len(judging) == 60 and len(groups_of(judging)) == 60 // FRAMES  # 61 would cut a track
    assert not groups_of(learning) & groups_of(judging)
    assert groups_of(judging) <= groups_of(
        split_tracks(loaded.train).held_out
    )  # nor did the model learn them
    with toy_folder(tmp_path / "r", loaded, query) as folder:
        committee = training_of(folder, loaded.train, tmp_path)
        assert not groups_of(committee.rows) & groups_of(judging)
        identify(folder, loaded, silent)
        grown = read_mistakes(folder.require("identify") / GROWN_FILE)
        assert not groups_of(grown.rows) & groups_of(judging)
        distill(folder, loaded, silent)
        assert not groups_of(bench_of(folder, loaded, ()).rows) & groups_of(judging)
    alone = replace(loaded.train, groups=None)  # planted: each frame by itself
    learning, judging = validation_rows(query, alone)
    assert groups_of(learning) & groups_of(judging)


def test_more_validation_pictures_than_are_held_out_are_refused(tmp_path: Path) -> None:
    loaded = color_toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(identify={"validation": 121})) as folder:
        with pytest.raises(InputError, match="holds out 120 pictures of tracks"):
            identify(folder, loaded, silent)
        assert not (folder.path / "identify").exists()


@pytest.mark.slow
def test_the_committee_for_color_votes_on_color(tmp_path: Path) -> None:
    assert members_for((28, 28, 1)) is MEMBERS and members_for((32, 32, 3)) is IN_COLOR and len(IN_COLOR) == 5
    loaded = color_toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(label={"epochs": 15, "pictures": 60})) as folder:
        identify(folder, loaded, silent)
        distill(folder, loaded, silent)
        label_by_committee(folder, loaded, silent)
        found = folder.found("label", VoteResult)
    assert [voter.name for voter in found.voters] == [name for name, _ in IN_COLOR]
    assert sum(voter.right for voter in found.voters) > 0.8 * sum(voter.checks for voter in found.voters)
    assert found.components[0].is_scenario and found.components[0].label == "right"
    assert json.dumps(found.who) == '"committee of five networks"'
