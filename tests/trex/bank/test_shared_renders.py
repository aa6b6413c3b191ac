"""Queries of one world share what is rendered of its bank, at the deciding look and in calibrations too."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import BANK, draws, run
from trex.bank.disk import stored_banks
from trex.finding.conclude import Outcome
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.draw_log import read_draws
from trex.scenes.scene import Scene

SURROGATE = [
    *BANK,
    "search.inner=2",
    "search.steps=0",
]  # no chains: the bank, the prior sample and nothing else


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counter[int]:
    """The number of pictures that the fake renderer made, by their width; banks of other tests are not used."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    numbers: Counter[int] = Counter()
    whole = FakeRenderer.render

    def counting(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        numbers[renderer.width] += len(zs)
        return whole(renderer, zs)

    monkeypatch.setattr(FakeRenderer, "render", counting)
    return numbers


def prior(done: Outcome) -> set[str]:
    """The scenes of the prior sample."""
    return {
        str(draw.z)
        for draw in read_draws(done.folder / "draws.jsonl", done.manifest)
        if draw.phase == "prior"
    }


def test_another_question_renders_only_scenes_that_the_first_did_not_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: Counter[int]
) -> None:
    use_ladder(monkeypatch, SMALL)
    dear = FakeRenderer().width
    first = run(tmp_path, SURROGATE, "first")
    before = rendered[dear]
    second = run(tmp_path, [*SURROGATE, "answer=1"], "second")
    new = prior(second) - prior(first)
    assert len(new) < len(prior(second))
    fresh = sum(draw.phase == "noise" for draw in read_draws(second.folder / "draws.jsonl", second.manifest))
    assert rendered[dear] - before == len(new) + fresh


def test_the_same_query_again_renders_nothing_of_the_bank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: Counter[int]
) -> None:
    """Two looks are tried: the calibration's pictures at the second are there, too. And no draw depends on it."""
    use_ladder(monkeypatch, TINY, SMALL)
    first = run(tmp_path, [*SURROGATE, "search.steps=2", "render.fresh=0"], "first")
    assert first.results.calibration is not None and len(first.results.calibration.tried) == 2
    before = Counter(rendered)
    again = run(tmp_path, [*SURROGATE, "search.steps=2", "render.fresh=0"], "again")
    assert draws(again.folder) == draws(first.folder)
    rows = read_draws(again.folder / "draws.jsonl", again.manifest)
    chains = [row for row in rows if row.phase == "chain"]
    dear = FakeRenderer().width
    assert rendered[dear] - before[dear] <= len(chains), "steps of the chains alone"
    inner = sum(int(chain.figures["inner_renders"]) for chain in chains)
    small = [row for row in rows if row.phase == "calibration"]
    assert len(small) > inner + len(chains), "or else the next line could not tell"
    assert rendered[dear // 2] - before[dear // 2] <= inner + len(chains), "no scene of the calibration"
    assert rendered[3] == before[3], "nothing at the useless look"


def test_a_full_folder_of_banks_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: Counter[int]
) -> None:
    """The cheap bank just fits; what a search keeps for others deletes nothing and stops nothing."""
    use_ladder(monkeypatch, SMALL)
    first = run(tmp_path, SURROGATE, "first")
    banks = stored_banks(tmp_path / "banks")
    (cheap,) = (bank for bank in banks if bank.index and bank.index.look == SMALL)
    assert len(banks) == 2, "without a limit the dear pictures are kept"
    shutil.rmtree(tmp_path / "banks")
    monkeypatch.setenv("TREX_BANK_MAX", str(cheap.size))
    again = run(tmp_path, SURROGATE, "again")
    assert draws(again.folder) == draws(first.folder)
    assert {bank.name for bank in stored_banks(tmp_path / "banks") if bank.pictures} == {cheap.name}


def test_without_a_bank_nothing_is_kept_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: Counter[int]
) -> None:
    """The planted bug: plain prior draws taken for members of a bank."""
    use_ladder(monkeypatch, SMALL)
    run(tmp_path, ["search.bank=0", "search.steps=0", "render.fresh=0"], "first")
    run(tmp_path, ["search.bank=0", "search.steps=0", "render.fresh=0"], "again")
    assert rendered[FakeRenderer().width] == 2 * 12
    assert not (tmp_path / "banks").exists()
