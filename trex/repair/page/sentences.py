"""What a repair has shown, in plain sentences: only what its controls and intervals support."""

from __future__ import annotations

from collections.abc import Iterator

from trex.foundation.percent import percent, signed_points
from trex.foundation.words import capitalized, counted
from trex.repair.correction.results import FRESH, GROWN, TEST, ZERO, Claim, CorrectResult
from trex.repair.distill import DistillResult
from trex.repair.identify import IdentifyResult
from trex.repair.label import LabelResult
from trex.repair.novelty import FROM_TEST, FROM_TRAINING, GROUPS, PLAIN, REAL, SCENARIOS, NoveltyResult
from trex.repair.words import NAMES, NOVEL, accuracy_words, epoch_words


def identified(found: IdentifyResult) -> str:
    """How many mistakes there are, and for how many of them no noise was needed.

    Whether the generator or the model is to blame for those is not known: the picture itself is not put to the model.
    """
    plain = found.kept - found.kept_new
    share = percent(plain / found.kept) if found.kept else "none"
    return (
        f"{counted(found.kept, 'likely mistake')} grown from {counted(found.seeds, 'picture')} by {found.grown.noise} "
        f"noise. For {plain:,} ({share}) the model is already wrong on the plain reconstruction: these needed no noise."
    )


def distilled(found: DistillResult) -> str:
    """How many components there are, and whether another seed finds the same."""
    return (
        f"Components of the mistakes above the cut-off: {len(found.components)}; within a fifth of it: {found.near}. "
        f"A second seed keeps {found.second_kept}; the two partitions agree to an adjusted Rand "
        f"index of {found.rand_index:.2f} (1 is the same, 0 is chance)"
        + ("." if found.converged else "; the fit has not converged.")
    )


def voted(found: LabelResult) -> str:
    """Who voted, and how many components are scenarios."""
    doubtful = [one.name for one in found.voters if one.is_doubtful]
    warning = f" Below 80 % of hidden checks right: {', '.join(doubtful)}." if doubtful else ""
    people = "" if "annotator" in found.who else " No person has looked at these pictures."
    return (
        f"{capitalized(found.who)}: in {len(found.scenarios)} of "
        f"{counted(len(found.components), 'component')} most labels differ from the model's answers "
        f"and one label leads. These are the failure scenarios.{people}{warning}"
    )


def corrected(found: CorrectResult) -> Iterator[str]:
    """What fine-tuning has changed beyond its controls."""
    if found.before is None:
        yield f"Nothing was corrected: no scenario is pure enough (below the threshold: {len(found.impure)})."
        return
    left = f" {counted(len(found.impure), 'further scenario')} too impure to correct." if found.impure else ""
    if not found.best:
        yield f"No weight of the scenarios kept the accuracy on validation pictures; nothing was chosen.{left}"
        return
    yield (
        f"{counted(len(found.corrected), 'scenario')} corrected with {counted(len(found.best), 'seed')}: right on "
        f"{accuracy_words(found.best, FRESH)} of fresh draws ({percent(found.before.accuracy(FRESH).value)} before, "
        f"{accuracy_words(found.of('sweep', 0.0), FRESH)} after the same training without scenarios) and on "
        f"{accuracy_words(found.best, TEST)} of the test split ({percent(found.before.accuracy(TEST).value)} before, "
        f"{accuracy_words(found.of('sweep', 0.0), TEST)} without scenarios).{left}"
    )
    words = epoch_words(found) if found.epoch_by else ""
    if words:
        yield f"{capitalized(words)}."
    yield _mended(found)


def _mended(found: CorrectResult) -> str:
    claims = [one for one in found.claims() if one.test in (FRESH, GROWN)]
    missed = [one for one in claims if not one.is_better_where_chosen]
    unchosen = sum(weight is None for weight in found.chosen)
    costs = [one for one in found.claims() if (one.against, one.test) == (ZERO, TEST) and one.is_worse]
    if found.is_mended:
        return (
            "Mended: in every seed the corrected model is better than before and than every control, on fresh draws "
            "and on mistakes grown from test pictures, each 95 % interval clear of no change."
        )
    reasons = []
    if unchosen:
        seeds = counted(len(found.chosen), "seed")
        reasons.append(
            f"in {unchosen} of {seeds} no weight of the scenarios kept the accuracy on validation pictures"
        )
    if missed:
        tests = "; ".join(
            f"{NAMES[one.test]} against {NAMES[one.against]} ({difference_words(one)})" for one in missed
        )
        reasons.append(f"no clear gain in every tuned seed on {tests}")
    reasons += [f"the test split is worse than with lambda 0 ({difference_words(one)})" for one in costs]
    gain = "although every tuned seed gains clearly on fresh draws and grown mistakes, against every control"
    return f"Not claimed to be mended{'' if missed else ', ' + gain}: {'; '.join(reasons)}."


def difference_words(claim: Claim) -> str:
    """The mean difference and its range over the seeds, in percentage points."""
    mean, low, high = (signed_points(one) for one in claim.difference)
    return f"{mean} points, {low} to {high}"


def compared(found: NoveltyResult) -> str:
    """How far from the training pictures the mistakes lie, beside test pictures."""
    each = [one for group in GROUPS if (one := found.of(group)) is not None]
    medians = "; ".join(f"{NOVEL[one.group]} {one.median:.2f}" for one in each)
    copies = sum(one.copies for one in each if one.group in (SCENARIOS, FROM_TRAINING, FROM_TEST))
    return (
        f"Median distance to the nearest of {found.training:,} training pictures: {medians}. "
        f"Copies of a training picture among the draws and mistakes: {copies}. A decoding is smooth: what the noise "
        f"adds shows beside {NOVEL[PLAIN]}, not beside {NOVEL[REAL]}."
    )
