"""Which weight of a sweep is chosen: by pictures that neither tune nor test, at a bounded cost, and never 0."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tests.worlds.repair_toy import silent, toy_query
from trex.repair.correction.correct import _Correction
from trex.repair.correction.results import (
    BEFORE,
    CHOOSE,
    FRESH,
    GROWN,
    SWEEP,
    TEST,
    TESTS,
    TRAINING,
    VALIDATION,
    Compared,
    CorrectResult,
    Tuned,
)


def choose(rows: list[Tuned], **correct: object) -> float | None:
    query = toy_query(correct={"loss": 0.01, **correct})
    made = _Correction(SimpleNamespace(folder=SimpleNamespace(query=query)), Path(), silent)  # type: ignore[arg-type]
    return made._choose(rows)


def sweep(weight: float, *, best_on: str, validation: int = 900) -> Tuned:
    """A model with half of everything right, and all of one set."""
    names = (*TESTS, CHOOSE, TRAINING)
    right = {name: (1000 if name == best_on else 500, 1000) for name in names} | {
        VALIDATION: (validation, 1000)
    }
    return Tuned(seed=0, kind=SWEEP, weight=weight, right=right)


def test_the_weight_is_chosen_by_the_pictures_that_choose() -> None:
    """Planted bug: by those of a test, which then says too much of the chosen model."""
    zero = sweep(0.0, best_on=CHOOSE)
    others = [
        sweep(float(k), best_on=name) for k, name in enumerate((FRESH, GROWN, TEST, CHOOSE, TRAINING), 1)
    ]
    assert choose([zero, *others]) == 4.0
    assert choose([zero, *others], select="printed") == 5.0, "as the paper did on MNIST"


def test_weight_0_is_never_chosen_and_of_equal_ones_the_smallest_is() -> None:
    """Planted bugs: weight 0, which is no repair; the largest of equal weights."""
    assert choose([sweep(0.0, best_on=CHOOSE), sweep(3.0, best_on=FRESH), sweep(2.0, best_on=FRESH)]) == 2.0


def test_a_weight_that_costs_too_much_against_weight_0_is_not_chosen() -> None:
    """Planted bug: a cost against no further training at all, which the model may have had on these pictures."""
    rows = [
        sweep(0.0, best_on=TEST, validation=900),
        sweep(1.0, best_on=TEST, validation=890),
        sweep(2.0, best_on=CHOOSE, validation=889),
    ]
    assert choose(rows) == 1.0 and choose([rows[0], rows[2]]) is None
    assert choose(rows[:1] + rows[2:], loss=0.011) == 2.0


def test_a_repair_is_claimed_only_if_every_seed_has_chosen() -> None:
    """Planted bug: the seeds that chose no weight were forgotten."""
    rows = [
        Compared(seed=0, against=BEFORE, test=test, both=10, only_chosen=60, only_other=0, neither=10)
        for test in (FRESH, GROWN)
    ]
    found = CorrectResult(
        corrected=[], impure=[], before=None, tuned=[], chosen=[1.0], compared=rows, has_singles=False
    )
    assert found.is_mended and not found.model_copy(update={"chosen": [1.0, None]}).is_mended
