"""Experiments: cells of one query, published values beside ours, resumed where they were stopped; their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from reproduce.experiments import experiment as carrying_out
from reproduce.experiments.experiment import LEAST, Outcome, cpu_s_of, level_set, run_experiment
from reproduce.experiments.experiment_file import QUERIES, cells, experiment_path, read_experiment
from reproduce.experiments.page import PAGE, TABLE, page_html, write_page
from reproduce.experiments.table import markdown, rows
from tests.reproduce.command_line import reproduce
from tests.running.runs import QUERY, read_query, write_query
from trex.foundation.errors import InputError
from trex.inference.statistics.how_often import how_often
from trex.inference.statistics.importance import effective_size, normalized_weights
from trex.inference.statistics.two_phase import Selection
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, State
from trex.query.schema import Query
from trex.query.toml_file import parse_query
from trex.runs.record import BANK, CALIBRATION, CHAIN, FRESH, PRIOR, Record
from trex.search.progress import Silent
from trex.search.render_speed import has_known_cost
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.costs import CPU_S
from trex.worlds.latents import Latent
from trex.worlds.looks import LADDER

EXPERIMENT = """
title = "Counts of red things"
source = "nobody"
form = "matrix"
query = "query.toml"
pairs = ["1", "2"]
found_published = 1
cells = [
  { name = "one", set = { "answer" = "1", "search.steps" = 0 }, published = 0.95, published_sd = 0.02 },
  { name = "nine", set = { "answer" = "9", "search.steps" = 4 }, published = 0.9, note = "five objects" },
]

[set]
"search.seed" = 3

[[harder]]
"search.steps" = 6

[[harder]]
"search.steps" = 8
"search.scale" = 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("experiment")
    write_query(place)
    (place / "counts.toml").write_text(EXPERIMENT, encoding="utf-8")
    return place


def carry_out(
    folder: Path, only: tuple[str, ...] = (), more: tuple[str, ...] = (), out: str = "out"
) -> Outcome:
    name = str(folder / "counts.toml")
    extra = ("search.prior_scenes=60", *more)
    return run_experiment(
        name, only, extra, folder / out, lambda _: Silent(), lambda *_: None, lambda _: None
    )


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return carry_out(folder, ("one", "nine"))


def test_every_cell_asks_the_query_with_its_own_settings(folder: Path) -> None:
    found = cells(read_experiment(folder / "counts.toml"))
    assert [cell.name for cell in found] == ["one", "nine", "1-2"]
    assert found[0].ways[0] == ("search.seed=3", 'answer="1"', "search.steps=0")
    assert found[0].ways[1] == (*found[0].ways[0][:2], "search.steps=6")
    assert found[0].ways[2] == (*found[0].ways[0][:2], "search.steps=8", "search.scale=0.5")
    query = read_query(folder / "query.toml", (*found[2].ways[0], 'target.kind="ambiguous"'))
    assert query.answer == ("1", "2") and query.search.seed == 3


def test_the_published_value_stands_beside_ours(outcome: Outcome) -> None:
    row, nine = rows(outcome)
    assert row.published == "0.950 ± 0.020" and "not found" not in row.ours
    assert nine.published == "0.900" and nine.ours == "not found" and nine.ending == "NOT FOUND"
    assert nine.prior.startswith("0 of 60 (less than ") and nine.note == "five objects"
    assert "1 of 2 level sets have been found (published: 1 of 3)" in markdown(outcome)


def test_prior_draws_stand_for_the_level_set_by_their_weights(outcome: Outcome) -> None:
    """In numbers exactly, in figures by draws again. Planted bug: taken evenly, they would show the prior's mean."""
    result = outcome.results[0]
    prior = result.results.prior
    probs = np.array(
        [np.exp(draw.state.log_probs[result.manifest.facts.labels.index("1")]) for draw in prior]
    )
    weights = normalized_weights(np.array([draw.state.log_weight for draw in prior]))
    mean = float(weights @ probs)
    assert result.is_weighted
    assert result.means == pytest.approx((mean,))
    assert result.deviations == pytest.approx((float(weights @ (probs - mean) ** 2) ** 0.5,))
    assert result.probs[list(result.shown)].mean() == pytest.approx(mean, abs=2e-3)
    assert abs(mean - probs.mean()) > 0.1


def test_a_chain_that_never_arrives_says_nothing_of_the_level_set(outcome: Outcome) -> None:
    """Planted bug: its draws outside the set would pull the mean of the others down."""
    result = outcome.results[0]
    target = result.manifest.target
    ranked = sorted(result.results.prior, key=lambda draw: draw.state.log_weight)
    assert target.is_hit(ranked[-1].state.log_probs) and not target.is_hit(ranked[0].state.log_probs)
    outside = replace(ranked[0], chain=1)
    inside = states_of(ranked[-1], LEAST)
    draws, _, is_weighted = level_set(replace(result.results, chains=(*inside, outside)), target.is_hit)
    assert draws == inside and not is_weighted
    lost, _, is_weighted = level_set(replace(result.results, chains=(outside,)), target.is_hit)
    assert lost == result.results.prior and is_weighted


def states_of(draw: Draw[Latent], n: int) -> tuple[Draw[Latent], ...]:
    """So many states of one chain, all with this draw's answer."""
    return tuple(
        replace(draw, chain=0, index=k, state=replace(draw.state, z=replace(draw.z, noise=k)))
        for k in range(n)
    )


def test_a_single_state_of_a_chain_does_not_stand_for_the_level_set(outcome: Outcome) -> None:
    """Planted bug: one draw after the warmup gave the mean, with deviation 0, although the prior's sample had hits."""
    result = outcome.results[0]
    results, is_hit = result.results, result.manifest.target.is_hit
    best = max(results.prior, key=lambda draw: draw.state.log_weight)
    few = tuple(
        replace(draw, state=replace(draw.state, z=best.z)) for draw in states_of(best, 3 * LEAST)
    )  # one state, held for long
    assert level_set(replace(results, chains=few), is_hit)[2]
    many = states_of(best, LEAST)
    assert not level_set(replace(results, chains=many), is_hit)[2]
    misses = tuple(draw for draw in results.prior if not is_hit(draw.state.log_probs))
    bare = replace(results, chains=few, sample=replace(results.sample, draws=misses))
    assert level_set(bare, is_hit)[0] == few  # nothing else is in the set
    stuck = replace(result, results=bare, draws=few, log_weights=np.zeros(len(few)), is_weighted=False)
    assert stuck.effective_size == 1.0  # planted bug: 15, the number of draws


def test_a_draw_that_a_bank_was_unlikely_to_choose_counts_for_those_that_it_left_out(
    outcome: Outcome,
) -> None:
    """Planted bug: the weights of the level set alone gave .995, as if the bank had chosen evenly."""
    results, target = outcome.results[0].results, high_confidence(("a", "b"), "a")
    scores = [np.log([p, 1.0 - p]) for p in (0.999,) * 5 + (0.92,)]
    draws = tuple(
        replace(draw, state=State(draw.z, 0.0, target.log_weight(row), row))
        for draw, row in zip(results.prior, scores, strict=False)
    )
    inclusion = np.full(1000, 0.05)
    inclusion[:5] = 1.0
    selection = Selection(np.array([0, 1, 2, 3, 4, 5]), inclusion)
    sample = PriorSample(draws, selection, how_often(draws, selection, target, 0.95))
    kept, log_weights, is_weighted = level_set(replace(results, chains=(), sample=sample), target.is_hit)
    assert kept == draws and is_weighted
    mean = normalized_weights(log_weights) @ np.exp(np.array(scores))[:, 0]
    assert mean == pytest.approx(0.957, abs=2e-3)
    assert effective_size(log_weights) == pytest.approx(sample.how_often.ess)


def test_where_nothing_is_found_it_is_searched_once_more(outcome: Outcome) -> None:
    places = {path.name for path in outcome.folder.iterdir() if path.is_dir()}
    assert places == {"one", "nine", "nine-harder", "nine-harder-harder"}
    assert outcome.results[1].manifest.query.search.steps == 8


def test_a_finished_cell_is_read_and_a_missing_one_is_run(
    folder: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[Path] = []

    def counted(source: object, run_dir: Path, *remaining: object) -> None:
        paths.append(run_dir)
        raise InputError("enough")

    monkeypatch.setattr(carrying_out, "find_query", counted)
    again = carry_out(folder, ("one", "nine"))
    assert [rows(again), paths] == [rows(outcome), []]
    with pytest.raises(InputError, match="enough"):
        run_experiment(
            str(folder / "counts.toml"), ("one",), ("search.prior_scenes=61",), folder / "other", lambda _: Silent(),
            lambda *_: None, lambda _: None,
        )  # fmt: skip
    assert paths == [folder / "other" / "one"]


def test_what_has_to_be_trained_comes_first_and_once(folder: Path) -> None:
    text = EXPERIMENT.replace('form = "matrix"', 'form = "matrix"\ntrain = ["gan --seed 1", "gan --seed 2"]')
    (folder / "trained.toml").write_text(text.replace('note = "five objects"', 'train = "gan --seed 1"'))
    words: list[str] = []

    def train(given: str) -> None:
        words.append(given)
        if len(words) == 2:
            raise InputError("trained")

    with pytest.raises(InputError, match="trained"):
        run_experiment(
            str(folder / "trained.toml"), (), (), folder / "t", lambda _: Silent(), lambda *_: None, train
        )
    assert words == ["gan --seed 1", "gan --seed 2"] and not (folder / "t").exists()


def test_the_page_and_the_table_are_written(outcome: Outcome) -> None:
    write_page(outcome, ("search.prior_scenes=60",))
    html = (outcome.folder / PAGE).read_text(encoding="utf-8")
    assert (
        f"python -m reproduce experiment {outcome.name} --cell one --cell nine --set search.prior_scenes=60"
        in html
    )
    assert outcome.name.endswith("counts.toml")  # as it was asked for, so that the command does it again
    assert '"ending found">FOUND<' in html and '"ending not-found">NOT FOUND<' in html  # classes of the sheet
    assert "0.950 ± 0.020" in html and "<script" not in html and "data:image/png" in html
    assert 'class="none"' not in page_html(outcome, ())  # no pair was run
    assert (outcome.folder / TABLE).read_text(encoding="utf-8") == markdown(outcome)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('query = "query.toml"', "", "query: field required"),
        ("published = 0.9,", "publshed = 0.9,", "cells.1.publshed"),
        ('name = "nine"', 'name = "../nine"', "cells.1.name"),
        ('name = "nine"', 'name = ".."', "cells.1.name"),
        ('pairs = ["1", "2"]', 'pairs = ["../1", "2"]', "name: "),
        ('form = "matrix"', 'train = ["adda --source svhn --out /elsewhere"]', "train: .* has '--out'"),
        ('form = "matrix"', 'train = "gan --dataset=mnist --data=/elsewhere"', "train: .* has '--data'"),
        (
            'form = "matrix"',
            'train = "gan --dataset mnist --judge package.module"',
            "train: .* has '--judge'",
        ),
        ('form = "matrix"', 'train = "gan -h"', "train: .* has '-h'"),
        ('form = "matrix"', 'train = "--help"', "train: .*does not begin with a training"),
        ('form = "matrix"', 'train = "clevr --dataset D --out O"', "does not begin with a training"),
        ('form = "matrix"', 'train = "vae \'"', "train: no closing quotation"),
        ('name = "nine"', 'name = "one"', "a name of its own"),
        ("cells = [", "cells = [[", "not TOML"),
    ],
)
def test_a_wrong_experiment_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(EXPERIMENT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_experiment(path)


def test_unknown_names_are_answered_with_those_there_are(folder: Path) -> None:
    with pytest.raises(InputError, match="mnist-ambiguity"):
        experiment_path("mnist-ambigity")
    with pytest.raises(InputError, match="its cells are one, nine, 1-2"):
        carry_out(folder, ("ten",))
    result = reproduce("experiment", "no-such")
    assert result.exit_code != 0


@pytest.mark.parametrize("path", sorted(QUERIES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_cell_of_the_experiments_here_is_a_query(path: Path) -> None:
    experiment = read_experiment(path)
    for cell in cells(experiment):
        query = [read_query(path.parent / experiment.query, way) for way in cell.ways][-1]
        assert not cell.section.published or len(cell.section.published) == max(1, len(query.answer))


def test_the_ending_says_what_the_values_are_worth(outcome: Outcome, folder: Path) -> None:
    """The effective size of weighted prior draws, or the worst R-hat of chains; nothing where nothing was found."""
    cell_result = outcome.results[0]
    weights = normalized_weights(np.array([draw.state.log_weight for draw in cell_result.results.prior]))
    assert rows(outcome)[0].ending == f"FOUND, effective size {1 / float(weights @ weights):.0f}"
    assert rows(outcome)[0].how == "60 prior draws by their weights"
    assert rows(outcome)[1].ending == "NOT FOUND"
    searched = carry_out(folder, ("one",), ("search.steps=40",), "chains")
    (row,), (result,) = rows(searched), searched.results
    worst = max(d.r_hat for d in result.results.conclusion.diagnoses if d.is_informative)
    assert row.ending == f"{result.results.ending}, R-hat {worst:.2f}" and not result.is_weighted


def query(*overrides: str) -> Query:
    return parse_query(QUERY, "test", ["render.preset=reference", *overrides])


def record(
    phase: str,
    rank: int = 0,
    log_probs: tuple[float, ...] = (-0.1,),
    figures: Mapping[str, float] = MappingProxyType({}),
) -> Record:
    return Record(phase, -1, 0, (0.0,), True, 0.0, 0.0, 0.0, log_probs, (), figures=figures, rank=rank)


def test_a_picture_costs_what_its_look_does() -> None:
    assert cpu_s_of([record(BANK)], query()) == CPU_S[LADDER[0]]
    assert cpu_s_of([record(BANK, 2)], query()) == CPU_S[LADDER[2]]  # the bank scored anew by another look
    assert cpu_s_of([record(CALIBRATION, 1)], query()) == CPU_S[LADDER[1]]
    assert cpu_s_of([record(PRIOR)], query()) == CPU_S["reference"]


def test_every_noise_draw_costs_a_picture() -> None:
    noisy = query("render.noise=3", "render.fresh=2")
    assert cpu_s_of([record(PRIOR)], noisy) == pytest.approx(3 * CPU_S["reference"])
    assert cpu_s_of([record(FRESH)], noisy) == pytest.approx(2 * CPU_S["reference"])


def test_cheap_steps_cost_at_the_look_that_leads() -> None:
    step = record(CHAIN, figures={"inner_renders": 8.0})
    led = [record(CALIBRATION, 0), record(CALIBRATION, 1), step]
    planted = 8 * CPU_S[LADDER[0]]  # at the cheapest look, though the second one leads
    dear = CPU_S[LADDER[0]] + CPU_S[LADDER[1]] + CPU_S["reference"]
    assert cpu_s_of(led, query()) == pytest.approx(dear + 8 * CPU_S[LADDER[1]])
    assert cpu_s_of(led, query()) != pytest.approx(dear + planted)


def test_what_was_not_rendered_costs_nothing() -> None:
    assert cpu_s_of([record(CHAIN, 0, log_probs=())], query()) == 0
    assert cpu_s_of([record(CHAIN, 0, figures={"resampled": 1.0})], query()) == 0


def test_only_documented_looks_of_clevr_have_a_cost() -> None:
    assert has_known_cost(query())
    assert not has_known_cost(query("render.preset=fake"))
