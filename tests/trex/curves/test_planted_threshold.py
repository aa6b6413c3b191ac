"""A planted classifier that fails below 60% visible: the curve finds the threshold, through pictures and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trex.curves.test_doses import subjects
from tests.worlds.explained_worlds import CodedRenderer, coded_run
from trex.clevr_models.interface.answers import ANSWERS
from trex.curves.curve import Curve
from trex.curves.doses import QUANTITIES, quantity_named
from trex.curves.measure import measured
from trex.curves.subject import Dosed, Subject, neighbor, visible_share
from trex.render.picture import Picture
from trex.scenes.scene import Scene, with_attribute
from trex.scenes.vocabulary import CLEVR, Vocabulary

MARK = "brown"  # the color of the misread object, and of no other
FAILS_BELOW = 0.6


class SharesRenderer(CodedRenderer):
    """Its first pixel says how much of the brown object is visible, in 255ths."""

    def _coded(self, scene: Scene, picture: Picture) -> Picture:
        (index,) = [i for i, item in enumerate(scene.objects) if item.color == MARK]
        pixels = picture.pixels.copy()
        pixels[0, 0] = round(255 * visible_share(Subject(scene, index), CLEVR))
        return Picture(pixels, picture.mask, picture.scene)


@dataclass(frozen=True)
class FailsBelow:
    """Says "1" where less than this share is visible, else "0", which is right: there are no cubes."""

    share: float = FAILS_BELOW
    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        rows = np.full((len(images), len(ANSWERS)), 0.02 / (len(ANSWERS) - 1))
        says = np.where(images[:, 0, 0, 0] < self.share, ANSWERS.index("1"), ANSWERS.index("0"))
        rows[np.arange(len(images)), says] = 0.98
        return np.log(rows)


def without_cubes(subject: Subject) -> Subject:
    """The same with cylinders for cubes, the misread object brown and no other so."""
    items = [
        with_attribute(item, "shape", "cylinder") if item.shape == "cube" else item
        for item in subject.scene.objects
    ]
    items = [
        with_attribute(item, "color", MARK if i == subject.misread else "gray")
        for i, item in enumerate(items)
    ]
    return Subject(replace(subject.scene, objects=tuple(items)), subject.misread)


def curve_over_visible(folder: Path, n: int, doses: tuple[float, ...]) -> Curve:
    planted = [without_cubes(subject) for subject in subjects(n, 11)]
    with coded_run(folder, FailsBelow(), SharesRenderer()) as scores:
        return measured(scores, planted, Curve("visible", doses, ()))


@pytest.mark.slow
@pytest.mark.parametrize(("n_doses", "within"), [(11, 0.05), (21, 0.03)])
def test_the_threshold_is_found_within_five_points(n_doses: int, within: float, tmp_path: Path) -> None:
    curve = curve_over_visible(tmp_path, 12, quantity_named("visible").chosen(n_doses, ()))
    found = curve.threshold
    assert found.value == pytest.approx(FAILS_BELOW, abs=within + 1e-9)
    assert found.is_crossed
    assert found.up_to is not None
    assert found.since is not None
    assert FAILS_BELOW - 0.1 <= found.up_to < FAILS_BELOW <= found.since <= FAILS_BELOW + 0.1
    for k, (dose, (low, high)) in enumerate(zip(curve.doses, curve.band, strict=True)):
        truth = float(dose < FAILS_BELOW)
        assert abs(dose - FAILS_BELOW) < 0.02 or low <= truth <= high
        assert {point.share for point in curve.columns[k]} <= {0.0, 1.0}
    assert re.fullmatch(
        r"From \d\d% visible on the model is right \(95% CI 5\d–[67]\d%\); below that it is wrong.",
        curve.headline,
    )


@pytest.mark.slow
def test_doses_of_another_object_hide_the_threshold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the visible share is that of the neighbor, and the curve no longer says where the model fails."""
    quantity = quantity_named("visible")

    def of_neighbor(subject: Subject, doses: Sequence[float], _: Vocabulary) -> list[Dosed | None]:
        other = neighbor(subject, CLEVR)
        assert other is not None
        return quantity.make(Subject(subject.scene, other), doses, CLEVR)

    monkeypatch.setitem(QUANTITIES, "visible", replace(quantity, make=of_neighbor))
    curve = curve_over_visible(tmp_path, 12, quantity.doses)
    value = curve.threshold.value
    assert not curve.threshold.is_crossed or value is None or abs(value - FAILS_BELOW) > 0.05


def test_a_threshold_is_not_claimed_of_few_scenes(tmp_path: Path) -> None:
    """Four scenes cannot show one, whatever they say: the headline does not claim it."""
    curve = curve_over_visible(tmp_path, 4, (0.4, 0.8))
    assert curve.means == [1.0, 0.0]
    assert curve.headline.startswith("No threshold is shown: 4 scenes are too few")
