"""`wrong = true`: a search among the scenes in which the answer is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.references.scene_strategies import random_scene
from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, run, write_query
from trex.bank.named import bank_world
from trex.datasets.examples import Example
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.scenes.questions.truth import true_answer
from trex.worlds.registry import check

WRONG = QUERY.replace('answer = "2"\n', 'answer = "2"\nwrong = true\n')
BANK = ["search.bank=40", "search.prior_scenes=20", "search.inner=3", "render.fresh=1"]


@pytest.mark.parametrize("more", [[], BANK])
def test_every_scene_of_a_search_is_one_where_the_answer_is_wrong(more: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, ["wrong=true", "target.width=0.3", *more])
    with open_run(done.folder, for_writing=False) as folder:
        program = folder.manifest.question.program
        scored = [record for record in run_draws(folder) if record.is_rendered]
    truths = [true_answer(program, record.scene) for record in scored]
    assert len(truths) > 20 and "2" not in truths
    assert len(set(truths)) > 1
    assert done.results.found and all(hit.is_wrong for hit in done.results.found if hit.answer == "2")
    if not more:
        free = run(tmp_path, ["target.width=0.3"], "free")
        with open_run(free.folder, for_writing=False) as folder:
            assert "2" in [true_answer(program, record.scene) for record in run_draws(folder)]


def test_check_and_the_page_name_the_condition(tmp_path: Path) -> None:
    query = write_query(tmp_path, WRONG)
    assert "only where 2 is wrong" in trex("check", query).stdout
    trex_done("find", query, "--out", tmp_path / "run")
    assert "only where 2 is wrong" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (['question="How many cubes are there?"', "answer=0"], ["none of 300 scenes", "other than '0'"]),
        (["target.kind=uniform", "answer=[]"], ["wrong = true needs answers", "'uniform' names none"]),
        (['wrong="yes"'], ["wrong", "bool"]),
    ],
)
def test_a_condition_without_sense_is_refused(settings: list[str], parts: list[str], tmp_path: Path) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    refused(trex("check", write_query(tmp_path, WRONG), *options), *parts)


def test_digits_have_no_true_answer(tmp_path: Path) -> None:
    refused(trex("check", "mnist_1_or_7", "--set", "wrong=true"), "pictures of 'mnist-vae' have none")


def test_a_bank_of_wrong_answers_is_another_one(tmp_path: Path) -> None:
    worlds = [bank_world(write_query(tmp_path, text)) for text in (QUERY, WRONG)]
    assert worlds[0] == replace(worlds[1], wrong=None) and worlds[1].wrong is not None
    for text in (QUERY, WRONG):
        query = write_query(tmp_path, text)
        trex_done("render", "bank", query, "--preset", "fake", "--scenes", "3", "--bank", tmp_path / "banks")
    assert len(list((tmp_path / "banks").glob("*/bank.json"))) == 2


def test_a_picture_is_in_the_world_of_the_query_if_the_answer_is_wrong_of_it(tmp_path: Path) -> None:
    plan = check(write_query(tmp_path, WRONG))
    pixels = np.zeros((2, 3, 3), np.uint8)
    for red in range(4):
        scene = random_scene(np.random.default_rng(0), 3)
        items = [
            replace(item, shape="sphere", color="red" if k < red else "blue")
            for k, item in enumerate(scene.objects)
        ]
        example = Example("one", "val", pixels, replace(scene, objects=tuple(items)))
        assert plan.world.known(plan, example).is_possible is (red != 2)
