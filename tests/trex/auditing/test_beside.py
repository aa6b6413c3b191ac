"""Two models side by side: the same scenes and questions, counted pair by pair."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trex.auditing.in_memory import Swept, judged, swept
from tests.trex.auditing.planted_models import (
    as_it_is,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.compare import SAME, Beside, Other, beside, read_other
from trex.auditing.records import EXAMINED, SETTINGS, Settings
from trex.auditing.work import MANIFEST, SWEPT
from trex.families.discover import conditions_of
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.foundation.errors import InputError, RunError
from trex.inference.statistics.paired import Paired
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

N = 24
SETTINGS_MADE = Settings(
    "other", "w", "world", 2, 3, 16, "fast", "reference", 0.9, 5, 0, {}
)  # of another model


@pytest.fixture(scope="module")
def models() -> tuple[Swept, Swept, Swept]:
    """A model that misses objects, one that confuses directions, and one without a fault, in the same scenes."""
    views = (small_things_at_the_back_are_missed, left_is_right_under_a_low_camera, as_it_is)
    first, second, third = (swept(view, n=N) for view in views)
    return first, second, third


def other(item: Swept, name: str = "other") -> Other:
    return Other(name, tuple(row for _, row in item.held_out))


@pytest.mark.slow
def test_mistakes_are_paired_scene_by_scene(models: tuple[Swept, Swept, Swept]) -> None:
    first, second, third = models
    wrong = [[bool(row.mistakes) for _, row in item.held_out] for item in (first, second)]
    found = beside(first.held_out, other(second), [], first.asker).mistakes
    assert found.n == N // 2
    assert found.both == sum(a and b for a, b in zip(*wrong, strict=True))
    assert (found.both + found.only_first, found.both + found.only_second) == (sum(wrong[0]), sum(wrong[1]))
    clean = beside(first.held_out, other(third), [], first.asker).mistakes
    assert (clean.both, clean.only_second, clean.only_first) == (0, 0, sum(wrong[0]))


def test_a_family_of_one_model_is_not_blamed_on_the_other(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    """The other model errs too, but for another reason; beside itself a model fails in the same scenes."""
    first, second, _ = models
    known = {condition.key: condition for condition in conditions_of(CLEVR)["object"]}
    family = Family(Pattern.of((known["size small"], known["far back"])), Symptom("object", "missed"))
    found, _ = judged(tmp_path, first, [family], first.held_out, {})
    (against,) = beside(first.held_out, other(second), found, first.asker).families.values()
    assert against.only_first > 0 and against.both == against.only_second == 0
    assert against.n == found[0].holds.count
    (same,) = beside(first.held_out, other(first), found, first.asker).families.values()
    assert (
        same.both == against.only_first and same.only_first == same.only_second == 0 and same.p_value == 1.0
    )


def test_the_p_value_of_a_family_is_corrected_for_the_number_of_families() -> None:
    rows = Paired(0, 6, 0, 10)
    found = Beside("other", rows, dict.fromkeys(range(3), rows))
    assert found.corrected(1) == pytest.approx(3 * rows.p_value) and rows.p_value < 0.05
    even = Paired(0, 1, 1, 0)
    assert Beside("other", even, dict.fromkeys(range(3), even)).corrected(0) == 1.0


def write(folder: Path, item: Swept, lines: int = 5) -> Path:
    """The folder of another audit of two scenes and three held-out ones."""
    (folder / MANIFEST).write_text(SETTINGS.text(SETTINGS_MADE))
    with Lines(folder / SWEPT, EXAMINED) as log:
        log.append([row for _, row in item.training][:lines])
    return folder


def test_the_other_audit_is_read_and_left_as_it_is(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in write(tmp_path, models[0]).iterdir()}
    found = read_other(tmp_path, replace(SETTINGS_MADE, model="this", weights="v", tested=9))
    assert found == Other("other", tuple(row for _, row in models[0].training[2:5]))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", SAME)
def test_an_audit_of_other_scenes_or_questions_is_refused(
    models: tuple[Swept, Swept, Swept], tmp_path: Path, name: str
) -> None:
    write(tmp_path, models[0])
    value = getattr(SETTINGS_MADE, name)
    values: dict[str, Any] = vars(SETTINGS_MADE) | {
        name: value + "x"
        if isinstance(value, str)
        else ("zero_hop",)
        if isinstance(value, tuple)
        else value + 1
    }
    with pytest.raises(InputError, match=name):
        read_other(tmp_path, Settings(**values))


def test_an_audit_that_is_missing_unfinished_or_changed_is_refused(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds no audit"):
        read_other(tmp_path, SETTINGS_MADE)
    write(tmp_path, models[0], lines=4)
    with pytest.raises(RunError, match="not finished"):
        read_other(tmp_path, SETTINGS_MADE)
    path = tmp_path / SWEPT
    path.write_bytes(path.read_bytes().replace(b'"truth"', b'"tooth"'))
    with pytest.raises(RunError, match="was changed"):
        read_other(tmp_path, SETTINGS_MADE)
