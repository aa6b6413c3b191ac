"""The members of a bank are independent draws of the prior, and independent of the draws of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.worlds.banks import Telling, small_bank
from trex.bank.bank import Bank, bank_of
from trex.bank.drawn import member
from trex.foundation.errors import RunError
from trex.inference.rng import BANK_STREAM, PRIOR_STREAM, stream
from trex.inference.statistics.importance import prior_draw
from trex.query.schema import RenderSection
from trex.render.ahead import LEAST_CROWDED
from trex.scenes.prior import ScenePrior
from trex.scenes.properties import RGB
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

ALONE = ScenePrior(CLEVR, (1, 1))
CROWDED = ScenePrior(CLEVR, (9, 9))
N_CROWDED = LEAST_CROWDED + 8
N = 1280
FALSE_ALARM = 1e-5
COLORS = tuple(RGB)
Member = Callable[[ScenePrior, int, int], Scene]


def members(folder: Path) -> list[Scene]:
    with small_bank(folder, prior=ALONE) as bank:
        return bank.scenes(range(N))


def p_values(scenes: Sequence[Scene]) -> dict[str, float]:
    """Chi-square tests: all of CLEVR's categories equally often, each color after each, places and turns uniform."""
    items = [scene.objects[0] for scene in scenes]
    every = CLEVR.combinations()
    category = np.bincount([every.index(item.category) for item in items], minlength=len(every))
    colors = np.array([COLORS.index(item.color) for item in items])
    pairs = np.bincount(8 * colors[:-1] + colors[1:], minlength=64)
    places = np.array([[item.x / 6 + 0.5, item.y / 6 + 0.5, item.rotation / (2 * np.pi)] for item in items])
    uniform = {f"coordinate {k}": float(stats.kstest(places[:, k], "uniform").pvalue) for k in (0, 1, 2)}
    camera = np.array([scene.nuisances.camera[0] + 0.5 for scene in scenes])
    return {
        "category": float(stats.chisquare(category).pvalue),
        "pairs": float(stats.chisquare(pairs).pvalue),
        "camera": float(stats.kstest(camera, "uniform").pvalue),
        **uniform,
    }


def test_members_that_are_not_to_be_kept_are_the_same_and_not_stored(tmp_path: Path) -> None:
    with small_bank(tmp_path, prior=ALONE) as bank:
        passing = bank.scenes(range(5), keep=False)
        assert not list(tmp_path.rglob("*.jsonl"))
        assert bank.scenes(range(5)) == passing == bank.scenes(range(5), keep=False)
        assert len(list(tmp_path.rglob("*.jsonl"))) == 1


@pytest.mark.slow
def test_members_follow_the_prior_and_do_not_depend_on_each_other(tmp_path: Path) -> None:
    found = p_values(members(tmp_path))
    assert min(found.values()) > FALSE_ALARM / len(found), found


def one_stream(prior: ScenePrior, seed: int, i: int) -> Scene:
    return prior.sample(stream(seed, BANK_STREAM))


def each_twice(prior: ScenePrior, seed: int, i: int) -> Scene:
    return prior.sample(stream(seed, BANK_STREAM, i // 2))


def short_period(prior: ScenePrior, seed: int, i: int) -> Scene:
    return prior.sample(stream(seed, BANK_STREAM, i % 100))


@pytest.mark.parametrize("bug", [one_stream, each_twice, short_period])
def test_members_that_share_a_stream_are_noticed(
    bug: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trex.bank.bank.member", bug)
    found = p_values(members(tmp_path))
    assert min(found.values()) < FALSE_ALARM / len(found), found


def test_no_member_is_a_draw_of_a_search(tmp_path: Path) -> None:
    with small_bank(tmp_path, prior=ALONE) as bank:
        bank_scenes = set(bank.scenes(range(100)))
    searched = {prior_draw(0, i, ALONE, PRIOR_STREAM)[0] for i in range(100)}
    assert len(bank_scenes) == len(searched) == 100
    assert not bank_scenes & searched


def crowded(folder: Path) -> Bank:
    return bank_of(CROWDED, RenderSection(preset="fake", processes=2), folder, renderer=Telling())


@pytest.mark.process
def test_crowded_members_are_drawn_by_other_processes_and_kept_in_whatever_order_they_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a member that was passed over was taken from the next place, so that it was another's scene."""
    own = [member(CROWDED, 0, i) for i in range(N_CROWDED)]
    with crowded(tmp_path) as bank:
        first = bank.scenes([2])
        bank.draw_ahead(range(N_CROWDED))
        with monkeypatch.context() as here:
            here.setattr("trex.bank.bank.member", lambda *_: pytest.fail("this process draws it itself"))
            found = [*first, *bank.scenes([9, 4, 5, 0]), *bank.scenes(range(N_CROWDED))]
    assert found == [own[k] for k in (2, 9, 4, 5, 0, *range(N_CROWDED))]
    with crowded(tmp_path) as bank:
        monkeypatch.setattr(ScenePrior, "sample", lambda *_: pytest.fail("it was drawn again"))
        assert bank.scenes(range(N_CROWDED)) == own


@pytest.mark.process
def test_members_are_drawn_here_after_an_error_of_the_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: after one scene that could not be drawn every further one was a StopIteration."""

    def broken(draw: object, indices: Sequence[int], processes: int) -> Iterator[tuple[int, Scene]]:
        yield from ()
        raise RunError("a scene cannot be drawn")

    monkeypatch.setattr("trex.bank.drawn.drawn_ahead", broken)
    with crowded(tmp_path) as bank:
        bank.draw_ahead(range(N_CROWDED))
        with pytest.raises(RunError, match="cannot be drawn"):
            bank.scenes([1])
        assert bank.scenes([1, 0]) == [member(CROWDED, 0, 1), member(CROWDED, 0, 0)]
