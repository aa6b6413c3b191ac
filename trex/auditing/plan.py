"""The settings of an audit, checked; and how a budget of processor time becomes numbers of scenes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from trex.auditing.defaults import HELD_OUT, PROBED, QUESTIONS, SCENES, TESTED
from trex.auditing.grouping.family import SYMPTOMS
from trex.auditing.judging.confirm import SHOWN
from trex.auditing.judging.flips import TRIED
from trex.auditing.judging.probe import CHANGES
from trex.auditing.sweeping.examine import is_of
from trex.auditing.sweeping.records import MAX_SCENES, Settings
from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import question_of
from trex.foundation.errors import InputError, unknown
from trex.query.schema import RenderSection
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.questions.families import FAMILIES
from trex.worlds.costs import CPU_S
from trex.worlds.fingerprint import probe_probabilities_of, weights_fingerprint
from trex.worlds.world import picture_size

ASKING_S = 0.3  # drawing a scene, its id maps, 50 questions to the shipped model
EXPECTED_FAMILIES = 8
SWEEP_SHARE = 0.7  # of the budget
MAX_HOURS = 1_000_000
CLOSER = SHOWN * (3 + TRIED)  # renders of a family for the scenes that are looked at more closely
LEAST_SCENES = 100
MAX_QUESTIONS = 500


class Sizes(NamedTuple):
    """How many scenes are swept and held out, questions asked about each, and failures of a family rendered again."""

    scenes: int = SCENES
    held_out: int = HELD_OUT
    questions: int = QUESTIONS
    tested: int = TESTED


def planned(hours: float, sizes: Sizes, look: str, deciding: str) -> Sizes:
    """Sizes that fit a budget in CPU hours, PROBED scenes of each family included, however many will be asked for.

    InputError if it is too small for LEAST_SCENES.
    """
    if not 0 < hours <= MAX_HOURS:
        raise InputError(f"--budget {hours:g}: give CPU hours above 0, at most {MAX_HOURS:,}")
    seconds = hours * 3600.0
    each = _cost_s(look) + ASKING_S
    scenes = min(MAX_SCENES, int(seconds * SWEEP_SHARE / each / 2))
    if scenes < LEAST_SCENES:
        least = LEAST_SCENES * 2 * each / SWEEP_SHARE / 3600
        raise InputError(f"--budget {hours:g} is too small at look {look}; give at least {least:.2f}")
    renders = seconds * (1 - SWEEP_SHARE) / EXPECTED_FAMILIES / (_cost_s(deciding) + ASKING_S)
    return sizes._replace(
        scenes=scenes, held_out=scenes, tested=max(5, min(50, int(renders) - CLOSER - PROBED * len(CHANGES)))
    )


def _cost_s(look: str) -> float:
    """CPU seconds for a scene; of a look without a measured cost those of the dearest."""
    return CPU_S.get(look, max(CPU_S.values()))


def audit_settings(
    model: ClevrModel,
    prior: ScenePrior,
    sizes: Sizes,
    looks: tuple[str, str],
    sure: float,
    seed: int,
    weigh: Sequence[str],
    families: Sequence[str] = (),
) -> Settings:
    """The settings with every value checked; InputError names the first that is wrong. Nothing is rendered."""
    bounds = {
        "scenes": (1, MAX_SCENES), "held_out": (1, MAX_SCENES), "questions": (1, MAX_QUESTIONS),
        "tested": (1, 1000),
    }  # fmt: skip
    for name, (low, high) in bounds.items():
        value = getattr(sizes, name)
        if not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"--{name.replace('_', '-')} {value}: give {low} to {high:,}")
    if not 0.5 < sure < 1:
        raise InputError(f"--sure {sure:g}: give a probability above .5 and below 1")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"--seed {seed}: give 0 to 2^63 - 1")
    for look in looks:
        picture_size(RenderSection(preset=look))
    question = "How many things are there?"
    bound = bound_to(model, question_of(question, parse(question)))
    return Settings(
        model=model.name,
        weights=weights_fingerprint(model.name, bound),
        world=hashlib.sha256(repr(prior.world).encode()).hexdigest()[:16],
        **sizes._asdict(),
        look=looks[0],
        deciding=looks[1],
        sure=sure,
        seed=seed,
        severity=dict(map(_weight, weigh)),
        families=_families(families),
        probe_probabilities=probe_probabilities_of(bound),
    )


def _families(names: Sequence[str]) -> tuple[str, ...]:
    """The names in order, each once; InputError for one that is no kind and no family of CLEVR's questions."""
    kinds = list(dict.fromkeys(family.kind for family in FAMILIES))
    for name in names:
        if not any(is_of(family, (name,)) for family in FAMILIES):
            raise unknown("kind or family of questions in --families", name, kinds)
    return tuple(sorted(set(names)))


def _weight(words: str) -> tuple[str, float]:
    name, _, value = words.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not name or not 0 <= weight < math.inf:
        raise InputError(f"--weigh {words}: give SYMPTOM=WEIGHT, such as missed=3")
    if name not in SYMPTOMS:
        raise unknown("symptom of --weigh", name, SYMPTOMS)
    return name, weight
