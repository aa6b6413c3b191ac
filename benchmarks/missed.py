"""Of the hits at the deciding look among plain prior scenes, how many would each cheaper look have missed?

    python -m benchmarks.missed queries/two_blue_spheres.toml --scenes 500 --set model.name=shipped

Takes the first members of the bank of the query's world, rendered at every look (what is missing is rendered; bound
that time with `trex render bank`). Prints one JSON line a query and look: the hits at the deciding look, how many of
them are not hits at this look, and how many are not among the scenes that this look finds likeliest: a tenth of all,
or as many as there are hits. The last is what counts for a search: its bank chooses by rank, and samples the rest with
a small probability.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trex.bank.bank import bank_of
from trex.finding.source import query_file
from trex.inference.scoring import Scorer
from trex.inference.statistics.gate import gate
from trex.inference.types import Floats
from trex.scenes.scene import Scene
from trex.worlds.looks import ladder
from trex.worlds.world import Plan

LIKELIEST = 0.1  # share of the scenes that a bank is almost sure to choose from


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the banks and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--scenes", type=int, default=500)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    for path in chosen.queries:
        for figures in missed(query_file(path, chosen.overrides).plan(), chosen.scenes):
            print(json.dumps({"query": path.stem, **figures}), flush=True)


def missed(plan: Plan, n: int) -> Iterator[dict[str, object]]:
    """The figures of each look of the query's ladder."""
    deciding, target = plan.query.render.preset, plan.target
    dear = log_probs(plan, deciding, n)
    hits = np.array([target.is_hit(row) for row in dear])
    for look in ladder(plan.query.render):
        cheap = log_probs(plan, look, n)
        weights, dear_weights = target.log_weights(cheap), target.log_weights(dear)
        likeliest = np.argsort(-weights, kind="stable")[: max(round(LIKELIEST * n), int(hits.sum()))]
        same = [bool(target.is_hit(row)) for row in cheap]
        compared = gate(weights, dear_weights)
        yield {
            "model": plan.query.model.name, "deciding": deciding, "look": look, "scenes": n,
            "hits": int(hits.sum()), "hits_at_look": int(np.sum(same)),
            "missed_as_hits": int(np.sum(hits & ~np.array(same))),
            "missed_by_rank": int(hits.sum() - hits[likeliest].sum()),
            "rank_correlation": compared.rank_correlation, "top_fifth": compared.top_fifth,
        }  # fmt: skip


def log_probs(plan: Plan, look: str, n: int) -> Floats:
    """(n, K): the model's log probabilities for the first n members of the world's bank at a look."""
    with bank_of(plan, look) as bank:
        bank.render(n)
        scorer: Scorer[Scene] = Scorer(bank.renderer, plan.bound)
        return np.stack([scored.log_probs for scored in scorer.score(bank.scenes(range(n)))])


if __name__ == "__main__":
    main()
