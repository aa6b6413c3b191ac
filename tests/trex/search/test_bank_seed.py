"""Scenes follow from the seed of the search or of its bank alone, at every look, whatever processes draw them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import BANK, run
from trex.bank.bank import bank_of
from trex.finding.conclude import Outcome
from trex.inference.statistics.importance import prior_draw
from trex.render.ahead import LEAST_CROWDED
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.draw_log import read_draws
from trex.runs.record import BANK as BANK_PHASE
from trex.runs.record import CALIBRATION, PRIOR
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.search import engine
from trex.search.engine import Independent, ahead
from trex.worlds.latents import Latent, identity
from trex.worlds.registry import make_plan

# Two looks are tried, and the second one scores the bank again: scenes are drawn at four places.
LED = [*BANK, "search.inner=2", "search.steps=0", "render.fresh=0", "search.further=0"]
SEED, BANK_SEED = 5, 8
CROWDED = ScenePrior(CLEVR, (9, 9))


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[int, Scene]]:
    """Everything that the fake renderer draws, with its width; banks of other tests are not used."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    use_ladder(monkeypatch, TINY, SMALL)
    built: list[tuple[int, Scene]] = []
    whole = FakeRenderer.render

    def noted(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        built.extend((renderer.width, z) for z in zs)
        return whole(renderer, zs)

    monkeypatch.setattr(FakeRenderer, "render", noted)
    return built


def led(folder: Path, seed: int, bank_seed: int, *more: str) -> Outcome:
    return run(
        folder,
        [*LED, f"search.seed={seed}", f"search.bank_seed={bank_seed}", *more],
        f"{seed}-{bank_seed}-{len(more)}",
    )


def scenes(done: Outcome, phase: str) -> dict[tuple[int, int], Latent]:
    """The scenes of a phase by the rank of the look and index."""
    rows = read_draws(done.folder / "draws.jsonl", done.manifest)
    return {(row.rank, row.index): row.z for row in rows if row.phase == phase}


def members(done: Outcome) -> list[Latent]:
    """The bank of the query's world and the bank's seed, whoever asks."""
    plan = make_plan(done.manifest.query, Path(done.manifest.folder))
    with bank_of(plan, "fake-small", seed=BANK_SEED, renderer=FakeRenderer(60, 40)) as bank:
        return [identity(z) for z in bank.scenes(range(60))]


def test_a_search_takes_the_members_of_the_banks_own_seed_at_every_look(
    tmp_path: Path, rendered: list[tuple[int, Scene]]
) -> None:
    """Planted bugs: at the first look, or at the one that leads, the bank of `search.seed`."""
    done = led(tmp_path, SEED, BANK_SEED, "search.steps=1")
    there, known = scenes(done, BANK_PHASE), members(done)
    assert {rank for rank, _ in there} == {0, 1}, "no second look has scored the bank"
    for rank in (0, 1):
        assert [there[rank, index] for index in range(60)] == known
    for phase in (PRIOR, CALIBRATION):
        found = set(scenes(done, phase).values())
        assert found and found <= set(known)


def test_two_searches_with_seeds_of_their_own_share_the_bank_and_its_pictures(
    tmp_path: Path, rendered: list[tuple[int, Scene]]
) -> None:
    """Planted bug: the deciding look's pictures were kept with the bank of `search.seed`, where nobody looks."""
    first = led(tmp_path, SEED, BANK_SEED)
    before = set(rendered)
    rendered.clear()
    second = led(tmp_path, SEED + 1, BANK_SEED)
    assert scenes(second, BANK_PHASE) == scenes(first, BANK_PHASE)
    again = [item for item in rendered if item in before and item[0] == 120]
    assert not again, f"{len(again)} pictures at the deciding look were made before"
    assert not [item for item in rendered if item[0] == 3], "the whole bank is there at the cheapest look"
    rendered.clear()
    other = led(tmp_path, SEED, BANK_SEED + 1)
    assert not set(scenes(other, BANK_PHASE).values()) & set(scenes(first, BANK_PHASE).values())


def test_a_bank_shares_no_scene_with_the_prior_draws_of_a_search_of_the_same_seed(
    tmp_path: Path, rendered: list[tuple[int, Scene]]
) -> None:
    """Planted bug: members drawn from the search's own stream."""
    done = led(tmp_path, BANK_SEED, BANK_SEED)
    plan = make_plan(done.manifest.query, Path(done.manifest.folder))
    searched = {identity(prior_draw(BANK_SEED, index, plan.prior)[0]) for index in range(60)}
    assert len(searched) == 60 and not searched & set(scenes(done, BANK_PHASE).values())


def test_prior_draws_without_a_bank_follow_from_the_seed_of_the_search(
    tmp_path: Path, rendered: list[tuple[int, Scene]]
) -> None:
    """Planted bug: from the bank's, which repeats of a search share."""
    plain = ["search.bank=0", "search.kernel=block"]
    outcome, other = led(tmp_path, 1, BANK_SEED, *plain), led(tmp_path, 2, BANK_SEED, *plain)
    assert not set(scenes(outcome, PRIOR).values()) & set(scenes(other, PRIOR).values())


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
