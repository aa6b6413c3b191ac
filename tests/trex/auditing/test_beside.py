"""Two models side by side: the same scenes and questions, counted pair by pair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.serving.html_page import read_page
from tests.trex.auditing.in_memory import Swept, judged, swept
from tests.trex.auditing.planted_models import (
    as_it_is,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.audit import Audit
from trex.auditing.compare import SAME, Beside, Other, beside, read_other
from trex.auditing.document import _family as stored_family
from trex.auditing.judging.findings import Finding, share_words
from trex.auditing.judging.reword import Wordings
from trex.auditing.page import write_beside
from trex.auditing.records import EXAMINED, SETTINGS, Settings, option_name
from trex.auditing.side_by_side import CODEC, SideBySide, StoredAudit, read_findings, side_by_side
from trex.auditing.work import MANIFEST, SWEPT
from trex.families.discover import conditions_of
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.foundation.errors import InputError, RunError
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.discoveries import level_of_chosen
from trex.inference.statistics.paired import Paired
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

N = 24
SETTINGS_MADE = Settings(
    "other", "w", "world", 2, 3, 16, "fast", "reference", 0.9, 5, 0, {}
)  # of another model


@pytest.fixture(scope="module")
def models() -> tuple[Swept, Swept, Swept]:
    """A model that misses objects, one that confuses directions, and one without a fault, in the same scenes."""
    views = (small_things_at_the_back_are_missed, left_is_right_under_a_low_camera, as_it_is)
    first, second, third = (swept(view, n=N) for view in views)
    return first, second, third


def other(item: Swept, name: str = "other") -> Other:
    return Other(name, tuple(row for _, row in item.held_out))


@pytest.mark.slow
def test_mistakes_are_paired_scene_by_scene(models: tuple[Swept, Swept, Swept]) -> None:
    first, second, third = models
    wrong = [[bool(row.mistakes) for _, row in item.held_out] for item in (first, second)]
    found = beside(first.held_out, other(second), [], 0, first.asker).mistakes
    assert found.n == N // 2
    assert found.both == sum(a and b for a, b in zip(*wrong, strict=True))
    assert (found.both + found.only_first, found.both + found.only_second) == (sum(wrong[0]), sum(wrong[1]))
    clean = beside(first.held_out, other(third), [], 0, first.asker).mistakes
    assert (clean.both, clean.only_second, clean.only_first) == (0, 0, sum(wrong[0]))


def test_a_family_of_one_model_is_not_blamed_on_the_other(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    """The other model errs too, but for another reason; beside itself a model fails in the same scenes."""
    first, second, _ = models
    known = {condition.key: condition for condition in conditions_of(CLEVR)["object"]}
    family = Family(Pattern.of((known["size small"], known["far back"])), Symptom("object", "missed"))
    found, _ = judged(tmp_path, first, [family], first.held_out, {})
    (against,) = beside(first.held_out, other(second), found, 1, first.asker).families.values()
    assert against.only_first > 0 and against.both == against.only_second == 0
    assert against.n == found[0].holds.count
    (same,) = beside(first.held_out, other(first), found, 1, first.asker).families.values()
    assert (
        same.both == against.only_first and same.only_first == same.only_second == 0 and same.p_value == 1.0
    )


def test_the_p_value_of_a_family_is_corrected_for_the_number_of_families() -> None:
    """Planted bug: for those alone that the same scenes have confirmed."""
    rows = Paired(0, 6, 0, 10)
    found = Beside("other", rows, dict.fromkeys(range(2), rows), 3)
    assert found.corrected(1) == pytest.approx(3 * rows.p_value) and rows.p_value < 0.05
    even = Paired(0, 1, 1, 0)
    assert Beside("other", even, dict.fromkeys(range(3), even), 3).corrected(0) == 1.0


def write(folder: Path, item: Swept, lines: int = 5) -> Path:
    """The folder of another audit of two scenes and three held-out ones."""
    (folder / MANIFEST).write_text(SETTINGS.text(SETTINGS_MADE))
    with Lines(folder / SWEPT, EXAMINED) as log:
        log.append([row for _, row in item.training][:lines])
    return folder


def test_the_other_audit_is_read_and_left_as_it_is(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in write(tmp_path, models[0]).iterdir()}
    found = read_other(tmp_path, replace(SETTINGS_MADE, model="this", weights="v", tested=9))
    assert found == Other("other", tuple(row for _, row in models[0].training[2:5]))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", SAME)
def test_an_audit_of_other_scenes_or_questions_is_refused(
    models: tuple[Swept, Swept, Swept], tmp_path: Path, name: str
) -> None:
    write(tmp_path, models[0])
    value = getattr(SETTINGS_MADE, name)
    values: dict[str, Any] = vars(SETTINGS_MADE) | {
        name: value + "x"
        if isinstance(value, str)
        else ("zero_hop",)
        if isinstance(value, tuple)
        else value + 1
    }
    with pytest.raises(InputError, match=option_name(name)):
        read_other(tmp_path, Settings(**values))


def test_an_audit_that_is_missing_unfinished_or_changed_is_refused(
    models: tuple[Swept, Swept, Swept], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds no audit"):
        read_other(tmp_path, SETTINGS_MADE)
    write(tmp_path, models[0], lines=4)
    with pytest.raises(RunError, match="not finished"):
        read_other(tmp_path, SETTINGS_MADE)
    path = tmp_path / SWEPT
    path.write_bytes(path.read_bytes().replace(b'"truth"', b'"tooth"'))
    with pytest.raises(RunError, match="was changed"):
        read_other(tmp_path, SETTINGS_MADE)


# --- one page of both models


def finding(folder: Path, item: Swept, family: Family) -> Finding:
    """The confirmed finding of a model; the mistakes of its own held-out scenes judge it."""
    folder.mkdir(exist_ok=True)
    (found,), _ = judged(folder, item, [family], item.held_out, {})
    return replace(found, is_confirmed=True, rate=0.1, rate_interval=Interval(0.05, 0.2))


def stored(*found: Finding) -> StoredAudit:
    """What another audit's folder says of its findings."""
    families = [stored_family(each, {}) for each in found]
    return CODEC.parse(json.dumps({"settings": {"deciding": "sharp"}, "families": families}), "here", "")


@pytest.fixture
def both(models: tuple[Swept, Swept, Swept], tmp_path: Path) -> tuple[Finding, Finding]:
    """A finding of the first model, and one of the second."""
    known = {condition.key: condition for condition in conditions_of(CLEVR)["object"]}
    missed = Family(Pattern.of((known["size small"], known["far back"])), Symptom("object", "missed"))
    confused = Family(Pattern(), Symptom("scene", "left and right"))
    return finding(tmp_path / "a", models[0], missed), finding(tmp_path / "b", models[1], confused)


def compared(
    models: tuple[Swept, Swept, Swept], mine: Sequence[Finding], theirs: StoredAudit
) -> tuple[Beside, tuple[SideBySide, ...], SimpleNamespace]:
    """The first model's findings, of three families judged, beside those that the second one's audit has stored."""
    first, second, _ = models
    done = SimpleNamespace(
        confirmed=tuple(mine), held_out=first.held_out, asker=first.asker, settings=SETTINGS_MADE
    )
    found = beside(first.held_out, other(second), mine, 3, first.asker)
    return found, side_by_side(cast(Audit, done), found, other(second), theirs, CLEVR), done


def check_sides(rows: Sequence[SideBySide], mine: Finding, theirs: Finding) -> None:
    """Each model's finding has its own rate, and the share of the other measured in the same scenes."""
    row = {row.words: row for row in rows}
    assert set(row) == {mine.words, theirs.words}
    assert row[mine.words].rates[1] is None and row[theirs.words].rates[0] is None
    known = row[mine.words].rates[0], row[theirs.words].rates[1]
    assert [rate and rate.look for rate in known] == ["reference", "sharp"]
    for second, each in ((False, mine), (True, theirs)):
        own, share = each.fails, row[each.words].fails(second)
        assert shares_of(row[each.words], second) == (own.count, own.of) and own.count > 0
        assert share and share.interval == clopper_pearson(own.count, own.of, row[each.words].level)
        assert shares_of(row[each.words], not second) == (0, own.of)


def shares_of(row: SideBySide, second: bool) -> tuple[int, int] | None:
    share = row.fails(second)
    return share and (share.count, share.of)


def test_findings_of_both_models_stand_side_by_side(
    models: tuple[Swept, Swept, Swept], both: tuple[Finding, Finding]
) -> None:
    mine, theirs = both
    _, rows, _ = compared(models, [mine], stored(theirs))
    check_sides(rows, mine, theirs)
    assert [row.harm for row in rows] == sorted((row.harm for row in rows), reverse=True)
    for row in rows:
        assert row.counts and row.p_value == min(1.0, 4 * row.counts.p_value), "of three and one judged"
        assert row.level == level_of_chosen(2, 4)


def test_models_that_changed_places_are_caught(
    models: tuple[Swept, Swept, Swept], both: tuple[Finding, Finding]
) -> None:
    mine, theirs = both
    _, rows, _ = compared(models, [mine], stored(theirs))
    turned = [
        replace(row, counts=Paired(row.counts.both, row.counts.only_second, row.counts.only_first, 0))
        for row in rows
        if row.counts
    ]
    with pytest.raises(AssertionError):
        check_sides(turned, mine, theirs)


def test_the_same_finding_of_both_is_one_row(
    models: tuple[Swept, Swept, Swept], both: tuple[Finding, Finding]
) -> None:
    """Planted bug: the finding of the other model is listed again, or its rate is taken for this model's."""
    mine, _ = both
    alike = replace(mine, rate=0.3, rate_interval=Interval(0.2, 0.4))
    _, (row,), _ = compared(models, [mine], stored(alike))
    assert [rate and rate.share.value for rate in row.rates] == [0.1, 0.3]
    assert row.harm == max(mine.harm, alike.harm) and shares_of(row, False) == (
        mine.fails.count,
        mine.fails.of,
    )


@pytest.mark.parametrize("which", [0, 1])
def test_a_finding_that_holds_only_in_some_wordings_says_so_of_its_model(
    models: tuple[Swept, Swept, Swept], both: tuple[Finding, Finding], tmp_path: Path, which: int
) -> None:
    """Planted bug: the page takes the words alone, which do not tell."""
    worded = Wordings(clustered_share([0] * 20, [1] * 20))
    alike = [replace(both[0], wordings=worded if k == which else None) for k in (0, 1)]
    assert alike[which].depends_on_wording
    found, rows, done = compared(models, alike[:1], stored(alike[1]))
    assert [rate and rate.depends_on_wording for rate in rows[0].rates] == [which == 0, which == 1]
    done.folder = tmp_path
    text = " ".join(read_page(write_beside(cast(Audit, done), found, rows, tmp_path)).text.split())
    assert f"at {('reference', 'sharp')[which]} quality, but only in some wordings." in text
    assert text.count("only in some wordings") == 1


def test_a_finding_that_this_version_cannot_read_is_not_measured(
    models: tuple[Swept, Swept, Swept], both: tuple[Finding, Finding], tmp_path: Path
) -> None:
    mine, theirs = both
    unknown = replace(theirs, words="The model sees double.")
    found, rows, done = compared(models, [mine], stored(unknown))
    row = next(row for row in rows if row.words == unknown.words)
    assert row.counts is None and row.fails(False) is None and row.p_value == 1.0
    done.folder = tmp_path
    page = write_beside(cast(Audit, done), found, rows, tmp_path)
    text = " ".join(read_page(page).text.split())
    assert text.count("Not measured.") == 2 and text.count("Not a finding of this model") == 2
    assert (
        mine.words in text
        and f"It makes this mistake in {share_words(mine.fails, 'scenes').partition(';')[0]}" in text
    )


def test_findings_of_another_audit_that_are_missing_or_damaged_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not finished"):
        read_findings(tmp_path)
    (tmp_path / "report.json").write_text('{"settings": {"deciding": "fast"}, "families": [{"words": 3}]}')
    with pytest.raises(RunError, match=r"report\.json is damaged"):
        read_findings(tmp_path)
