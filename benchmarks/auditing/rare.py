"""Does an audit find faults that occur in one scene of some thousand: python -m benchmarks.auditing.rare --out FOLDER.

Two models misread purple objects under three planted conditions, which hold in some .04% of the scenes of five or six
objects. `trex.audit` is told nothing and renders at most 2,000 pictures, once with and once without scenes chosen for
rare failures. A fault is found if a confirmed family has its three conditions and no other. The interval of its rate is
held against `--drawn` scenes that nothing else uses. Pictures are the fake renderer's; the model recognizes each by its
bytes, so that what it misreads follows from the scene. One JSON line an audit; finished ones are not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import environ
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import trex
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.foundation.files import make_folder
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.graph import Facts, facts_of
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.programs import InvalidProgram, Step, execute_on
from trex.scenes.scene import Scene, SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR

SURE = 0.99
WORLD = "[scene]\nobjects = [5, 6]\n"
BUDGET = 2000
SIZES = {  # renders of the sweep, up to `rare` copies of failures included; some 100 are left to look again at failures
    "with": {"scenes": 600, "held_out": 650, "rare": 300},
    "without": {"scenes": 900, "held_out": 1000, "rare": 0},
}
Fault = Callable[[Facts, int, SceneObject], SceneObject]  # what an object is seen as
Floats = NDArray[np.float64]


def hidden_cylinder(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A purple cylinder less than 20% visible is seen as a cube."""
    is_met = item.color == "purple" and item.shape == "cylinder" and facts.shares[index] < 0.2
    return with_attribute(item, "shape", "cube") if is_met else item


def hidden_in_low_light(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A purple object less than 20% visible is seen as blue when the key light is low."""
    is_met = item.color == "purple" and facts.shares[index] < 0.2 and facts.scene.nuisances.key[2] < -0.5
    return with_attribute(item, "color", "blue") if is_met else item


FAULTS: dict[str, tuple[Fault, frozenset[str]]] = {
    "hidden cylinder": (hidden_cylinder, frozenset({"color purple", "shape cylinder", "visible 0.2"})),
    "hidden in low light": (hidden_in_low_light, frozenset({"color purple", "visible 0.2", "key low"})),
}


@dataclass
class Misreader:
    """A model that answers any question about a scene as it misreads it; knows the scenes that it is shown."""

    fault: Fault
    seen: dict[bytes, SceneSets] = field(default_factory=dict)

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, 28) probabilities for pictures (B, H, W, 3) in [0, 1]; of a picture of no scene all alike."""
        rows = np.full((len(pictures), len(ANSWERS)), (1.0 - SURE) / (len(ANSWERS) - 1))
        for row, picture in zip(rows, pictures, strict=True):
            sets = self.seen.get(np.rint(picture * 255.0).astype(np.uint8).tobytes())
            if sets is None:
                row[:] = 1.0 / len(ANSWERS)
            else:
                row[ANSWERS.index(_answer(question, sets))] = SURE
        return rows

    def shown(self, scene: Scene, picture: Picture) -> None:
        """Remember what the scene of a picture is read as."""
        if (key := picture.pixels.tobytes()) not in self.seen:
            self.seen[key] = scene_sets(misread(self.fault, facts_of(scene, CLEVR)))


def misread(fault: Fault, facts: Facts) -> Scene:
    """The scene as a model with this fault reads it."""
    items = (fault(facts, index, item) for index, item in enumerate(facts.scene.objects))
    return replace(facts.scene, objects=tuple(items))


def _answer(question: Question, sets: SceneSets) -> str:
    try:
        return execute_on(tuple(Step(*step) for step in question.program), sets)
    except InvalidProgram:
        return "no"


@contextmanager
def showing(model: Misreader, cache: Path) -> Iterator[list[int]]:
    """Within it, the model knows each scene that the fake renderer draws; yields the number of pictures so far."""
    render, count = FakeRenderer.render, [0]

    def shown(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        pictures = list(render(renderer, zs))
        count[0] += len(pictures)
        for scene, picture in zip(zs, pictures, strict=True):
            model.shown(scene, picture)
        return pictures

    with (
        patch.object(FakeRenderer, "render", shown),
        patch.dict(environ, TREX_CACHE_DIR=str(cache)),
    ):
        yield count


def audited(name: str, way: str, seed: int, out: Path, truth: float) -> dict[str, object]:
    """The figures of one audit; `truth` is the rate of the fault."""
    fault, planted = FAULTS[name]
    model, begun = Misreader(fault), process_time()
    world = out.with_suffix(".toml")
    world.write_text(WORLD)
    with showing(model, out.with_suffix(".cache")) as count:
        done = trex.audit(
            model,
            world=world,
            preset="fake",
            confirm_preset="fake",
            questions=16,
            tested=10,
            probed=1,
            seed=seed,
            bank_seed=seed,
            out=out,
            progress=False,
            bank=out.with_suffix(".bank"),
            **SIZES[way],
        )
    right = [each for each in done.families if {c.key for c in each.family.pattern.conditions} == planted]
    low, high = right[0].rate_interval if right else (0.0, 1.0)
    return {
        "fault": name,
        "audit": way,
        "seed": seed,
        "renders": count[0],
        "found": bool(right) and count[0] <= BUDGET,
        "families": [each.words for each in done.families],
        "rate": [round(right[0].rate, 6), round(low, 6), round(high, 6)] if right else None,
        "true_rate": truth,
        "holds_truth": low <= truth <= high if right else None,
        "cpu_s": round(process_time() - begun, 1),
    }


def true_rate(name: str, drawn: int) -> float:
    """The share of so many scenes in which the fault shows."""
    fault, prior = FAULTS[name][0], trex.ScenePrior(n_objects=(5, 6))
    facts = (facts_of(prior.sample(np.random.default_rng([77, i])), CLEVR) for i in range(drawn))
    return float(np.mean([misread(fault, each) != each.scene for each in facts]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each audit, and how many found their fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20), metavar=("FIRST", "END"))
    parser.add_argument("--fault", choices=list(FAULTS), action="append")
    parser.add_argument("--audit", choices=list(SIZES), action="append")
    parser.add_argument("--drawn", type=int, default=20_000)
    chosen = parser.parse_args(arguments)
    make_folder(chosen.out)
    for name in chosen.fault or FAULTS:
        truth = true_rate(name, chosen.drawn)
        for way in chosen.audit or SIZES:
            for seed in range(*chosen.seeds):
                kept = chosen.out / f"{name.replace(' ', '-')}-{way}-{seed}.json"
                if not kept.exists():
                    kept.write_text(json.dumps(audited(name, way, seed, kept.with_suffix(""), truth)) + "\n")
                print(kept.read_text().strip(), flush=True)


if __name__ == "__main__":
    main()
