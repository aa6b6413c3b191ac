"""The settings of an audit, checked; and how a budget of processor time becomes numbers of scenes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from trex.auditing.judging.confirm import SHOWN
from trex.auditing.judging.flips import TRIED
from trex.auditing.judging.probe import CHANGES
from trex.auditing.options import MAX_SCENES, AuditOptions
from trex.auditing.sweeping.examine import is_of
from trex.auditing.sweeping.records import Settings
from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import question_of
from trex.families.symptom import SYMPTOMS
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
PROBED = AuditOptions.model_fields["probed"].default


def planned(hours: float, options: AuditOptions) -> AuditOptions:
    """The options with sizes that fit a budget in CPU hours, PROBED scenes of each family included, however many.

    InputError if it is too small for LEAST_SCENES.
    """
    if not 0 < hours <= MAX_HOURS:
        raise InputError(f"--budget {hours:g}: give CPU hours above 0, at most {MAX_HOURS:,}")
    seconds = hours * 3600.0
    each = _cost_s(options.preset) + ASKING_S
    scenes = min(MAX_SCENES, int(seconds * SWEEP_SHARE / each / 2))
    if scenes < LEAST_SCENES:
        least = LEAST_SCENES * 2 * each / SWEEP_SHARE / 3600
        raise InputError(
            f"--budget {hours:g} is too small at preset {options.preset}; give at least {least:.2f}"
        )
    renders = seconds * (1 - SWEEP_SHARE) / EXPECTED_FAMILIES / (_cost_s(options.confirm_preset) + ASKING_S)
    tested = max(5, min(50, int(renders) - CLOSER - PROBED * len(CHANGES)))
    return options.changed(scenes=scenes, held_out=scenes, tested=tested)


def _cost_s(look: str) -> float:
    """CPU seconds for a scene; of a look without a measured cost those of the dearest."""
    return CPU_S.get(look, max(CPU_S.values()))


def audit_settings(model: ClevrModel, prior: ScenePrior, options: AuditOptions) -> Settings:
    """The settings that these options give; InputError names the first that is wrong. Nothing is rendered."""
    for look in (options.preset, options.confirm_preset):
        picture_size(RenderSection(preset=look))
    question = "How many things are there?"
    bound = bound_to(model, question_of(question, parse(question)))
    return Settings(
        model=model.name,
        weights=weights_fingerprint(model.name, bound),
        world=hashlib.sha256(repr(prior.world).encode()).hexdigest()[:16],
        scenes=options.scenes,
        held_out=options.held_out,
        questions=options.questions,
        tested=options.tested,
        look=options.preset,
        deciding=options.confirm_preset,
        sure=options.sure,
        seed=options.seed,
        severity=dict(map(_weight, options.weigh)),
        families=_families(options.families),
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
