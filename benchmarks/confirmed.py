r"""Do the sentences that runs state of a model hold in fresh scenes?

    trex render bank QUERY.toml --scenes 1500 --seed 1 --preset fast
    python -m benchmarks.confirmed runs/A runs/B --out runs/confirmed.jsonl

The first command is optional: it renders the fresh scenes ahead, once for all runs of a world and look. They are
members of a bank with a seed of its own (`--seed`), so that no search has seen one. Each run's question is asked about
them, and every wrong answer is traced, or with `--in-set` those in the level set alone, which takes less time. `--out`
keeps the answers, so the same command resumes.

Prints one JSON line a family, and one a run. `inside`: of the objects under the stated conditions, those that are
misread as stated, value included, so that a wrong answer follows. `outside`: the same of objects that could be misread
so, but do not meet the conditions. Both have the interval of a search's own shares (`trex.families.cases.judged`). A
family `holds` if the interval inside lies above the share outside; one without conditions, if fresh scenes show it at
all. `in_set` counts answers in the level set alone. `as`: of all misreadings of the kind under the conditions, those as
the stated value. `said` is what the run itself states of other random scenes. Families of an audit are held against
fresh scenes by `benchmarks.auditing.real_models`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.bank.bank import BATCH, check_number
from trex.explain.run_families import explained_results
from trex.explain.traces import traced
from trex.families.cases import counts, judged
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family, Share
from trex.families.symptom import DECIDES, RESPONSIBLE, SOUGHT, Failure
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.inference.scoring import Scored, images
from trex.inference.statistics.proportion import Proportion, share
from trex.inference.statistics.two_phase import everyone
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.runs.open_world import open_world
from trex.scenes.graph import facts_of
from trex.scenes.scene import Scene
from trex.search.engine import open_bank
from trex.trials.lines import Lines
from trex.worlds.looks import DECIDING, deciding_scorer
from trex.worlds.world import OpenWorld

UNTRACED = (SOUGHT, RESPONSIBLE, DECIDES)  # say nothing of what the model misreads


@dataclass(frozen=True)
class Asked:
    """A run's question about a fresh scene, by its number in the bank: the answer, and the misreading behind it.

    `every`: wrong answers outside the level set are traced, too.
    """

    run: str
    seed: int
    every: bool
    member: int
    in_set: bool
    is_wrong: bool
    failures: tuple[Failure, ...]


class Side(NamedTuple):
    """How many units fail as stated, of how many; their share with the interval."""

    fail: int
    of: int
    share: Share

    def rounded(self) -> dict[str, object]:
        """As printed."""
        return {"count": self.fail, "of": self.of, **said(self.share)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask and trace what is missing, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scenes", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-set", action="store_true")
    chosen = parser.parse_args(arguments)
    check_number(chosen.scenes)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with Lines(chosen.out, Codec(Asked)) as log:
        for path in chosen.runs:
            with open_run(path, for_writing=False) as folder:
                for line in confirmed(folder, log, chosen.scenes, chosen.seed, not chosen.in_set):
                    print(json.dumps({"run": str(path), **line}), flush=True)


def confirmed(
    folder: RunFolder, log: Lines[Asked], n: int, seed: int, every: bool
) -> Iterator[dict[str, object]]:
    """The figures of each stated family of a run in n fresh scenes, and those of the run."""
    if seed == folder.manifest.query.search.bank_seed:
        raise InputError(f"--seed {seed}: the run's own scenes are of this seed; give another")
    families = [each.stated for each in explained_results(folder, run_draws(folder)).families.known]
    kind = (str(folder.path), seed, every)
    asked = [each for each in log.values if (each.run, each.seed, each.every) == kind]
    with open_world(folder) as world, open_bank(world, DECIDING, seed, is_optional=False) as bank:
        scorer = deciding_scorer(
            world.plan.query.render, bank.renderer, world.plan.bound, folder.manifest.vocabulary
        )
        for at in range(len(asked), n, BATCH):
            members = range(at, min(at + BATCH, n))
            scenes = bank.scenes(members)
            rows = [
                Asked(*kind, k, *answered(folder.manifest, world, scene, scored, every))
                for k, scene, scored in zip(members, scenes, scorer.score(scenes), strict=True)
            ]
            log.append(rows)
            asked += rows
        vocabulary = folder.manifest.vocabulary
        conditions = conditions_of(vocabulary)
        situations = [
            Situation(facts_of(scene, vocabulary), row.failures, conditions)
            for scene, row in zip(bank.scenes(range(n)), asked[:n], strict=True)
        ]
    for family in families:
        if family.symptom not in UNTRACED:
            yield figures(family, situations, asked[:n])
    yield whole(families, situations, asked[:n])


def answered(
    manifest: Manifest, world: OpenWorld, scene: Scene, scored: Scored, every: bool
) -> tuple[bool, bool, tuple[Failure, ...]]:
    """Whether an answer is in the level set, whether it is wrong, and the misreading behind it."""
    best = int(np.argmax(scored.log_probs))
    answer = manifest.facts.labels[best]
    is_wrong = manifest.world.judge(manifest.resolved, scene, answer).is_wrong is True
    in_set = bool(manifest.target.is_hit(scored.log_probs))
    failures: tuple[Failure, ...] = ()
    if is_wrong and (in_set or every):
        said = answer, float(np.exp(scored.log_probs[best]))
        (image,) = images([scored.picture])
        failures = traced("prior", world, manifest, scene, image, said).failures
    return in_set, is_wrong, failures


def figures(family: Family, scenes: Sequence[Situation], asked: Sequence[Asked]) -> dict[str, object]:
    """What fresh scenes and the answers about them show of a family as its sentence states it."""
    failing = {k: scene for k, scene in enumerate(scenes) if scene.failures}
    in_set = {k: scene for k, scene in failing.items() if asked[k].in_set}
    wrong = shares(family, failing, scenes)
    of_kind = sum(int(counts(family.wider, scene)[0, 0]) for scene in failing.values())
    return {
        "sentence": family.words,
        "established": family.is_established,
        "members": family.size,
        "inside": wrong[0].rounded(),
        "outside": wrong[1].rounded(),
        "holds": wrong[0].share.low > wrong[1].share.value,
        "as": rounded(Proportion(wrong[0].fail, of_kind)),
        "in_set": {
            name: side.rounded()
            for name, side in zip(("inside", "outside"), shares(family, in_set, scenes), strict=True)
        },
        "said": family.judged
        and {"inside": said(family.judged.inside), "outside": said(family.judged.outside)},
    }


def shares(
    family: Family, failing: Mapping[int, Situation], scenes: Sequence[Situation]
) -> tuple[Side, Side]:
    """What fails under the conditions, and outside of them."""
    known = judged(family, failing, everyone(len(scenes)), scenes)
    could = sum((counts(family, scene)[:, 1] for scene in scenes), np.zeros(2, np.int64))
    fail = sum((counts(family, scene)[:, 0] for scene in failing.values()), np.zeros(2, np.int64))
    inside, outside = (
        Side(int(fail[k]), int(could[k]), each) for k, each in enumerate((known.inside, known.outside))
    )
    return inside, outside


def whole(
    families: Sequence[Family], scenes: Sequence[Situation], asked: Sequence[Asked]
) -> dict[str, object]:
    """Of the wrong answers that were traced, and of those in the level set, the share that some sentence states."""
    wrong = [
        (each, row)
        for each, row in zip(scenes, asked, strict=True)
        if row.is_wrong and (row.every or row.in_set)
    ]
    stated = [any(counts(family, each)[0, 0] for family in families) for each, _ in wrong]
    of_set = [flag for flag, (_, row) in zip(stated, wrong, strict=True) if row.in_set]
    return {"scenes": len(asked), "wrong": rounded(share(stated)), "in_set": rounded(share(of_set))}


def said(found: Share) -> dict[str, object]:
    """A share that the run states, with its interval."""
    return {"share": round(found.value, 4), "interval": [round(found.low, 4), round(found.high, 4)]}


def rounded(found: Proportion) -> dict[str, object]:
    """A share with its counts and interval."""
    interval = [round(end, 4) for end in found.interval]
    return {"count": found.count, "of": found.of, "share": round(found.value, 4), "interval": interval}


if __name__ == "__main__":
    main()
