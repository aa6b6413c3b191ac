"""What a search's pictures cost by the documented seconds: each phase at its own look, each noise draw counted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.running.runs import QUERY
from trex.query.schema import Query
from trex.query.toml_file import parse_query
from trex.runs.record import BANK, CALIBRATION, CHAIN, FRESH, PRIOR, Record
from trex.search.cost import cpu_s_of
from trex.search.render_speed import has_known_cost
from trex.worlds.costs import CPU_S
from trex.worlds.looks import LADDER

LOOKS = LADDER


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
    assert cpu_s_of([record(BANK)], query()) == CPU_S[LOOKS[0]]
    assert cpu_s_of([record(BANK, 2)], query()) == CPU_S[LOOKS[2]]  # the bank scored anew by another look
    assert cpu_s_of([record(CALIBRATION, 1)], query()) == CPU_S[LOOKS[1]]
    assert cpu_s_of([record(PRIOR)], query()) == CPU_S["reference"]


def test_every_noise_draw_costs_a_picture() -> None:
    noisy = query("render.noise=3", "render.fresh=2")
    assert cpu_s_of([record(PRIOR)], noisy) == pytest.approx(3 * CPU_S["reference"])
    assert cpu_s_of([record(FRESH)], noisy) == pytest.approx(2 * CPU_S["reference"])


def test_cheap_steps_cost_at_the_look_that_leads() -> None:
    step = record(CHAIN, figures={"inner_renders": 8.0})
    led = [record(CALIBRATION, 0), record(CALIBRATION, 1), step]
    planted = 8 * CPU_S[LOOKS[0]]  # at the cheapest look, though the second one leads
    dear = CPU_S[LOOKS[0]] + CPU_S[LOOKS[1]] + CPU_S["reference"]
    assert cpu_s_of(led, query()) == pytest.approx(dear + 8 * CPU_S[LOOKS[1]])
    assert cpu_s_of(led, query()) != pytest.approx(dear + planted)


def test_what_was_not_rendered_costs_nothing() -> None:
    assert cpu_s_of([record(CHAIN, 0, log_probs=())], query()) == 0
    assert cpu_s_of([record(CHAIN, 0, figures={"resampled": 1.0})], query()) == 0


def test_only_documented_looks_of_clevr_have_a_cost() -> None:
    assert has_known_cost(query())
    assert not has_known_cost(query("render.preset=fake"))
