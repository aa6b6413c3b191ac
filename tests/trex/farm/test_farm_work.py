"""Whatever the workers do, how many there are and how often they are lost: the draws are those of one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.running.farm_pools import (
    SEARCHES,
    ChaosPool,
    add,
    farmed,
    new_worker,
    undisturbed,
    work,
)
from tests.running.runs import draws, find, without_reports, write_query
from trex.farm.workers.pool import LocalPool


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with without_reports():
        yield


@pytest.fixture(scope="module")
def whole(quick: None, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What `trex find` writes for each of the searches, one after the other."""
    return undisturbed(tmp_path_factory.mktemp("whole"), list(SEARCHES.values()))


@pytest.mark.slow
def test_one_worker_in_this_process(tmp_path: Path, whole: list[bytes]) -> None:
    entries = add(tmp_path, list(SEARCHES.values()))
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).done == len(entries)
    assert farmed(tmp_path, entries) == whole


@pytest.mark.slow
@pytest.mark.parametrize(("size", "first"), [(2, 0), (5, 1)])
def test_workers_that_get_lost_answer_late_and_twice(
    size: int, first: int, tmp_path: Path, whole: list[bytes]
) -> None:
    """Half of the searches with each number of workers."""
    entries = add(tmp_path, list(SEARCHES.values())[first::2])
    pool = ChaosPool(new_worker(tmp_path), size, seed=size)
    assert work(tmp_path, pool).done == len(entries)
    assert farmed(tmp_path, entries) == whole[first::2]
    assert pool.losses and pool.doubles and pool.late


DISK = """
answer = "far"
[generator]
name = "tests.worlds.toy_disk:disk"
[target]
kind = "threshold"
threshold = 0.9
width = 0.02
[search]
kernel = "nuts"
warmup = 28
steps = 32
chains = 2
prior_scenes = 40
further = 0
"""


@pytest.mark.slow
def test_nuts_too(tmp_path: Path) -> None:
    """A gradient's last bits depend on a chain's place in the batch, and a warmup is made anew where it is cut."""
    torch.set_num_threads(1)  # several on a busy machine wait for one another
    entries = add(tmp_path, [()], text=DISK)
    assert work(tmp_path, ChaosPool(new_worker(tmp_path), 2, seed=0)).done == 1
    find(write_query(tmp_path, DISK), (), tmp_path / "whole")
    assert farmed(tmp_path, entries) == [draws(tmp_path / "whole")]


@pytest.mark.slow
def test_smc_too(tmp_path: Path) -> None:
    """One task moves all particles; the next one resamples them from what the records hold."""
    options = ["search.kernel=smc", "search.chains=8", "search.steps=24", "search.further=0", "answer=5"]
    entries = add(tmp_path, [options])
    assert work(tmp_path, ChaosPool(new_worker(tmp_path), 2, seed=0)).done == 1
    find(write_query(tmp_path), options, tmp_path / "whole")
    assert farmed(tmp_path, entries) == [draws(tmp_path / "whole")]
    assert b'"resampled":1' in draws(tmp_path / "whole")
