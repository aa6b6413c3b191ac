"""Ray's workers carry out queries of every kind of world, to the draws that one process makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.running.farm_pools import add, farmed, undisturbed_text, work
from tests.running.runs import QUERY
from tests.worlds import toy_disk
from trex.farm.queue import queue
from trex.farm.queue.entry import run_path
from trex.farm.workers.tasks import PrepareRun, TaskResult
from trex.farm.workers.worker import Worker, worker_log
from trex.query.schema import RenderSection
from trex.scenes.vocabulary import CLEVR
from trex.worlds.world import open_renderer

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'bayes-trex[farm]'")

SMALL = "[search]\nprior_scenes = 16\nfurther = 0\nchains = 2\nsteps = 6\n"
LONGER = SMALL.replace("steps = 6", "steps = 32")
MIDDLE = '[target]\nkind = "threshold"\nthreshold = 0.5\nwidth = 0.1\n'
WORLDS = {
    "clevr": QUERY,
    "digits of a VAE": f'answer = "2"\n[generator]\nname = "mnist-vae"\n{MIDDLE}{SMALL}',
    "digits of a GAN": f'answer = "2"\n[generator]\nname = "mnist-gan"\n{MIDDLE}{SMALL}',
    "garments of a VAE": f'answer = "Trouser"\n[generator]\nname = "fashion-vae"\n{MIDDLE}{SMALL}',
    "garments of a GAN": f'answer = "Trouser"\n[generator]\nname = "fashion-gan"\n{MIDDLE}{SMALL}',
    "a user's own": f'answer = "far"\n[generator]\nname = "own_disk:disk"\n{MIDDLE}{SMALL}',
    "a user's own, by NUTS": (
        f'answer = "far"\n[generator]\nname = "own_disk:disk"\n{MIDDLE}{LONGER}kernel = "nuts"\nwarmup = 28\n'
    ),
}


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.usefixtures("no_ray_left")
def test_rays_workers_carry_out_queries_of_every_kind_of_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trex.farm.workers.ray_cluster import Cluster
    from trex.farm.workers.ray_pool import RayPool

    monkeypatch.setenv("RAY_worker_niceness", "0")  # Ray's workers give way to everything else
    monkeypatch.chdir(tmp_path)  # the user's module lies where trex is called
    shutil.copy(toy_disk.__file__, tmp_path / "own_disk.py")
    whole = {name: undisturbed_text(tmp_path, text, name) for name, text in WORLDS.items()}
    entries = {name: add(tmp_path, [()], text=text)[0] for name, text in WORLDS.items()}
    ended = work(tmp_path, RayPool(tmp_path / "runs", 2, Cluster(None, 2, None)), 60.0)
    reasons = {name: queue.entry(tmp_path / "runs", entry.id).why for name, entry in entries.items()}
    assert reasons == dict.fromkeys(WORLDS, "")
    assert (ended.done, ended.failed) == (len(WORLDS), 0)
    assert {name: farmed(tmp_path, [entry])[0] for name, entry in entries.items()} == whole


@pytest.mark.parametrize("name", list(WORLDS))
def test_a_worker_of_one_process_opens_every_kind_of_world(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(toy_disk.__file__, tmp_path / "own_disk.py")
    (entry,) = add(tmp_path, [()], text=WORLDS[name])
    worker = Worker(worker_log(tmp_path / "runs", "one"), processes=1)
    answer = worker.do(PrepareRun(run_path(tmp_path / "runs", entry)))
    worker.close()
    assert isinstance(answer, TaskResult), answer


def test_blender_gets_as_many_processes_as_the_plan_or_else_the_query_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    monkeypatch.setattr(
        "trex.render.blender.blender_renderer.BlenderRenderer", lambda *given: counts.append(given[-1])
    )
    section = RenderSection(preset="draft", processes=3)
    for processes in (None, 1):
        open_renderer(section, CLEVR, processes)
    assert counts == [3, 1]
