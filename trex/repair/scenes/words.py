"""What a step on scenes found, in words for the terminal, and in the sentences of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trex.foundation.percent import percent, percent_interval, signed_points
from trex.foundation.words import capitalized, counted
from trex.inference.statistics.proportion import Proportion
from trex.repair.correction.results import BEFORE, ZERO, Tuned
from trex.repair.scenes import results as names
from trex.repair.scenes.distill import SceneDistillResult
from trex.repair.scenes.identify import SceneIdentifyResult
from trex.repair.scenes.label import SCENARIO, SceneLabelResult, seen_words
from trex.repair.scenes.results import SceneClaim, SceneCorrectResult, scenario_test

NAMES = {
    names.FRESH: "fresh scenes",
    names.GROWN: "held-out mistakes",
    names.DECIDING: "deciding look",
    names.ANSWERS: "answers",
    names.CHECKED: "checked answers",
    names.CHOOSE: "scenes that choose",
    names.ORDINARY: "new ordinary scenes",
    names.RAW: "mistakes without clusters",
    BEFORE: "nothing (before)",
    ZERO: "lambda 0",
}


def identified_words(found: SceneIdentifyResult, place: Path) -> str:
    """Misread objects, and the next command."""
    return f"{identified(found)}\nnext: trex repair distill {place}"


def identified(found: SceneIdentifyResult) -> str:
    """How many objects are misread, and how many small changes keep that."""
    kinds = ", ".join(f"{name} {n}" for name, n in found.kinds.items())
    still = percent(found.still / found.perturbed) if found.perturbed else "none"
    of_runs = (
        f" In {counted(found.found, 'found scene')} of runs it misreads {counted(found.found_misread, 'object')}."
        if found.found
        else ""
    )
    return (
        f"Of {counted(found.objects, 'object')} in {counted(found.scenes, 'prior scene')} the model misreads "
        f"{found.misread:,} ({percent(found.misread / max(1, found.objects))}; {kinds}).{of_runs} Small "
        f"changes of these scenes: {found.perturbed:,}, of which {found.still:,} ({still}) keep the object "
        "misread. Held out: "
        f"{counted(found.held_out, 'mistake')}."
    )


def distilled_words(found: SceneDistillResult, place: Path) -> str:
    """The components, and the next command."""
    lines = ["component  weight  mistakes  scenes  what"]
    for one in found.components:
        kinds = ", ".join(f"{seen_words(word)} ({n})" for word, n in one.kinds)
        lines.append(
            f"{one.number:>9}  {one.weight:6.3f}  {one.members:>8,}  {one.origins:>6,}  {one.sentence}: {kinds}"
        )
    return "\n".join([*lines, distilled(found), f"next: trex repair label {place}"])


def distilled(found: SceneDistillResult) -> str:
    """How many components there are, and whether another seed finds the same."""
    return (
        f"{counted(len(found.components), 'component')} of {found.misread:,} mistakes in {found.dimensions} "
        f"dimensions, {percent(found.kept_weight)} of the weight; {found.near} within a fifth of the cut-off. A second "
        f"seed keeps {found.second_kept}; adjusted Rand index {found.rand_index:.2f} (1 is the same, 0 is chance)"
        + ("." if found.converged else "; the fit has not converged.")
    )


def labelled_words(found: SceneLabelResult, place: Path) -> str:
    """The verdicts, and the next command."""
    lines = ["component  misread            95 %              verdict        what"]
    for one in found.verdicts:
        counts = f"{one.misread} of {one.drawn}"
        bounds = percent_interval(one.low, one.high)
        lines.append(f"{one.number:>9}  {counts:<17}  {bounds:<16}  {one.kind:<13}  {one.sentence}")
    return "\n".join([*lines, labelled(found), f"next: trex repair correct {place}"])


def labelled(found: SceneLabelResult) -> str:
    """How many components are scenarios."""
    strong = sum(one.kind == SCENARIO for one in found.verdicts)
    weak = len(found.scenarios) - strong
    return (
        f"Scenarios, by the truth of fresh scenes (more than half of their objects are misread): {strong} of "
        f"{counted(len(found.verdicts), 'component')}. Weak scenarios: {weak}. Of all objects the model misreads "
        f"{percent(found.prior)}."
    )


def corrected_words(found: SceneCorrectResult, place: Path) -> str:
    """The models, what is claimed, and the next command."""
    lines = ["right: " + ", ".join(NAMES[test] for test in names.TESTS)]
    for name, models in rows_of(found):
        shares = "  ".join(share_words(models, test) for test in names.TESTS)
        lines.append(f"{name:<32} {shares}")
    return "\n".join([*lines, *corrected(found), f"next: trex repair report {place}"])


def rows_of(found: SceneCorrectResult) -> list[tuple[str, list[Tuned]]]:
    """All models, those of one kind and weight together, in the order of the table."""
    if found.before is None:
        return []
    rows = [(NAMES[BEFORE], [found.before])]
    for weight in sorted({one.weight for one in found.of(names.SWEEP)}):
        rows.append((f"scenarios, lambda {weight:g}", found.of(names.SWEEP, weight)))
    return rows + [(NAMES[kind], found.of(kind)) for kind in names.CONTROLS if found.of(kind)]


def share_words(models: list[Tuned], test: str) -> str:
    """The mean share of right ones, with the seeds' range if there are several."""
    shares = [100 * one.accuracy(test).value for one in models if one.right[test][1]]
    if not shares:
        return "–"
    mean = sum(shares) / len(shares)
    spread = f" ({min(shares):.1f}–{max(shares):.1f})" if len(shares) > 1 else ""
    return f"{mean:.1f} %{spread}"


def corrected(found: SceneCorrectResult, is_proof_held: bool = True) -> Iterator[str]:
    """What tuning has changed, claimed only if every seed's interval, and what was proved beyond it, supports it."""
    if found.before is None:
        yield "Nothing was corrected: no component is a scenario."
        return
    if not found.best:
        yield "No lambda kept the answers about ordinary scenes; nothing was chosen."
        return
    halved = found.halved()
    yield (
        f"Of {counted(len(found.corrected), 'scenario')}, at most half as often misread at the deciding look as before "
        f"in every one of {counted(len(found.chosen), 'seed')}, intervals clear of no change: "
        + (f"{len(halved)} (component {', '.join(map(str, halved))})." if halved else "none.")
    )
    for test in names.CLAIMED:
        yield f"{capitalized(NAMES[test])}: misread {_wrong(found.before, test)} before, {_wrongs(found, test)} after."
    lost = found.lost
    yield (
        f"Answers about ordinary scenes: {_right(found.before)} right before, "
        f"{share_words(found.best, names.ANSWERS)} after "
        f"({signed_points(-max(lost))} to {signed_points(-min(lost))} points)."
    )
    yield _mended(found, is_proof_held)


def _mended(found: SceneCorrectResult, is_proof_held: bool) -> str:
    if found.is_mended and is_proof_held:
        return (
            "Mended: in every seed fewer objects are misread than before and than by every control, on fresh scenes, "
            "on held-out mistakes and at the deciding look, each 95 % interval clear of no change."
        )
    reasons = []
    unchosen = sum(weight is None for weight in found.chosen)
    if unchosen:
        reasons.append(f"in {unchosen} of {counted(len(found.chosen), 'seed')} no lambda was chosen")
    missed = [
        one
        for against in found.others
        for test in names.CLAIMED
        if not (one := found.claim(against, test)).is_better
    ]
    if missed:
        reasons.append("no clear gain in every seed on " + "; ".join(map(claim_words, missed)))
    if max(found.lost) > names.MAX_LOST:
        reasons.append(
            f"{signed_points(max(found.lost))} points of the answers about ordinary scenes are lost"
        )
    if not is_proof_held:
        reasons.append("official pictures or a new search speak against it (below)")
    return f"Not claimed to be mended: {'; '.join(reasons)}."


def claim_words(claim: SceneClaim) -> str:
    """Test, control, and the differences of the seeds."""
    return f"{NAMES[claim.test]} against {NAMES[claim.against]} ({difference_words(claim)})"


def difference_words(claim: SceneClaim) -> str:
    """The mean difference of right ones and its range over the seeds, in percentage points."""
    values = [one.difference for one in claim.rows]
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{signed_points(mean)} points, {signed_points(min(values))} to {signed_points(max(values))}"


def scenario_rows(
    found: SceneCorrectResult, labels: SceneLabelResult
) -> list[tuple[int, str, str, str, str]]:
    """Of each scenario: number, sentence, misread at the deciding look before and after, and the difference."""
    if found.before is None:
        return []
    sentences = {one.number: one.sentence for one in labels.verdicts}
    rows = []
    for number in found.corrected:
        test = scenario_test(names.DECIDING, number)
        claim = found.claim(BEFORE, test)
        rows.append(
            (
                number,
                sentences[number],
                _wrong(found.before, test),
                _wrongs(found, test),
                difference_words(claim),
            )
        )
    return rows


def _wrong(model: Tuned, test: str) -> str:
    right, of = model.right[test]
    return f"{of - right} of {of}"


def _wrongs(found: SceneCorrectResult, test: str) -> str:
    return " / ".join(_wrong(one, test) for one in found.best) or "–"


def _right(model: Tuned) -> str:
    return f"{100 * Proportion(*model.right[names.ANSWERS]).value:.1f} %"
