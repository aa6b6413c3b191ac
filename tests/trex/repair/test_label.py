"""Step 3: scenarios by votes, and what must not become one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.worlds.repair_toy import (
    NAMES,
    label_by_committee,
    label_by_files,
    toy,
    toy_folder,
    toy_query,
    tree,
)
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.mnist_models.pictures import DataSet
from trex.repair.decoders.bench import Set, bench_of
from trex.repair.decoders.identify import HELD, read_mistakes
from trex.repair.decoders.label import VoteResult
from trex.repair.decoders.loaded import Loaded, Stream, pictures_of, validation_rows
from trex.repair.decoders.pictures import ITEMS, NOT, Items, read_items
from trex.repair.files import Ints
from trex.repair.folder import RepairFolder
from trex.repair.results import CHOOSE, FRESH, GROWN, VALIDATION, Scenario
from trex.repair.settings import DecoderQuery
from trex.repair.steps import distill, draw, identify

HEAD = "picture,annotator,label\n"


def truths(items: Items, loaded: Loaded) -> Ints:
    """What the pictures show: the toy's class is the sign of the first latent."""
    return (loaded.generator.encode(items.pictures).mean[:, 0] > 0).astype(np.int64)


def vote_lines(items: Items, array: Ints, annotator: str) -> str:
    return "".join(
        f"{name},{annotator},{NAMES[item]}\n" for name, item in zip(items.names, array, strict=True)
    )


def exchanged(items: Items, array: Ints) -> Ints:
    """The labels in another order, in which most of the hidden checks are wrong.

    Which permutation does that depends on the last bits of the mixture, and so on the machine.
    """
    checks = items.truth != NOT
    orders = (np.random.default_rng(seed).permutation(array) for seed in range(100))
    return next(order for order in orders if np.mean(order[checks] == items.truth[checks]) < 0.4)


def begun(path: Path, loaded: Loaded, **changes: object) -> RepairFolder[DecoderQuery]:
    folder = toy_folder(path, loaded, toy_query(**changes))
    try:
        identify(folder, loaded, silent)
        distill(folder, loaded, silent)
    except BaseException:
        folder.close()
        raise
    return folder


def labelled(folder: RepairFolder) -> VoteResult:
    return folder.found("label", VoteResult)


def test_a_planted_failure_is_a_pure_scenario_with_its_true_label(tmp_path: Path) -> None:
    loaded = toy()
    with begun(tmp_path / "r", loaded) as folder:
        items = read_items(draw(folder, loaded) / ITEMS)
        votes = tmp_path / "votes.csv"
        votes.write_text(HEAD + vote_lines(items, truths(items, loaded), "Ada"))
        label_by_files(folder, loaded, [votes], ())
        found = labelled(folder)
    (component,) = found.components
    assert component.is_scenario and component.label == "right" and component.purity.value == 1.0
    assert found.who == "one annotator" and found.voters[0].right == found.voters[0].checks > 0
    assert found.voters[0].same == found.voters[0].repeats > 0


def test_a_picture_that_has_changed_its_class_makes_no_scenario(tmp_path: Path) -> None:
    """The planted bug: to go by the label of the picture that a mistake was grown from."""
    loaded = toy(height=0.0, share=0.0)  # the model is right of every picture; only the noise changes classes
    changes: dict[str, object] = {
        "identify": {"scale": 40.0},
        "distill": {"components": 2},
        "label": {"pictures": 20},
    }
    with begun(tmp_path / "r", loaded, **changes) as folder:
        items = read_items(draw(folder, loaded) / ITEMS)
        votes = tmp_path / "votes.csv"
        votes.write_text(HEAD + vote_lines(items, truths(items, loaded), "Ada"))
        label_by_files(folder, loaded, [votes], ())
        assert labelled(folder).scenarios == ()
        carried_over = np.where(items.truth != NOT, items.truth, 1 - items.answer)  # not what the model says
        votes.write_text(HEAD + vote_lines(items, carried_over, "Ada"))
        label_by_files(folder, loaded, [votes], ())
        assert labelled(folder).scenarios


def test_a_vote_file_whose_rows_were_permuted_is_detected(tmp_path: Path) -> None:
    loaded = toy()
    with begun(tmp_path / "r", loaded, label={"pictures": 200}) as folder:
        items = read_items(draw(folder, loaded) / ITEMS)
        array = truths(items, loaded)
        votes = tmp_path / "votes.csv"
        votes.write_text(HEAD + vote_lines(items, exchanged(items, array), "Ada"))
        with pytest.raises(InputError, match="do not belong to these pictures"):
            label_by_files(folder, loaded, [votes], ())
        votes.write_text("".join([HEAD, *(vote_lines(items, 1 - array, name) for name in ("Bob", "Eve"))]))
        with pytest.raises(InputError, match=r"guessed: --without Bob \(0 of 20 right\)"):
            label_by_files(folder, loaded, [votes], ())
        with pytest.raises(InputError, match=r"another repair\)$"):  # nobody would be left
            label_by_files(folder, loaded, [votes], ("Bob",))
        careless = array.copy()  # right of most pictures, of 14 in 20 checks
        careless[np.flatnonzero(items.truth != NOT)[:6]] ^= 1
        votes.write_text(HEAD + vote_lines(items, careless, "Ada"))
        label_by_files(folder, loaded, [votes], ())
        assert labelled(folder).voters[0].is_doubtful
        both = HEAD + vote_lines(items, array, "Ada") + vote_lines(items, 1 - array, "Bob")
        votes.write_text(both)
        label_by_files(folder, loaded, [votes], ("Bob",))
        assert labelled(folder).without == ["Bob"] and not labelled(folder).voters[0].is_doubtful


def test_other_pictures_have_their_checks_at_other_names(tmp_path: Path) -> None:
    """Planted bug: the order followed from seed and counts alone, so that votes on other pictures passed all checks."""
    loaded, found = toy(), []
    for changes in ({}, {}, {"tau": 0.3}, {"identify": {"draws": 5}}):
        settings = dict(changes)
        more = {"identify": settings.pop("identify")} if "identify" in settings else {}
        path = tmp_path / str(len(found))
        with begun(path, loaded, label={"pictures": 200, **settings}, **more) as folder:
            items = read_items(draw(folder, loaded) / ITEMS)
        found.append(items.truth.tolist())
    assert found[0] == found[1] and len({tuple(item) for item in found}) == 3


def test_votes_in_a_file_for_each_annotator_count_as_in_one(tmp_path: Path) -> None:
    """A file of exchanged rows is named, and who votes on a picture in two files."""
    loaded = toy()
    with begun(tmp_path / "r", loaded, label={"pictures": 200}) as folder:
        items = read_items(draw(folder, loaded) / ITEMS)
        array = truths(items, loaded)
        careless = np.where(np.arange(len(array)) % 5 == 0, 1 - array, array)
        lines = vote_lines(items, array, "Ada"), vote_lines(items, careless, "Bob")
        paths = [tmp_path / name for name in ("one.csv", "ada.csv", "bob.csv")]
        for path, text in zip(paths, ("".join(lines), *lines), strict=True):
            path.write_text(HEAD + text)
        label_by_files(folder, loaded, paths[:1], ())
        joined = labelled(folder)
        label_by_files(folder, loaded, paths[1:], ())
        assert labelled(folder) == joined
        assert [voter.name for voter in joined.voters] == ["Ada", "Bob"]
        paths[2].write_text(HEAD + vote_lines(items, exchanged(items, array), "Bob"))
        with pytest.raises(InputError, match=r"bob\.csv: only .* do not belong to these pictures"):
            label_by_files(folder, loaded, paths[1:], ())  # though all files together are mostly right
        label_by_files(folder, loaded, paths[1:], ("Bob",))
        before = tree(tmp_path / "r")
        paths[2].write_text(HEAD + lines[0])
        with pytest.raises(InputError, match=r"bob\.csv: annotator 'Ada' votes on picture p00000 in another"):
            label_by_files(folder, loaded, paths[1:], ())
        assert tree(tmp_path / "r") == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns must be"),
        ("picture,label\n", "columns must be"),
        (HEAD, "0 annotators"),
        (HEAD + "p00000,Ada\n", "2 values"),
        (HEAD + "p99999,Ada,left\n", "is not one of this repair"),
        (HEAD + "../../etc,Ada,left\n", "is not one of this repair"),
        (HEAD + "p00000,Ada,lefft\n", "did you mean 'left'"),
        (HEAD + "p00000,,left\n", "annotator"),
        (HEAD + "p00000,Ada,left\np00000,Ada,right\n", "a second time"),
        (HEAD + 'p00000,Ada,"left\n' + "p00001,Ada,left\n" * 10_000, "is a quotation mark left open"),
    ],
)
def test_bad_votes_are_refused_and_nothing_is_written(tmp_path: Path, text: str, message: str) -> None:
    loaded = toy()
    with begun(tmp_path / "r", loaded) as folder:
        draw(folder, loaded)
        before = tree(tmp_path / "r")
        votes = tmp_path / "votes.csv"
        votes.write_text(text)
        with pytest.raises(InputError, match=message):
            label_by_files(folder, loaded, [votes], ())
        assert tree(tmp_path / "r") == before


def test_pictures_tell_nothing_of_what_they_are(tmp_path: Path) -> None:
    loaded = toy()
    with begun(tmp_path / "r", loaded, label={"pictures": 20}) as folder:
        place = draw(folder, loaded)
        items = read_items(place / ITEMS)
    assert {path.stem for path in place.glob("*.png")} == set(items.names)
    is_check, is_repeat = items.truth != NOT, items.first != NOT
    assert (is_check.sum(), is_repeat.sum(), len(items.truth)) == (2, 1, 23)
    again = np.flatnonzero(is_repeat)
    assert (items.pictures[again] == items.pictures[items.first[again]]).all()
    assert not (np.diff(np.flatnonzero(~is_check & ~is_repeat)) == 1).all()  # shuffled, not in blocks


@pytest.mark.slow
def test_a_committee_is_called_one_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    loaded = toy()
    for name in ("whole", "cut"):
        begun(tmp_path / name, loaded).close()
    with toy_folder(tmp_path / "whole", loaded) as folder:
        label_by_committee(folder, loaded, silent)
        found = labelled(folder)
    assert found.who == "committee of five networks" and len(found.voters) == 5
    assert found.components[0].is_scenario and found.components[0].label == "right"

    def stop(what: str, done: int, total: int) -> None:
        if "member 3" in what:
            raise KeyboardInterrupt

    with toy_folder(tmp_path / "cut", loaded) as folder, pytest.raises(KeyboardInterrupt):
        label_by_committee(folder, loaded, stop)
    with toy_folder(tmp_path / "cut", loaded) as folder:
        label_by_committee(folder, loaded, silent)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")


def test_the_committee_never_learns_from_pictures_for_validation(tmp_path: Path) -> None:
    from trex.repair.decoders.label import training_of
    from trex.repair.decoders.loaded import validation_rows

    loaded = toy()
    with toy_folder(tmp_path / "r", loaded) as folder:
        training = training_of(folder, loaded.train, tmp_path)
        _, judging = validation_rows(folder.query, loaded.train)
    assert isinstance(training.data, DataSet) and not set(training.rows) & set(judging) and len(judging) == 60


def rows_of(pictures: Set) -> set[bytes]:
    return {picture.tobytes() for picture in pictures.pictures}


def test_what_tunes_chooses_and_tests_are_other_pictures(tmp_path: Path) -> None:
    """Planted bugs: the weight chosen on the fresh draws that test it; those that test were tuned on; held-out
    mistakes grown from training pictures; each of these its own origin.
    """
    loaded = toy()
    with begun(tmp_path / "r", loaded, identify={"draws": 6}) as folder:
        bench = bench_of(folder, loaded, [Scenario(number=0, label="right")])
        judged, tuned = bench.judged, [bench.drawn(Stream.TUNE, seed) for seed in range(3)]
        held = read_mistakes(folder.require("identify") / HELD)
    drawn = [judged[FRESH], judged[CHOOSE], *tuned]
    assert len(set.union(*map(rows_of, drawn))) == sum(len(item.labels) for item in drawn)
    learning, judging = validation_rows(toy_query(), loaded.train)
    assert set(bench.rows.tolist()) <= set(learning.tolist()) and not set(learning.tolist()) & set(
        judging.tolist()
    )
    assert np.array_equal(judged[VALIDATION].pictures, pictures_of(loaded.train, judging))
    origins = judged[GROWN].origins
    assert origins is not None and 1 < len(set(origins.tolist())) < len(origins)
    codes = loaded.generator.encode(judged[GROWN].pictures).mean
    near = loaded.generator.encode(pictures_of(loaded.test, origins)).mean
    assert np.abs(codes - near).max() < 1.5, "grown from other pictures than these"
    assert set(origins.tolist()) <= set(held.rows.tolist())
