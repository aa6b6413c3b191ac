"""A tiny execution engine, trained here on rendered scenes of the fake world, answers programs it never ran (nightly).

It is trained with programs of one and two colors on some pairs of colors, asked with other pairs on other scenes, and
asked again with the arguments of its binary modules the other way round: then it has to be wrong.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.references.iep_reference import VOCABULARY
from tests.references.prefix_programs import from_prefix
from trex.clevr_models.iep.networks import ExecutionEngine
from trex.clevr_models.iep.sizes import EngineSizes
from trex.clevr_models.iep.vocabulary import Call, calls_of
from trex.render.fake import FakeRenderer
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.programs import execute
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

GRID = (10, 15)
SIZES = EngineSizes(feature_dim=(5, *GRID), module_dim=16, classifier_proj_dim=16, classifier_fc_layers=(32,))
COLORS = ("red", "blue", "yellow", "cyan")
PAIRS = list(permutations(COLORS, 2))
HELD_OUT = (("red", "blue"), ("blue", "yellow"), ("cyan", "red"))  # their reverses are trained on
TRAIN, TEST, BATCH, STEPS = 1200, 300, 48, 1500
YES, NO = VOCABULARY.answers.index("yes"), VOCABULARY.answers.index("no")


def exists(color: str) -> str:
    return f"exist filter_color[{color}] scene"


def compares(function: str, pair: tuple[str, str]) -> str:
    return f"{function} count filter_color[{pair[0]}] scene count filter_color[{pair[1]}] scene"


def rendered(rng: np.random.Generator, n: int) -> tuple[list[Scene], Tensor]:
    """Scenes of large things in four colors, and coarse pictures of them with the place of each cell."""
    vocabulary = CLEVR.revoke("small")
    for color in set(CLEVR.colors) - set(COLORS):
        vocabulary = vocabulary.revoke(color)
    prior = ScenePrior(vocabulary, (3, 6))
    scenes = [prior.sample(rng) for _ in range(n)]
    pixels = np.stack([picture.pixels for picture in FakeRenderer(vocabulary=vocabulary).render(scenes)])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1
    y, x = (torch.linspace(-1, 1, size) for size in GRID)
    places = torch.stack(torch.meshgrid(y, x, indexing="ij")).expand(n, 2, *GRID)
    return scenes, torch.cat([functional.adaptive_avg_pool2d(images, GRID), places], dim=1)


def truths(scenes: list[Scene], program: str) -> Tensor:
    steps = from_prefix(program.split())
    return torch.tensor([YES if execute(steps, scene) == "yes" else NO for scene in scenes])


def balanced(rng: np.random.Generator, truth: Tensor, n: int) -> Tensor:
    """n rows, as many of either answer."""
    halves = [np.flatnonzero(truth.numpy() == answer) for answer in (YES, NO)]
    return torch.from_numpy(np.concatenate([rng.choice(half, n // 2) for half in halves]))


def trained(rng: np.random.Generator) -> ExecutionEngine:
    scenes, features = rendered(rng, TRAIN)
    functions = ("less_than", "greater_than")
    programs = [compares(f, pair) for f in functions for pair in PAIRS if pair not in HELD_OUT]
    programs += [exists(color) for color in COLORS]
    answers = {program: truths(scenes, program) for program in programs}
    torch.manual_seed(1)
    engine = ExecutionEngine(SIZES, VOCABULARY.programs, len(VOCABULARY.answers))
    optimizer = torch.optim.Adam(engine.parameters(), lr=1e-3)
    for _ in range(STEPS):
        program = programs[rng.integers(len(programs))]
        rows = balanced(rng, answers[program], BATCH)
        logits = engine(features[rows], calls_of(program.split()))
        optimizer.zero_grad()
        functional.cross_entropy(logits, answers[program][rows]).backward()
        optimizer.step()
    return engine.eval()


def share_right(engine: ExecutionEngine, rng: np.random.Generator, swapped: bool) -> float:
    scenes, features = rendered(rng, TEST)
    right = []
    for function in ("less_than", "greater_than"):
        for pair in HELD_OUT:
            truth = truths(scenes, compares(function, pair))
            rows = balanced(rng, truth, 100)
            *before, last = calls_of(compares(function, pair).split())
            calls = (*before, Call(last.token, last.inputs[::-1] if swapped else last.inputs))
            right.append(engine(features[rows], calls).argmax(dim=1) == truth[rows])
    return float(torch.cat(right).float().mean())


@pytest.mark.nightly
def test_a_trained_engine_answers_programs_it_never_ran() -> None:
    torch.set_num_threads(1)
    engine = trained(np.random.default_rng(11))
    with torch.no_grad():
        right, swapped = (share_right(engine, np.random.default_rng(12), how) for how in (False, True))
    print(f"right: {right:.3f}; arguments the other way round: {swapped:.3f}")
    assert right > 0.8 and swapped < 0.5
