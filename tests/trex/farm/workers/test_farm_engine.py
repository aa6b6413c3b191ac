"""The draws of a search do not depend on who carries them out: here against the samplers, called by hand."""

from pathlib import Path

import pytest

from tests.running.digit_runs import save_models, search
from tests.running.runs import draws, run
from trex.farm.workers.worlds import Worlds
from trex.inference.chains import rounds, start, starts
from trex.inference.statistics.importance import prior_draws
from trex.render.picture import Picture
from trex.runs.folder import open_run
from trex.runs.manifest import Manifest
from trex.runs.open_world import open_world
from trex.runs.record import CHAIN, PRIOR, to_line
from trex.runs.replay import independent_record, round_records
from trex.worlds.kernels import make_sampler
from trex.worlds.samplers.nuts import NutsSampler

OVERRIDES = ["search.stop_when_found=0", "search.control=false"]


def by_hand(path: Path, seed: int) -> bytes:
    """What a run should have written: the prior batch in one go, then all rounds, by `inference` alone."""
    names: dict[bytes, str] = {}
    folder = open_run(path, for_writing=False)

    def keep(picture: Picture) -> str:
        return names.setdefault(picture.pixels.tobytes(), folder.save_picture(picture.pixels, picture.mask))

    with open_world(folder) as world:
        manifest: Manifest = folder.manifest
        options, target = manifest.query.search, manifest.target
        prior = prior_draws(
            seed, range(options.prior_scenes), world.plan.prior, world.scorer, manifest.target
        )
        lines = [to_line(independent_record(PRIOR, draw, target, keep)) for draw in prior]
        begin = start(seed, starts(options.seed, prior, options.chains))
        for done in rounds(world.kernel(target), begin, options.steps):
            lines += [to_line(record) for record in round_records(CHAIN, done, target, keep)]
    return "".join(lines).encode()


def test_a_run_writes_what_the_samplers_give(tmp_path: Path) -> None:
    path = run(tmp_path, OVERRIDES).folder
    assert draws(path) == by_hand(path, seed=0)


def test_another_seed_is_noticed(tmp_path: Path) -> None:
    path = run(tmp_path, OVERRIDES).folder
    assert draws(path) != by_hand(path, seed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("no_reports")
def test_a_sampler_is_that_of_the_run_whatever_the_worker_ran_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a kept world lent its sampler, made for two chains, to a run of one, whose draws it changed."""
    save_models(tmp_path / "models", monkeypatch)
    nuts = ["search.kernel=nuts", "search.steps=32", "search.warmup=28", "search.control=false"]
    runs = [search(tmp_path, [*nuts, f"search.chains={n}"], f"run-{n}").folder for n in (2, 1)]
    worlds = Worlds(1)
    try:
        samplers = [make_sampler(worlds.engine(path).world) for path in runs]
    finally:
        worlds.close()
    assert [sampler.chains for sampler in samplers if isinstance(sampler, NutsSampler)] == [2, 1]
