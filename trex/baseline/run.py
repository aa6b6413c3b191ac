"""`trex baseline`: from query files and a source of pictures to baseline.json and its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.baseline.baseline import Baseline
from trex.baseline.compared_runs import attach_runs
from trex.baseline.count import PlannedQuery, SourceResult, Tell, named_answers, score_examples
from trex.baseline.json_file import FILE, to_json
from trex.baseline.page import PAGE, page_html
from trex.baseline.rendered import RenderedScenes
from trex.datasets.examples import Examples, Problem
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import disk_error, left_behind, write_atomic
from trex.pages.wording import world_words
from trex.runs.folder import RUNS, check_out
from trex.scenes.prior import ScenePrior
from trex.worlds.query_plan import check
from trex.worlds.world import Plan

WORLDS = ("query", "clevr")
Part = tuple[Examples, tuple[PlannedQuery, ...]]


@dataclass(frozen=True)
class BaselineOptions:
    """The source of a baseline: a data folder with the splits to take, or `rendered` scenes of a world."""

    dataset: Path | None = None
    splits: tuple[str, ...] = ()
    rendered: int | None = None
    world: str = "query"
    seed: int = 0
    cache: Path | None = None
    beside: tuple[Path, ...] = ()
    all_pictures: bool = False

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.rendered is None):
            raise InputError("give either --dataset DIR, or --rendered N for N scenes of the prior")
        if self.splits and self.dataset is None:
            raise InputError("--split belongs to --dataset; rendered scenes have no splits")
        if self.world not in WORLDS:
            raise unknown("world", self.world, WORLDS)


@dataclass(frozen=True)
class BaselineOutcome:
    """A counted and written baseline."""

    out: Path
    baselines: tuple[Baseline, ...]
    problems: tuple[Problem, ...]


def make_baseline(
    queries: Sequence[Path], overrides: Sequence[str], wanted: BaselineOptions, out: Path | None, tell: Tell
) -> BaselineOutcome:
    """Score every picture and write OUT/baseline.json and OUT/baseline.html, after all cheap checks."""
    files = list(dict.fromkeys(queries))
    place = out or default_out(files)
    _check_place(place)
    plans = [check(path, overrides) for path in files]
    empty = attach_runs([empty_baseline(*pair) for pair in zip(files, plans, strict=True)], wanted.beside)
    asked = [PlannedQuery(*pair) for pair in zip(plans, empty, strict=True)]
    looked = [
        score_examples(examples, part, wanted.all_pictures, tell) for examples, part in _parts(asked, wanted)
    ]
    done = BaselineOutcome(
        place,
        tuple(baseline for one in looked for baseline in one.baselines),
        tuple(problem for one in looked for problem in one.problems),
    )
    _write(done, looked, wanted.all_pictures)
    return done


def default_out(queries: Sequence[Path]) -> Path:
    """A folder below runs/, named after the first query."""
    more = f"-and-{len(queries) - 1}-more" if len(queries) > 1 else ""
    return RUNS / f"baseline-{queries[0].stem}{more}"


def _check_place(place: Path) -> None:
    """Raise InputError unless the folder is new, empty, or holds an earlier baseline, which is replaced."""
    cut = [*left_behind(place, FILE), *left_behind(place, PAGE)]
    is_baseline = place.is_dir() and {*place.iterdir()} <= {place / FILE, place / PAGE, *cut}
    if is_baseline:
        for path in cut:
            path.unlink(missing_ok=True)
    else:
        check_out(place)


def empty_baseline(path: Path, plan: Plan) -> Baseline:
    """The baseline of a query before any picture is scored."""
    return Baseline(
        query=str(path),
        question=plan.question.text,
        target=plan.target.describe(),
        answers=named_answers(plan.query),
        model="shipped" if plan.query.model.name == "shipped" else plan.model_name,
        model_hash=plan.model_key(),
        world=world_words(plan.query),
        source="",
    )


def _parts(asked: Sequence[PlannedQuery], wanted: BaselineOptions) -> list[Part]:
    """Each source with the queries that apply to it."""
    if wanted.dataset is not None:
        return [(_examples(part, wanted.dataset, wanted.splits), part) for part in _of_one_kind(asked)]
    parts: dict[RenderedScenes, list[PlannedQuery]] = {}
    for one in asked:
        parts.setdefault(_rendered(one.plan, wanted), []).append(one)
    return [(scenes, tuple(part)) for scenes, part in parts.items()]


def _rendered(plan: Plan, wanted: BaselineOptions) -> RenderedScenes:
    is_own = wanted.world == "query"
    prior = plan.scenes if is_own else ScenePrior()
    words = f"the query's world ({world_words(plan.query)})" if is_own else "CLEVR's world (3 to 10 objects)"
    cache = wanted.cache or _default_cache()
    return RenderedScenes(prior, plan.query.render, wanted.rendered or 0, wanted.seed, words, cache)


def _default_cache() -> Path:
    from trex.clevr_models.fetch import default_cache  # imports torch

    return default_cache().parent / "baselines"


def _of_one_kind(asked: Sequence[PlannedQuery]) -> list[tuple[PlannedQuery, ...]]:
    """The queries grouped by world."""
    kinds: dict[str, list[PlannedQuery]] = {}
    for one in asked:
        kinds.setdefault(one.plan.kind.name, []).append(one)
    return [tuple(part) for part in kinds.values()]


def _examples(asked: Sequence[PlannedQuery], folder: Path, splits: Sequence[str]) -> Examples:
    plans = [one.plan for one in asked]
    return plans[0].kind.examples(plans, folder, tuple(dict.fromkeys(splits)))


def _write(done: BaselineOutcome, looked: Sequence[SourceResult], all_pictures: bool) -> None:
    try:
        done.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, done.out) from error
    write_atomic(done.out / PAGE, page_html(looked, all_pictures).encode())
    write_atomic(done.out / FILE, to_json(done.baselines, done.problems).encode())
