"""Kernel "smc": levels of a search, against an exact target and against plain chains; kills, warmup and refusals."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tests.references.statistics import ALPHA
from tests.running.runs import QUERY, draws, go_on, leave_draws, run
from tests.simulations.plateau import REACH, STEP, TARGET, answers, step_kernel
from trex.finding.conclude import Outcome
from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import mapping
from trex.inference.chains import Checkpoint, rounds, start
from trex.inference.statistics.diagnostics import by_chain
from trex.inference.statistics.importance import prior_draws
from trex.inference.statistics.verdict import Conclusion, Ending
from trex.query.toml_file import parse_query
from trex.runs.draw_log import read_draws
from trex.runs.record import Record
from trex.runs.replay import chain_draws, round_records
from trex.search.judging.endings import related
from trex.worlds.latents import Latent
from trex.worlds.registry import make_plan
from trex.worlds.samplers.smc import SmcSampler

PARTICLES, ROUNDS, MOVES = 30, 80, 4
SAMPLER = SmcSampler(lambda target: step_kernel(), MOVES)  # type: ignore[arg-type,return-value]


def begin(seed: int) -> Checkpoint[Latent]:
    kernel = step_kernel()
    first = prior_draws(seed, range(PARTICLES), kernel.prior, kernel.scorer, TARGET)
    return start(seed, [draw.state for draw in first])


def raised(seed: int) -> list[Checkpoint[Latent]]:
    return list(SAMPLER(TARGET, begin(seed), ROUNDS))


def rendered(found: list[Checkpoint[Latent]]) -> int:
    return sum(draw.was_rendered for done in found for draw in done.draws)


def hits(done: Checkpoint[Latent]) -> float:
    return float(np.mean([TARGET.is_hit(draw.state.log_probs) for draw in done.draws]))


@pytest.mark.slow
def test_it_reaches_a_mass_of_about_a_thousandth_where_most_plain_chains_of_the_budget_do_not() -> None:
    for seed in range(6):
        smc = raised(seed)
        plain = list(rounds(SAMPLER.kernel(TARGET), begin(seed), ROUNDS))
        assert rendered(smc) <= rendered(plain)
        assert np.mean([hits(checkpoint) for checkpoint in smc[-10:]]) > 0.8
        assert np.mean([hits(checkpoint) for checkpoint in plain[-10:]]) < 0.5


def exact_mean() -> float:
    """Of the first coordinate over the target."""

    def part(x: float, power: int) -> float:
        weight = math.exp(TARGET.log_weight(answers(np.array(x))) - TARGET.log_peak - 0.5 * x * x)
        return float(x**power * weight)

    above, all_ = (quad(part, -REACH, REACH, (k,), points=[STEP], limit=400)[0] for k in (1, 0))
    return float(above / all_)


@pytest.mark.slow
def test_draws_after_warmup_are_the_targets_and_those_before_are_not() -> None:
    kept, planted = [], []
    for seed in range(20, 36):
        every = [draw for checkpoint in raised(seed) for draw in checkpoint.draws]
        kept.append(np.mean([draw.z[0] for draw in every if not draw.is_warmup]))  # type: ignore[index]
        planted.append(np.mean([draw.z[0] for draw in every]))  # type: ignore[index]
    assert stats.ttest_1samp(kept, exact_mean()).pvalue > ALPHA
    assert stats.ttest_1samp(planted, exact_mean()).pvalue < ALPHA  # negative control: warmup is counted


def records(done: list[Checkpoint[Latent]]) -> list[Record]:
    return [row for checkpoint in done for row in round_records("chain", checkpoint, TARGET, lambda _: "")]


def test_every_round_resumes_from_its_checkpoint_and_its_records_give_the_states() -> None:
    whole, first = raised(3), begin(3)
    for at in (0, 1, 5, 6, 37, ROUNDS - 2):
        states = tuple(replace(s, picture=None) for s in whole[at].states)
        (then,) = list(SAMPLER(TARGET, replace(whole[at], states=states), at + 2))
        assert records([then]) == records([whole[at + 1]])
    rebuilt = chain_draws(records(whole), "chain", first.states, 0)
    built = sorted(
        (draw for checkpoint in whole for draw in checkpoint.draws), key=lambda draw: (draw.chain, draw.index)
    )
    assert [(d.z.tolist(), d.is_warmup) for d in rebuilt] == [(d.z.tolist(), d.is_warmup) for d in built]  # type: ignore[union-attr]


def test_resampling_draws_other_numbers_than_any_particle() -> None:
    """PCG64's increment tells its streams apart."""
    (first,) = SAMPLER(TARGET, begin(3), 1)
    states = first.rng_states
    rngs = [mapping(state["rng"], "rng") for state in (*states, mapping(states[0]["smc"], "smc"))]
    assert len({mapping(rng["state"], "state")["inc"] for rng in rngs}) == PARTICLES + 1


def lines(done: Checkpoint[Latent]) -> list[tuple[object, float]]:
    """Each particle's latent, and the start that it descends from."""
    return [(draw.z.tolist(), draw.figures["line"]) for draw in done.draws]  # type: ignore[union-attr]


def test_a_copy_descends_from_the_start_of_the_particle_that_it_copies() -> None:
    """Planted bug: the particle's place before the last level was taken for its start."""
    levels = 0
    for before, after in pairwise(raised(3)):
        if "resampled" in after.draws[0].figures:
            assert all(line in lines(before) for line in lines(after))
            levels += 1
        else:
            assert [line for _, line in lines(after)] == [line for _, line in lines(before)]
    assert levels > 2


def test_a_checkpoint_of_another_kernel_is_refused() -> None:
    with pytest.raises(RunError, match="not those of kernel 'smc'"):
        list(SAMPLER(TARGET, replace(begin(1), next_index=4), 6))


SMC = [
    "search.kernel=smc", "search.chains=12", "search.steps=45", "search.options.moves=3", "answer=4",
    "search.further=0", "search.control=false",
]  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("smc"), SMC)


@pytest.mark.slow
def test_a_search_by_smc_finds_and_counts_what_it_rendered(done: Outcome) -> None:
    rows = read_draws(done.folder / "draws.jsonl")
    copies = [row for row in rows if row.is_copy]
    assert copies and not any(row.is_rendered or row.picture for row in copies)
    found = done.results
    assert found.found and not any(hit.record.is_copy for hit in found.found)
    assert found.renders == sum(bool(row.log_probs) for row in rows) - len(copies)
    assert found.proposals == 12 * 45 - len(copies)
    (sentence,) = (check for check in found.checks if check.startswith("SMC: "))
    assert (
        "12 particles rose to the target through" in sentence and "One run's mass is no estimate" in sentence
    )


def test_only_draws_of_the_last_stage_are_kept_after_warmup(done: Outcome) -> None:
    chains = by_chain(done.results.chains)
    last = max(row.index for row in read_draws(done.folder / "draws.jsonl") if row.is_copy)
    assert len(chains) == 12 and {chain[0].index for chain in chains} == {last + 1}


@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize("share", [0.3, 0.55, 0.9])
def test_a_cut_run_resumes_to_the_same_bytes(share: float, done: Outcome, tmp_path: Path) -> None:
    again, whole = tmp_path / "again", draws(done.folder)
    shutil.copytree(done.folder, again)
    leave_draws(again, whole[: int(share * len(whole))])
    assert draws(go_on(again).folder) == whole


def test_too_little_time_is_said_and_nothing_is_kept_as_a_sample(tmp_path: Path) -> None:
    found = run(tmp_path, [*SMC, "search.steps=6", "answer=9"]).results
    assert not by_chain(found.chains)
    assert any("not the target, so that no draw stands for it" in check for check in found.checks)


def test_particles_of_few_starts_are_no_sample_however_well_they_agree() -> None:
    agreed = Conclusion(Ending.CONVERGED, ("CONVERGED.",), (), 12, 500, 0.99, 900)
    few = related(agreed, 3)
    assert few.ending is Ending.FOUND and "descend from 3 starts (4 are needed)" in few.sentences[1]
    assert related(agreed, 4) == agreed == related(agreed, None)


def test_hits_of_one_start_are_counted_as_one_source(done: Outcome) -> None:
    sources = {int(hit.record.figures["line"]) for hit in done.results.found if hit.record.phase == "chain"}
    chains = {hit.record.chain for hit in done.results.found if hit.record.phase == "chain"}
    among_prior = sum(hit.record.phase == "prior" for hit in done.results.found)
    assert done.results.families.source_count == len(sources) + among_prior
    assert len(sources) < len(chains)  # so the two counts differ here


def test_it_starts_from_a_banks_sample_too(tmp_path: Path) -> None:
    bank = ["search.bank=40", "search.prior_scenes=20", "render.fresh=1", "search.steps=12"]
    whole = run(tmp_path, [*SMC, *bank])
    rows = [row for row in read_draws(whole.folder / "draws.jsonl") if row.phase == "chain"]
    assert len(rows) == 12 * 12 and any(row.is_accepted and row.is_rendered for row in rows)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["search.chains=7"], "search.chains = 7.*at least 8, better 50"),
        (["search.options.moves=0"], r"search\.options\.moves of kernel 'smc'"),
        (["search.options.levels=3"], r"search\.options\.levels of kernel 'smc'"),
    ],
)
def test_what_it_cannot_run_is_refused(overrides: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_plan(parse_query(QUERY, "q.toml", [*SMC, *overrides]), Path())
