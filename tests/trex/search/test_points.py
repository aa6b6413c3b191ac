"""The scenes of a search do not depend on the processes that draw them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest

from trex.inference.statistics.importance import prior_draw
from trex.render.ahead import LEAST_CROWDED
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR
from trex.search import engine
from trex.search.engine import Independent, ahead

CROWDED = ScenePrior(CLEVR, (9, 9))


@pytest.mark.process
@pytest.mark.parametrize("is_banked", [False, True], ids=["of the search", "of the bank"])
def test_crowded_scenes_are_drawn_by_other_processes(
    is_banked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    what, indices = Independent("prior", seed=5, is_banked=is_banked), range(3, 3 + LEAST_CROWDED)
    own = list(what.points(indices, CROWDED, 1))

    def not_here(*_: object) -> None:
        raise AssertionError("this process draws it itself")

    monkeypatch.setattr(engine, "prior_draw", not_here)
    assert list(what.points(indices, CROWDED, 2)) == own
    assert len({scene for scene, _ in own}) == LEAST_CROWDED
    monkeypatch.undo()
    assert is_banked or own[0] == prior_draw(5, 3, CROWDED)


def test_given_latents_are_taken_whatever_the_processes() -> None:
    zs = {index: CROWDED.sample(np.random.default_rng(index)) for index in (4, 5)}
    assert [z for z, _ in Independent("noise", zs=zs).points(range(4, 6), CROWDED, 2)] == list(zs.values())


def test_a_batch_that_is_worked_out_ahead_is_waited_for_when_the_search_has_enough() -> None:
    """Planted bug: what it draws from was closed while a thread drew from it, a ValueError."""
    begun, ended = list[int](), list[int]()

    def slow(batch: Sequence[int]) -> int:
        begun.append(batch[0])
        time.sleep(0.2)
        ended.append(batch[0])
        return batch[0]

    each = ahead(slow, [range(k, k + 1) for k in range(5)])
    assert next(each) == 0
    each.close()
    assert begun == ended
