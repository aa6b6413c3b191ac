"""What an audit of a real model tells, beside a decision tree and random testing on the same pictures and answers.

    python -m benchmarks.auditing.real_models runs/audit-shipped --model shipped

Takes a finished audit with fresh scenes (`trex audit MODEL --fresh 2000`) and renders nothing. The tree is
scikit-learn's, made and judged by the same halves of the scenes as the audit's rules, over conditions on the
question, the scene and its objects. Prints one JSON line a method: its sentences, and those confirmed again in the
fresh scenes; for each, the share of the fresh scenes with its conditions that show such a mistake (precision); and of
all confident mistakes there, the share that the sentences hold together (recall). A family counts its own kind of
failure, a leaf any confident mistake. Random testing, the same scenes without a sentence, gives failing scenes only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.auditing.trees import Bools, Slice, members, mistaken, p_value, slices
from tests.trex.auditing.in_memory import Swept
from tests.trex.auditing.planted_models import Book
from trex.auditing.audit import Grouped, examined_scenes, grouped_scenes
from trex.auditing.judging.findings import counted_in, covered, findings, significant
from trex.auditing.judging.membership import memberships_of, situations
from trex.auditing.records import EXAMINED, REMEDY, SETTINGS, TESTED, Examined
from trex.auditing.work import FRESH, SWEPT, TESTS, Here, Opened, Work
from trex.bank.named import bank_world
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.discoveries import discoveries
from trex.inference.statistics.proportion import Proportion
from trex.scenes.graph import Facts
from trex.trials.lines import read_lines
from trex.worlds.world import open_model

Row = tuple[Facts, Examined]


class Sentence(NamedTuple):
    """A sentence in the fresh scenes: in how many its conditions hold, and in how many of these the model fails so."""

    words: str
    holds: int
    fails: int
    is_significant: bool

    @property
    def precision(self) -> float:
        """The share of the scenes with its conditions in which the model fails so."""
        return self.fails / max(1, self.holds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each audit and method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("audit", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--world", type=Path, default=Path("clevr"))
    parser.add_argument("--bank", type=Path)
    chosen = parser.parse_args(arguments)
    for row in compared(chosen.audit, chosen.model, chosen.world, chosen.bank):
        print(json.dumps(row), flush=True)


def compared(folder: Path, model: str, world: Path, bank_folder: Path | None) -> list[dict[str, object]]:
    """The figures of each method."""
    settings = SETTINGS.read(folder / "audit.json", REMEDY)
    if settings is None or not (folder / FRESH).exists():
        raise InputError(f"{folder} holds no audit with fresh scenes; run trex audit --fresh N first")
    work = Work(open_model(model, None), settings, bank_world(world), folder, bank_folder)
    with Opened(work) as opened:
        bank = opened.bank
        grouped = grouped_scenes(opened, read_lines(folder / SWEPT, EXAMINED), Here(opened), silent)
        fresh = examined_scenes(bank, work.total, read_lines(folder / FRESH, EXAMINED))
    failing = sum(bool(examined.mistakes) for _, examined in grouped.rows)
    common = {"model": settings.model, "scenes": work.total, "failing_scenes": failing, "fresh": len(fresh)}
    return [
        common | {"method": "audit"} | audit_figures(work, grouped, fresh),
        common | {"method": "tree"} | tree_figures(work, grouped, fresh),
        common | {"method": "random testing", "sentences": 0},
    ]


def audit_figures(work: Work, grouped: Grouped, fresh: Sequence[Row]) -> dict[str, object]:
    """Those of the confirmed families."""
    memberships = memberships_of(grouped.families, grouped.held_out)
    tested = read_lines(work.folder / TESTS, TESTED)
    confirmed = [
        finding
        for finding in findings(grouped.results, tested, memberships, work.settings.severity)
        if finding.is_confirmed
    ]
    scenes = situations(fresh, work.asker)
    results = counted_in([finding.family for finding in confirmed], scenes)
    again = significant(results)
    sentences = [
        Sentence(finding.words, len(each.inside), len(each.failures), k in again)
        for k, (finding, each) in enumerate(zip(confirmed, results, strict=True))
    ]
    share = covered(memberships_of(grouped.families, scenes), {finding.number for finding in confirmed})
    return figures(sentences) | {"recall": rounded(share)}


def tree_figures(work: Work, grouped: Grouped, fresh: Sequence[Row]) -> dict[str, object]:
    """Those of the leaves that the held-out scenes confirm."""
    n = work.settings.scenes
    leaves = slices(Swept(list(grouped.rows[:n]), list(grouped.rows[n:]), work.asker, Book()))
    wrong = [mistaken(row) for row in fresh]
    inside = members(leaves, fresh, work.asker)
    again = discoveries(np.array([p_value(holds, fresh) for holds in inside]))
    sentences = [
        _sentence(leaf, holds, wrong, bool(ok)) for leaf, holds, ok in zip(leaves, inside, again, strict=True)
    ]
    held = [
        int((np.any([holds[k] for holds in inside], axis=0) & wrong[k]).sum()) if leaves else 0
        for k in range(len(fresh))
    ]
    return figures(sentences) | {"recall": rounded(clustered_share(held, [int(bad.sum()) for bad in wrong]))}


def rounded(share: Proportion) -> list[float]:
    """A share and its interval."""
    return [round(value, 3) for value in (share.value, *share.interval)]


def _sentence(leaf: Slice, holds: Sequence[Bools], wrong: Sequence[Bools], again: bool) -> Sentence:
    fails = [bool((inside & bad).any()) for inside, bad in zip(holds, wrong, strict=True) if inside.any()]
    return Sentence(f"leaf {leaf.leaf}", len(fails), sum(fails), again)


def figures(sentences: Sequence[Sentence]) -> dict[str, object]:
    """All sentences, and the most precise one that is significant again."""
    again = [sentence for sentence in sentences if sentence.is_significant]
    best = max(again, key=lambda sentence: sentence.precision, default=None)
    return {
        "sentences": len(sentences),
        "confirmed_again": len(again),
        "precision": [round(sentence.precision, 3) for sentence in sentences],
        "holds": [sentence.holds for sentence in sentences],
        "best": best.words if best else "",
    }


if __name__ == "__main__":
    main()
