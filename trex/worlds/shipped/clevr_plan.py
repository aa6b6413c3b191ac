"""Plans a query in CLEVR's world: vocabulary, question, model and renderer; and checks that there are scenes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.query.question import ResolvedQuestion, named_answers, resolve_question
from trex.query.schema import Query, RenderSection, SceneSection
from trex.query.shape_cards import read_card
from trex.query.target import make_target
from trex.render.presets import ANALYTIC
from trex.scenes.prior import ScenePrior, draw_positions
from trex.scenes.properties import RADIUS
from trex.scenes.questions.wrong_answer import WrongAnswer
from trex.scenes.scene import Scene
from trex.scenes.validity import MIN_GAP
from trex.scenes.vocabulary import CLEVR, Vocabulary
from trex.worlds.costs import CPU_S
from trex.worlds.description import Outline, Provenance
from trex.worlds.fingerprint import file_fingerprint, model_fingerprint, probe_probabilities_of
from trex.worlds.kernels import check_gradients, check_search, make_proposal
from trex.worlds.latents import OpenRenderer
from trex.worlds.looks import Looks, deciding_scorer, ladder
from trex.worlds.shipped.served_model import with_server
from trex.worlds.world import (
    OpenWorld,
    Plan,
    World,
    open_model,
    open_renderer,
    picture_size,
    size_without_blender,
)


def plan_scenes(world: World[Scene], query: Query, query_dir: Path) -> Plan:
    """The plan for a query, after all cheap checks: words, answers, shapes, weights."""
    generator = query.generator
    if generator.without or generator.classes:
        raise InputError(
            "[generator] without and classes belong to decoders that are trained on classes; in CLEVR's world, leave "
            'shapes out with [scene] revoke = ["cube"]'
        )
    vocabulary = make_vocabulary(query, query_dir)
    question = resolve_question(query, vocabulary)
    prior = make_prior(query, vocabulary, question)
    _check_render(query.render)
    resolved = check_search(query, "scene", has_noise=size_without_blender(query.render.preset) is None)
    check_gradients(resolved, "scene", has_gradients=False)
    resolved = with_server(resolved)
    model = open_model(resolved.model.name, resolved.model.options)
    bound = bound_to(model, Question(question.text, question.program))
    target = make_target(query.target, question, bound.labels)
    return Plan(
        world=world,
        query=resolved,
        question=question,
        prior=prior,
        model_name=model.name,
        bound=bound,
        target=target,
        outline=_outline(resolved, prior),
        model_key=partial(model_fingerprint, model.name, bound),
        opener=open_scenes,
        cards=vocabulary.cards,
        shapes=partial(_shape_hashes, prior.vocabulary),
        asks=model,
    )


def _outline(query: Query, prior: ScenePrior) -> Outline:
    """The number and kinds of objects, and the condition on them; preset, device and processes."""
    low, high = query.scene.objects
    objects = f"{low}" if low == high else f"{low} to {high}"
    kinds, render = len(prior.vocabulary.combinations()), query.render
    condition = f"; {prior.condition_words}" if prior.condition_words else ""
    return Outline(
        f"{objects} object{'' if high == 1 else 's'} of {counted(kinds, 'kind')}, {_changes(query.scene)}{condition}",
        f"preset {render.preset}, device {render.device}, {_processes(render)}",
    )


def _processes(render: RenderSection) -> str:
    if render.processes is None:
        return "one process per core (at most 4)"
    return counted(render.processes, "process", "processes")


def _changes(scene: SceneSection) -> str:
    revoke, introduce = scene.revoke, scene.introduce
    parts = [f"revoked {', '.join(revoke)}"] if revoke else []
    parts += [f"introduced {', '.join(introduce)}"] if introduce else []
    return "; ".join(parts) or "CLEVR's own"


def make_vocabulary(query: Query, query_dir: Path) -> Vocabulary:
    """CLEVR's vocabulary with the query's shapes introduced and its values revoked."""
    vocabulary = CLEVR
    for which in query.scene.introduce:
        vocabulary = vocabulary.introduce(read_card(which, query_dir))
    for what in query.scene.revoke:
        vocabulary = vocabulary.revoke(what)
    return vocabulary


def make_prior(query: Query, vocabulary: Vocabulary, question: ResolvedQuestion | None) -> ScenePrior:
    """The prior of a query's scenes; InputError if so many objects do not fit, or if `wrong` leaves (almost) none.

    Only a query with `wrong` needs its question.
    """
    wrong = WrongAnswer(question.program, named_answers(query)) if question and query.wrong else None
    prior = ScenePrior(vocabulary, query.scene.objects, wrong)
    check_placement(vocabulary, prior.n_objects[1])
    if question and wrong:
        check_wrong(prior, question.text)
    return prior


def open_scenes(plan: Plan) -> OpenWorld:
    """The plan with its renderer; starts Blender to check that it and the device are available."""
    query, prior = plan.query, plan.scenes
    renderer = open_renderer(query.render, prior.vocabulary, plan.processes)
    proposal = make_proposal(plan.prior, query.search, "scene")
    provenance = Provenance(
        model=model_fingerprint(plan.model_name, plan.bound),
        probe_probabilities=probe_probabilities_of(plan.bound),
        renderer=renderer.key,
        leader=_open_look(plan, ANALYTIC).key
        if query.search.bank and ANALYTIC in ladder(query.render)
        else "",
        shapes=dict(plan.shapes()),
    )
    scorer = deciding_scorer(query.render, renderer, plan.bound, prior.vocabulary)
    looks = Looks(scorer, partial(_open_look, plan), plan.bound)
    return OpenWorld(plan, proposal, scorer, renderer, provenance, picture_size(query.render), looks=looks)


def _open_look(plan: Plan, look: str) -> OpenRenderer[Scene]:
    section = plan.query.render.model_copy(update={"preset": look})
    return open_renderer(section, plan.vocabulary, plan.processes)


def _check_render(section: RenderSection) -> None:
    from trex.render.blender_child.device import check_device
    from trex.render.presets import preset_named

    check_device(section.device)
    for name in (section.preset, *(section.looks or ())):
        if size_without_blender(name) is None:
            preset_named(name)
    looks = section.looks or ()
    if section.preset in looks or len(set(looks)) < len(looks):
        raise InputError(
            f"render.looks = {list(looks)}: cheaper presets than render.preset = {section.preset!r}, each once"
        )
    _check_costs(section, looks)


def _check_costs(section: RenderSection, looks: Sequence[str]) -> None:
    """Raise InputError unless looks are cheaper than a scene at the deciding look, cheapest first.

    One without a measured cost is not compared.
    """
    known = [look for look in looks if look in CPU_S]
    deciding = section.pictures * CPU_S.get(section.preset, math.inf)
    if dear := [look for look in known if CPU_S[look] >= deciding]:
        raise InputError(
            f"render.looks = {list(looks)}: {dear[0]!r} is no cheaper than render.preset = {section.preset!r} "
            f"({CPU_S[dear[0]]:g} and {deciding:g} CPU seconds a scene); leave it out"
        )
    ascending = sorted(known, key=CPU_S.__getitem__)
    if known != ascending:
        raise InputError(f"render.looks = {list(looks)}: name the cheapest first: {', '.join(ascending)}")


def _shape_hashes(vocabulary: Vocabulary) -> dict[str, str]:
    """For each introduced shape, the hashes of its card and its mesh."""
    from trex.render.assets import mesh_paths

    introduced = [card for card in vocabulary.cards if card.name not in CLEVR.shapes]
    if not introduced:
        return {}
    meshes = dict(mesh_paths(vocabulary))
    return {card.name: f"{card.outline} {file_fingerprint(Path(meshes[card.name]))}" for card in introduced}


SURE = 6  # this many objects of any size always fit
BATCH, BATCHES = 8192, 4000  # layouts tried at most; takes seconds, and only if almost nothing fits
SCENES = 300  # tried for a condition; one that holds for 2% of scenes passes with 99.8%


def check_placement(vocabulary: Vocabulary, n: int) -> None:
    """Raise InputError if none of 30 million random layouts of n such objects keeps CLEVR's distances."""
    if n <= SURE:
        return
    rng = np.random.default_rng(0)
    sizes = np.array([RADIUS[size] for _, size, _, _ in vocabulary.combinations()])
    first, second = np.triu_indices(n, 1)
    for _ in range(BATCHES):
        where = draw_positions(rng, BATCH, n)  # (k, n, 2)
        radius = rng.choice(sizes, size=where.shape[:2])
        apart = np.hypot(*np.moveaxis(where[:, first] - where[:, second], -1, 0))
        if np.any(np.all(apart - radius[:, first] - radius[:, second] >= MIN_GAP, axis=1)):
            return
    raise InputError(
        f"{n} objects of this vocabulary do not fit: none of {BATCH * BATCHES:,} random layouts keeps CLEVR's "
        "distances; lower [scene] objects, or revoke fewer small ones"
    )


def check_wrong(prior: ScenePrior, question: str) -> None:
    """Raise InputError if the answers of `prior.wrong` are wrong in none of SCENES scenes drawn without it."""
    wrong, free, rng = prior.wrong, replace(prior, wrong=None), np.random.default_rng(0)
    if wrong is None or any(wrong.is_wrong(free.sample(rng)) for _ in range(SCENES)):
        return
    answers = " or ".join(map(repr, wrong.answers))
    raise InputError(
        f"wrong = true: in none of {SCENES} scenes of this world does {question!r} have a true answer other than "
        f"{answers}; change [scene], the question, or the answer"
    )
