"""What is proved beyond a correction's own tests: official pictures, and a new search with the same query."""

from __future__ import annotations

import json
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from PIL import Image

from tests.running.command_line import refused, trex
from tests.serving.documents import ROOT
from tests.trex.repair.scenes.planted import SMALL, opened, query
from tests.trex.repair.test_claims import result
from tests.worlds.repair_toy import tree
from trex.clevr_models.percept.model import SHIPPED, Percept
from trex.commands.results.proof import _check_whole, _source
from trex.datasets.clevr_questions import AskedFolder, AskedPicture
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import AskedQuestion
from trex.foundation.errors import InputError
from trex.query.shipped import query_path
from trex.repair.scenes import official as officially
from trex.repair.scenes.official import _digest, official_row
from trex.repair.scenes.proof import OfficialProof, Proof, Searched, SearchProof, read_proof

pytestmark = pytest.mark.usefixtures("one_thread")
QUERY = """\
question = "How many cubes are there?"
answer = "1"
[scene]
objects = 3
revoke = ["cube"]
[render]
preset = "fake"
[search]
prior_scenes = 30
bank = 0
steps = 3
chains = 1
kernel = "block"
"""


def row(**changes: object) -> SearchProof:
    """A pair of searches: ten found before in 100 renders, none after."""
    before = Searched(run="b", ending="FOUND", found=10, families=2, renders=100, rate="1%")
    values: dict[str, object] = {
        "corrected": "x", "query": "q", "seed": 0, "look": "fast", "before": before,
        "after": before.model_copy(update={"found": 0}), "prior": 500, "prior_before": 7, "prior_after": 2,
        "kept": 3, "new": 0,
    }  # fmt: skip
    return SearchProof.model_validate(values | changes)


def after(found: int) -> Searched:
    return row().before.model_copy(update={"found": found})


def test_the_verdict_tells_repaired_from_displaced() -> None:
    assert row().verdict == "repaired" and row().holds
    assert row(after=after(4), new=1).verdict == "fewer" and row(after=after(4), new=1).holds
    assert row(after=after(10), new=2).verdict == "not repaired" and not row(after=after(10), new=2).holds
    displaced = row(after=after(4), new=3)  # fewer, and most of them are failures that were none before
    assert displaced.verdict == "displaced" and not displaced.holds
    assert not row(prior_after=7).holds  # as many prior scenes in the level set as before
    assert "displaced" in displaced.words and "3 were none before" in displaced.words


def test_a_search_that_finds_less_while_most_of_what_was_found_still_fails_mends_nothing() -> None:
    """Planted bug: "repaired" where the model fails as before on every scene that was found."""
    for found in (0, 4, 9):
        kept = row(after=after(found), kept=5)
        assert kept.verdict == "not repaired" and not kept.holds
    assert "most of what was found before still fails" in row(kept=10).words


def test_a_search_that_found_nothing_before_speaks_against_a_repair_only_if_it_does_now() -> None:
    nothing = row(before=after(0), after=after(0))
    assert nothing.verdict == "nothing to repair" and nothing.holds
    assert row(before=after(0), after=after(0), prior_before=0, prior_after=0).holds
    assert not row(before=after(0), after=after(0), prior_before=0, prior_after=30).holds
    new = row(before=after(0), after=after(9), new=9)
    assert new.verdict == "displaced" and not new.holds


def test_a_level_set_that_was_compared_on_no_prior_scene_or_grew_from_nothing_does_not_hold() -> None:
    """Planted bugs: both once held, because no prior scene was in the level set before."""
    assert not row(prior=0, prior_before=0, prior_after=0).holds
    assert not row(prior_before=0, prior_after=30).holds


def official(lost: int) -> OfficialProof:
    """Twenty pictures of ten questions each, all right before; `lost` of them are wrong after."""
    right = [np.ones(10, np.bool_) for _ in range(20)]
    wrong = np.concatenate(right)
    wrong[:lost] = False
    return OfficialProof(
        corrected="x",
        dataset="CLEVR",
        pictures=20,
        rows=[official_row(0, list(wrong.reshape(20, 10)), right)],
    )


def test_official_pictures_may_lose_one_point_and_their_questions_are_clusters() -> None:
    assert official(2).holds and not official(3).holds  # 1 and 1.5 points of 200 answers
    first = official(10).rows[0]  # all of one picture
    assert (first.n, first.clusters, first.right) == (200, 20, 190)
    assert (first.low < -0.14 and first.high == 0.0) or first.high > 0.0  # one picture of twenty says little
    assert "−5.0 points" in official(10).words


def test_a_correction_is_claimed_only_if_its_proof_does_not_speak_against_it() -> None:
    found = result("scenes")
    assert found.said(is_proof_held=Proof((), ()).holds)[-1].startswith("Repaired")
    for proof in (Proof((official(3),), ()), Proof((official(2),), (row(after=after(10)),))):
        words = found.said(is_proof_held=proof.holds)[-1]
        assert words.startswith("Not claimed to be repaired")
    assert Proof((official(2),), (row(),)).holds
    assert "Not measured: a new search" in Proof((official(2),), ()).sentences[-1]


def test_official_pictures_that_cannot_be_used_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the first of them ended `trex repair prove`."""
    asked = (AskedQuestion("1", "CLEVR", "Why?", (), "1"),)
    pictures = tuple(AskedPicture(name, "", tmp_path / name, asked) for name in ("1.png", "2.png"))
    (tmp_path / "1.png").write_bytes(b"")
    Image.new("RGB", (120, 80)).save(tmp_path / "2.png")
    monkeypatch.setattr(officially, "PerceptModel", lambda percept: percept)
    monkeypatch.setattr(officially, "answers_to", lambda model, pixels, questions: ("1",))
    tally = Tally()
    (right,) = officially._right(cast(Percept, None), AskedFolder("CLEVR", pictures, 0), tally)
    assert right.tolist() == [True] and "1 picture cannot be used and is left out" in tally.sentences[0]


def test_a_second_data_set_does_not_replace_what_the_first_shows(tmp_path: Path) -> None:
    """Planted bug: a folder of one picture replaced a proof that spoke against the correction."""
    folders = [
        AskedFolder(
            "CLEVR",
            (AskedPicture("1.png", "val", tmp_path, (AskedQuestion("1.png", "CLEVR", "Why?", (), answer),)),),
            0,
        )
        for answer in ("1", "2")
    ]
    assert len({_digest(folder) for folder in folders}) == 2 and _digest(folders[0]) == _digest(folders[0])
    assert not Proof((official(2), official(3)), ()).holds
    assert len(Proof((official(2), official(3)), ()).sentences) == 3


def test_every_seed_and_every_search_of_a_proof_has_to_hold() -> None:
    both = official(2).rows + official(3).rows
    assert not official(2).model_copy(update={"rows": both}).holds
    assert not official(2).model_copy(update={"rows": both[::-1]}).holds
    assert not Proof((), (row(), row(prior_after=7))).holds
    assert row(after=after(4), new=2).verdict == "fewer"  # half is not most


@pytest.fixture
def place(repaired: Path, tmp_path: Path) -> Path:
    """A copy of it, with a query beside it."""
    (tmp_path / "again.toml").write_text(QUERY)
    return Path(shutil.copytree(repaired, tmp_path / "r"))


def searched(place: Path) -> dict[str, bytes]:
    """The pair's record and the draws of both runs; their pages also tell how often a run was resumed."""
    return {
        name: data
        for name, data in tree(place).items()
        if name.startswith("proof/search-") or name.endswith("draws.jsonl")
    }


def test_the_same_query_is_searched_before_and_after(place: Path) -> None:
    command = ("repair", "prove", place, "--query", place.parent / "again.toml", "--json")
    (message,) = json.loads(trex(*command).stdout)["searches"]
    assert message["prior"] == 30 and message["query"] == "again" and message["before"]["renders"] >= 30
    assert 0 <= message["new"] <= message["after"]["found"] and message["kept"] <= message["before"]["found"]
    before = searched(place)
    assert json.loads(trex(*command).stdout)["searches"] == [message]
    assert searched(place) == before and len(before) == 3
    document = json.loads(trex("repair", "report", place, "--json").stdout)
    assert document["proof"]["searches"] == [message]
    assert "Search again, seed 0" in (place / "report.html").read_text()


def test_another_query_of_the_same_name_is_a_proof_of_its_own(place: Path) -> None:
    command = ("repair", "prove", place, "--query", place.parent / "again.toml", "--json")
    assert trex(*command).exit_code == 0
    more = trex(*command, "--set", "search.seed=9")
    assert more.exit_code == 0 and len(json.loads(more.stdout)["searches"]) == 2
    assert len(list((place / "proof").glob("search-again-*-0.json"))) == 2


def test_the_model_before_is_the_one_that_was_repaired(place: Path) -> None:
    """Planted bug: another model in repair.toml once was asked in its place."""
    text = (place / "repair.toml").read_text()
    other = place.parent / "other.safetensors"
    shutil.copy(next((place / "correct").glob("model-*.safetensors")), other)
    (place / "repair.toml").write_text(f'{text}\nmodel.name = "{other}"\n')
    before = tree(place)
    refused(trex("repair", "prove", place, "--query", place.parent / "again.toml"), "model")
    assert tree(place) == before


def test_a_proof_belongs_to_its_correction(place: Path) -> None:
    trex("repair", "prove", place, "--query", place.parent / "again.toml")
    with opened(place, query(**SMALL)) as folder:
        assert len(read_proof(folder).searches) == 1
    (stored,) = (place / "proof").glob("search-*.json")
    found = json.loads(stored.read_text())
    stored.write_text(json.dumps({**found, "corrected": "0" * 64}))
    with opened(place, query(**SMALL)) as folder:
        assert read_proof(folder).searches == ()


def test_what_the_shipped_query_lacks_for_a_proof_is_named_and_helps(tmp_path: Path) -> None:
    """Planted bug: a first advice, search.bank=0, ended in an error of its own; the how-to's command failed, too."""

    def check(*overrides: str) -> None:
        _check_whole(_source(query_path(Path("demo")), overrides, SHIPPED))

    with pytest.raises(InputError, match="each model would choose 100 of 1,500 scenes") as refusal:
        check()
    advice = shlex.split(str(refusal.value).partition("; give ")[2])
    given = [value for word, value in pairwise(advice) if word == "--set"]
    assert len(given) == 2
    for override in given:
        check(override)
    how_to = (ROOT / "docs/how-to/repair.md").read_text()
    (line,) = [each for each in how_to.splitlines() if each.startswith("trex repair prove")]
    check(*(value for word, value in pairwise(shlex.split(line)) if word == "--set"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "give --query, --dataset or both"),
        (("--seed", "0"), "only a search"),
        (("--query", "again.toml", "--seed", "4"), "seed 4 chose no model"),
        (("--query", "again.toml", "--set", "model.name=shipped"), "the models of the repair"),
        (("--query", "again.toml", "--set", "search.bank=60"), "each model would choose 30 of 60 scenes"),
        (("--query", "missing.toml"), "missing.toml"),
        (("--dataset", "nowhere"), "nowhere"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(
    place: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(place.parent)
    before = tree(place)
    refused(trex("repair", "prove", place, *words), text)
    assert tree(place) == before
