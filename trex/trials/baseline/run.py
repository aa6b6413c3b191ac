"""`trex baseline`: from query files and a source of pictures to baseline.json and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from trex.artifacts.cache import cache_root
from trex.datasets.examples import Examples
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.pages.wording import world_words
from trex.query.question import named_answers
from trex.query.shipped import query_path, shown_name
from trex.query.target import goal
from trex.runs.folder import check_out
from trex.runs.place import RUNS
from trex.runs.trust import trusted_plan
from trex.scenes.prior import ScenePrior
from trex.trials.baseline.baseline import Baseline
from trex.trials.baseline.beside import attach_runs
from trex.trials.baseline.files import FILES, StoredBaseline
from trex.trials.baseline.score import Planned, RenderedScenes, score_examples
from trex.trials.options import BaselineOptions
from trex.worlds.registry import model_shown
from trex.worlds.world import Plan

K = TypeVar("K")


def make_baseline(
    queries: Sequence[Path],
    overrides: Sequence[str],
    options: BaselineOptions,
    out: Path | None,
    progress: Progress,
) -> StoredBaseline:
    """Score every picture and write OUT/baseline.json, its pictures and OUT/baseline.html, after all cheap checks.

    A query is a file, or the name of a shipped query.
    """
    files = list(dict.fromkeys(map(query_path, queries)))
    place = out or default_out(files)
    check_out(place, FILES)
    plans = [trusted_plan(path, overrides, overrides) for path in files]
    begun = [empty_baseline(*pair) for pair in zip(files, plans, strict=True)]
    if options.dataset is None:
        begun = [_at_look(baseline, plan) for baseline, plan in zip(begun, plans, strict=True)]
    empty = attach_runs(begun, options.beside)
    planned = list(zip(plans, empty, strict=True))
    sources = list(_sources(planned, options))  # all are checked before the first is scored
    results = tuple(
        score_examples(examples, part, options.all_pictures, progress) for examples, part in sources
    )
    problems = tuple(problem for result in results for problem in result.problems)
    done = StoredBaseline(place, results, problems, options.all_pictures)
    done.write()
    return done


def default_out(queries: Sequence[Path]) -> Path:
    """A folder below runs/, named after the first query."""
    more = f"-and-{len(queries) - 1}-more" if len(queries) > 1 else ""
    return RUNS / f"baseline-{queries[0].stem}{more}"


def empty_baseline(path: Path, plan: Plan) -> Baseline:
    """The baseline of a query before any picture is scored."""
    wanted = goal(plan.query.target, plan.question, plan.bound.labels)
    return Baseline(
        query=shown_name(path),
        question=plan.question.text,
        target=plan.target.describe(),
        answers=named_answers(plan.query),
        model=model_shown(plan.query, plan.model_name),
        model_hash=plan.model_key(),
        world=world_words(plan.query),
        source="",
        goal=f"the model {wanted.sentence} ({plan.target.hit_words})",
    )


def _at_look(empty: Baseline, plan: Plan) -> Baseline:
    """The baseline of rendered scenes; InputError if the query's level set is that of a mean over pictures."""
    render = plan.query.render
    if render.pictures > 1:
        raise InputError(
            f"{empty.query}: {render.mean_words} asks for a mean over pictures, and --rendered makes one picture of "
            "each scene; give --set render.noise=1 and --set render.views=1"
        )
    return replace(empty, preset=render.preset)


def _sources(
    planned: Sequence[Planned], options: BaselineOptions
) -> Iterator[tuple[Examples, list[Planned]]]:
    """Each source with the queries that apply to it: one for each kind of world, or for each prior to render."""
    if options.dataset is None:
        yield from _grouped(planned, lambda plan: _rendered(plan, options)).items()
        return
    splits = tuple(dict.fromkeys(options.splits))
    for part in _grouped(planned, lambda plan: plan.world.name).values():
        plans = [plan for plan, _ in part]
        yield plans[0].world.examples(plans, options.dataset, splits), part


def _grouped(planned: Sequence[Planned], key: Callable[[Plan], K]) -> dict[K, list[Planned]]:
    groups: dict[K, list[Planned]] = {}
    for plan, empty in planned:
        groups.setdefault(key(plan), []).append((plan, empty))
    return groups


def _rendered(plan: Plan, options: BaselineOptions) -> RenderedScenes:
    is_own = options.world == "query"
    prior = plan.scenes if is_own else ScenePrior()
    words = f"the query's world ({world_words(plan.query)})" if is_own else "CLEVR's world (3 to 10 objects)"
    cache = options.cache or cache_root() / "baselines"
    return RenderedScenes(prior, plan.query.render, options.rendered or 0, options.seed, words, cache)
