"""Does an audit find faults that occur in one scene of some thousand: python -m benchmarks.auditing.rare --out FOLDER.

Models misread purple objects under planted conditions. Two of them have three, which hold in some .04% of the scenes of
five or six objects: `trex.audit` is told nothing and renders at most 2,000 pictures, once with and once without scenes
chosen for rare failures. The third has four, which hold in .01%: the audit renders at most 3,000 (`--audit more`). A
fault is found if a confirmed family has all of its conditions and no other. The interval of its rate is
held against `--drawn` scenes that nothing else uses. Pictures are the fake renderer's. One JSON line an audit; finished
ones are not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np

import trex
from benchmarks.auditing.misreader import Fault, Misreader, misread, showing
from trex.foundation.files import make_folder
from trex.scenes.graph import Facts, facts_of
from trex.scenes.scene import SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR

WORLD = "[scene]\nobjects = [5, 6]\n"
BUDGETS = {"with": 2000, "without": 2000, "more": 3000}
SIZES = {  # renders of the sweep, up to `rare` copies of failures included; some 100 are left to look again at failures
    "with": {"scenes": 600, "held_out": 650, "rare": 300},
    "without": {"scenes": 900, "held_out": 1000, "rare": 0},
    "more": {"scenes": 600, "held_out": 600, "rare": 1500},
}


def hidden_cylinder(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A purple cylinder less than 20% visible is seen as a cube."""
    is_met = item.color == "purple" and item.shape == "cylinder" and facts.shares[index] < 0.2
    return with_attribute(item, "shape", "cube") if is_met else item


def hidden_in_low_light(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A purple object less than 20% visible is seen as blue when the key light is low."""
    is_met = item.color == "purple" and facts.shares[index] < 0.2 and facts.scene.nuisances.key[2] < -0.5
    return with_attribute(item, "color", "blue") if is_met else item


def hidden_cylinder_in_low_light(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A purple cylinder less than 20% visible is seen as a cube when the key light is low."""
    return hidden_cylinder(facts, index, item) if facts.scene.nuisances.key[2] < -0.5 else item


FAULTS: dict[str, tuple[Fault, frozenset[str]]] = {
    "hidden cylinder": (hidden_cylinder, frozenset({"color purple", "shape cylinder", "visible 0.2"})),
    "hidden in low light": (hidden_in_low_light, frozenset({"color purple", "visible 0.2", "key low"})),
    "hidden cylinder in low light": (
        hidden_cylinder_in_low_light,
        frozenset({"color purple", "shape cylinder", "visible 0.2", "key low"}),
    ),
}


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
        "found": bool(right) and count[0] <= BUDGETS[way],
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
