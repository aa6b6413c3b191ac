"""What a test set of digits shows of a query: the same counts as for scenes, from labels instead of scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.mnist_worlds import N_TEST, N_TRAIN, bars, write_data
from trex.datasets.labelled_pictures import LabelledPictures
from trex.foundation.errors import InputError
from trex.inference.targets import high_confidence
from trex.mnist_models.load import load_classifier
from trex.query.toml_file import parse_query
from trex.trials.baseline.run import make_baseline
from trex.trials.baseline.score import judge
from trex.trials.options import BaselineOptions
from trex.worlds.registry import make_plan

QUERY = """
answer = "{answer}"

[generator]
name = "mnist-vae"

[target]
kind = "threshold"
threshold = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def test_the_test_split_is_taken_unless_another_is_named(folder: Path) -> None:
    examples = LabelledPictures("mnist", folder, ())
    assert (examples.total, examples.words) == (N_TEST, f"mnist: {N_TEST} of test")
    images, labels = bars(N_TEST, 2)
    for number, example in enumerate(examples):
        assert example.name == f"mnist_test_{number:05d}" and example.label == str(labels[number])
        assert np.array_equal(example.pixels[:, :, 0], images[number])
    assert LabelledPictures("mnist", folder, ("train", "test")).total == N_TRAIN + N_TEST


def test_hits_mistakes_and_confusion_are_counted_by_the_labels(tmp_path: Path, folder: Path) -> None:
    """Against counts made here from the classifier's own answers."""
    images, labels = bars(N_TEST, 2)
    pixels = (images[:, :, :, None] / 255.0).astype(np.float32)
    probs = np.exp(load_classifier("mnist-classifier").log_probs(pixels))
    answers = probs.argmax(axis=1)
    common = int(np.bincount(answers[probs.max(axis=1) > 0.5]).argmax())
    query = tmp_path / "query.toml"
    query.write_text(QUERY.format(answer=common), encoding="utf-8")
    done = make_baseline([query], (), BaselineOptions(dataset=folder), tmp_path / "out", lambda *_: None)
    (found,) = done.baselines
    hits = probs[:, common] >= 0.5
    assert found.hits.count == hits.sum() > 0
    assert found.mistakes.count == (hits & (labels != common)).sum() > 0
    assert found.accuracy.count == (answers == labels).sum()
    assert sum(sum(row.values()) for row in found.confusion.values()) == N_TEST
    assert found.hits_inside == found.hits  # the decoder has seen all classes
    assert "data:image/png" in (tmp_path / "out" / "baseline.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("answers", "known"),
    [
        (("even", "odd"), ()),
        (("0", "1", "2", "three"), ("0", "1", "2")),  # as of "T-shirt/top": the 3 may be what it means
        (("0", "1", "2"), tuple("0123456789")),  # no answer is right for a 7
    ],
)
def test_a_label_that_the_model_may_have_another_word_for_is_no_truth(
    answers: tuple[str, ...], known: tuple[str, ...], tmp_path: Path, folder: Path
) -> None:
    """Planted bug: every even digit that a model called "even" was a true mistake."""
    plan = make_plan(parse_query(QUERY.format(answer=7), "q"), tmp_path)
    bound = replace(plan.bound, labels=answers)  # type: ignore[type-var]
    other = replace(plan, bound=bound, target=high_confidence(answers, answers[0], width=0.5))
    row = np.full(len(answers), -np.log(len(answers)))
    seen = [
        (LabelledPicture.label, judge(other, LabelledPicture, row))
        for LabelledPicture in LabelledPictures("mnist", folder, ())
    ]
    assert {label: row.truth for label, row in seen} == {
        digit: digit if digit in known else None for digit in "0123456789"
    }
    assert not any(row.is_mistake for label, row in seen if label not in known)


def test_a_folder_or_a_split_that_is_not_there_is_named(tmp_path: Path, folder: Path) -> None:
    query = tmp_path / "query.toml"
    query.write_text(QUERY.format(answer=7), encoding="utf-8")
    for wanted, message in (
        (BaselineOptions(dataset=tmp_path / "none"), "does not exist"),
        (BaselineOptions(dataset=folder, splits=("val",)), "split 'val' is not known"),
        (BaselineOptions(rendered=5), "needs scenes"),
    ):
        with pytest.raises(InputError, match=message):
            make_baseline([query], (), wanted, tmp_path / "out", lambda *_: None)
    assert not (tmp_path / "out").exists()
