"""A new search for the failures that a repair on scenes was to end: the same query, asked before and after."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from trex.finding.conclude import Outcome
from trex.finding.find import find_query
from trex.finding.source import QuerySource, query_file
from trex.foundation.errors import InputError
from trex.foundation.files import make_folder
from trex.foundation.progress import Progress
from trex.query.toml_file import read_text
from trex.query.toml_text import toml_value
from trex.repair.files import write_record
from trex.repair.scenes.loaded import Folder, model_path
from trex.repair.scenes.official import chosen_models
from trex.repair.scenes.proof import PROOF, RUNS, SEARCH, Searched, SearchProof, correction_key
from trex.report.compare import compare
from trex.runs.folder import open_run
from trex.runs.open_world import open_world
from trex.search.hit import Hit
from trex.search.progress import AsStep
from trex.worlds.looks import ladder

MODEL = "model.name"


def prove_searches(
    folder: Folder, query: Path, overrides: Sequence[str], seeds: Sequence[int], progress: Progress
) -> None:
    """Search with the model before and with the chosen model of each seed (all if none is given); resumed after a kill.

    The searches are runs below `proof/runs`. InputError for a seed that chose no model, if the query or an override
    names a model, and if each model would choose other prior scenes from the query's bank; RunError if the
    correction is not finished.
    """
    key, models = correction_key(folder), chosen_models(folder)
    before_path = model_path(folder.query.model.name)
    _check_whole(_source(query, overrides, before_path))
    unknown = sorted(set(seeds) - models.keys())
    if unknown:
        raise InputError(f"seed {unknown[0]} chose no model; those that did: {sorted(models)}")
    if any(override.partition("=")[0].strip() == MODEL for override in overrides):
        raise InputError(f"--set {MODEL} is not possible: the models of the repair are asked")
    place = folder.path / PROOF / RUNS / key[:8]
    make_folder(place)
    name = _named(query, overrides)
    before = _searched(_source(query, overrides, before_path), place / f"{name}-before", "before", progress)
    for seed in seeds or sorted(models):
        source, run = _source(query, overrides, models[seed]), place / f"{name}-seed-{seed}"
        after = _searched(source, run, f"seed-{seed}", progress)
        row = _row(key, query.stem, seed, before, after)
        write_record(folder.path / PROOF / f"{SEARCH}{name}-{seed}.json", row)


def _source(query: Path, overrides: Sequence[str], weights: Path) -> QuerySource:
    """The query with these weights in the place of its model."""
    path = weights.resolve()
    return query_file(query, [*overrides, f"{MODEL}={toml_value(MODEL, str(path))}"])


def _searched(source: QuerySource, run: Path, name: str, progress: Progress) -> Outcome:
    return find_query(source, run, AsStep(f"{name}: ", progress), lambda folder: None)


def _check_whole(source: QuerySource) -> None:
    """InputError if a model would choose which prior scenes are judged: those of two models could not be compared."""
    found = source.plan().query
    bank = found.search.bank or 0
    if ladder(found.render) and bank > found.search.prior_scenes:
        raise InputError(
            f"{source.path}: each model would choose {found.search.prior_scenes} of {bank:,} scenes of the bank, so "
            "their prior scenes could not be compared; give --set 'render.looks=[]' or "
            f"--set search.prior_scenes={bank}"
        )


def _named(query: Path, overrides: Sequence[str]) -> str:
    """A name for runs and records of this query's text with these overrides."""
    text = "\n".join([read_text(query), *overrides])
    return f"{query.stem}-{sha256(text.encode()).hexdigest()[:8]}"


def _row(key: str, query: str, seed: int, before: Outcome, after: Outcome) -> SearchProof:
    tests = compare([before.folder, after.folder]).tests
    prior = tests[0].counts if tests else None
    return SearchProof(
        corrected=key,
        query=query,
        seed=seed,
        look=before.manifest.query.render.preset,
        before=_summary(before),
        after=_summary(after),
        prior=prior.n if prior else 0,
        prior_before=prior.both + prior.only_first if prior else 0,
        prior_after=prior.both + prior.only_second if prior else 0,
        kept=_in_level_set(before.results.found, after.folder),
        new=len(after.results.found) - _in_level_set(after.results.found, before.folder),
    )


def _summary(outcome: Outcome) -> Searched:
    results = outcome.results
    return Searched(
        run=outcome.folder.name,
        ending=results.ending,
        found=len(results.found),
        families=results.families.count,
        renders=results.renders,
        rate=results.how_often.rate.figure,
    )


def _in_level_set(found: Sequence[Hit], run: Path) -> int:
    """How many of these scenes are in the level set of a run's model, by pictures rendered as for that run."""
    if not found:
        return 0
    with open_run(run, for_writing=True) as folder, open_world(folder) as world:
        scored = world.scorer.score([hit.record.z for hit in found])
        return sum(folder.manifest.target.is_hit(item.log_probs) for item in scored)
