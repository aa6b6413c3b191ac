"""What a step found, in words for the terminal."""

from __future__ import annotations

from pathlib import Path

from trex.foundation.percent import percent
from trex.foundation.words import counted
from trex.repair.correction.results import (
    CONTROLS,
    FIRST_HALF,
    HALVES,
    SECOND_HALF,
    SWEEP,
    TEST,
    TESTS,
    VALIDATION,
    CorrectResult,
    Tuned,
)
from trex.repair.distill import DistillResult
from trex.repair.identify import IdentifyResult
from trex.repair.label import Agreement, LabelResult
from trex.repair.novelty import (
    FROM_TEST,
    FROM_TRAINING,
    MISREAD,
    PLAIN,
    REAL,
    SCENARIOS,
    NoveltyResult,
)


def identify_words(found: IdentifyResult, place: Path) -> str:
    """Mistakes found, under each kind of noise, and the next command."""
    lines = ["noise       decodings  not called the label  of these, plain reconstruction right"]
    lines += [
        f"{one.noise:<11} {one.decodings:>9,}  {percent(one.wrong / one.decodings):>20}  "
        f"{percent(one.wrong_new / one.decodings):>33}"
        for one in found.compared
    ]
    lines += [
        f"{counted(found.kept, 'mistake')} kept of {found.grown.wrong:,} among {found.grown.decodings:,} decodings "
        f"({found.grown.noise} noise) of {counted(found.seeds, 'picture')}; the plain reconstruction of "
        f"{found.kept - found.kept_new:,} of them is already wrong",
        f"{counted(found.held_out, 'mistake')} grown from test pictures, for the test",
        f"next: trex repair distill {place}",
    ]
    return "\n".join(lines)


def distill_words(found: DistillResult, place: Path) -> str:
    """The components, how stable they are, and the next command."""
    lines = ["component  weight  members  already wrong unperturbed  label -> answer"]
    for one in found.components:
        pairs = ", ".join(f"{label} -> {answer} ({count})" for label, answer, count in one.pairs)
        lines.append(
            f"{one.number:>9}  {one.weight:6.3f}  {one.members:>7,}  {one.plain_wrong:>25,}  {pairs}"
        )
    ending = "converged" if found.converged else "NOT converged"
    lines += [
        f"{counted(len(found.components), 'component')} of {found.mistakes:,} mistakes kept, "
        f"{percent(found.kept_weight)} of the weight; {ending} after {counted(found.iterations, 'iteration')}",
        f"stability: {found.near} within a fifth of the cut-off; another seed keeps {found.second_kept} "
        f"(adjusted Rand index {found.rand_index:.2f}; 1 is the same, 0 is chance)",
        f"next: trex repair label {place} --voters committee",
    ]
    return "\n".join(lines)


def vote_words(pictures: Path, place: Path) -> str:
    """How people vote on the pictures."""
    return (
        f"pictures to vote on: {pictures}/p*.png\n"
        f"people vote in a browser: trex label {place} --serve; elsewhere: --export PAGE\n"
        "votes go into a CSV file with the columns picture,annotator,label: the name of the picture without .png, the "
        'annotator\'s name, and a class or "none"\n'
        f"then: trex repair label {place} --votes FILE.csv\n"
        f"or let networks vote: trex repair label {place} --voters committee"
    )


def label_words(found: LabelResult, place: Path) -> str:
    """Who voted and how well they agree, the scenarios, and the next command."""
    lines = [f"voters: {found.who}" + (f", without {', '.join(found.without)}" if found.without else "")]
    for one in found.voters:
        mark = "  <- below 80 %" if one.is_doubtful else ""
        lines.append(
            f"  {one.name}: {one.right} of {one.checks} real pictures right, {one.same} of {one.repeats} repeats "
            f"alike{mark}"
        )
    lines += ["component  label  disagree with the model  labelled  carry the label"]
    for item in found.components:
        kind = "scenario" if item.is_scenario else ""
        lines.append(
            f"{item.number:>9}  {item.label or '-':>5}  {item.disagree:>23}  {item.labelled:>8}  "
            f"{item.pure:>15}  {kind}"
        )
    alpha = "not defined" if found.alpha is None else f"{found.alpha:.2f}"
    lines += [
        f"agreement with the majority: {agreement_words(found.scenario)} in scenarios, "
        f"{agreement_words(found.other)} in others, {agreement_words(found.all)} in all "
        f"(by chance {percent(found.chance)}); Krippendorff's alpha {alpha}",
        f"{counted(len(found.scenarios), 'failure scenario')} of {counted(len(found.components), 'component')}; "
        f"{found.none} pictures show no class, {found.undecided} are undecided",
        f"next: trex repair correct {place}",
    ]
    return "\n".join(lines)


def agreement_words(found: Agreement) -> str:
    """Mean and standard error in percent; "-" for no picture."""
    return f"{percent(found.mean)} ± {100 * found.error:.1f}" if found.pictures else "-"


FARTHER = "farther: than the test pictures, in this share of pairs; 50 % if they are alike"
COLUMNS = (*TESTS, VALIDATION)
NOVEL = {
    SCENARIOS: "fresh draws of the scenarios",
    FROM_TRAINING: "mistakes grown from training pictures",
    FROM_TEST: "mistakes grown from test pictures",
    PLAIN: "reconstructions of test pictures",
    MISREAD: "test pictures that the model misreads",
    REAL: "test pictures",
}
HALVES_ROW = "  halves of the test split, as published"
NAMES = {
    "before": "before",
    "lambda 0": "lambda 0: the same steps without scenarios",
    "plain": "unperturbed decodings",
    "raw": "raw mistakes, labelled as their seeds",
    "single": "mistakes labelled one by one",
    "fresh": "fresh draws",
    "grown": "grown from test pictures",
    "real": "real pictures inside",
    "test": "test split",
    "validation": "validation",
}


def correct_words(found: CorrectResult, place: Path) -> str:
    """The four tests of every model, and the next command."""
    if found.before is None:
        return (
            f"nothing to correct: no scenario is pure enough (below correct.purity: {len(found.impure)})\n"
            f"next: trex repair report {place}"
        )
    lines = [f"{'tuned on':<44}" + "".join(f"{NAMES[name]:>26}" for name in COLUMNS)]
    lines += [
        f"{name:<44}" + "".join(f"{cell:>26}" for cell in cells) for name, cells in accuracy_rows(found)
    ]
    chosen = ", ".join("none" if weight is None else f"{weight:g}" for weight in found.chosen)
    lines += [f"lambda chosen, by seed: {chosen}", epoch_words(found), f"next: trex repair report {place}"]
    return "\n".join(line for line in lines if line)


def epoch_words(found: CorrectResult) -> str:
    """Which epochs' weights the chosen models have; "" if none is chosen, or there was only one epoch."""
    if not found.best or found.epochs == 1:
        return ""
    if not found.epoch_by:
        return f"weights of the last of {counted(found.epochs, 'epoch')}"
    kept = ", ".join(str(one.epoch) for one in found.best)
    return f"weights of the epoch best on {found.epoch_by} pictures, of {found.epochs}, by seed: {kept}"


def accuracy_rows(found: CorrectResult) -> list[tuple[str, list[str]]]:
    """The table of accuracies under COLUMNS: a row for each model, and a second one if the test split has halves."""
    rows = []
    for name, models in rows_of(found):
        rows.append((name, [accuracy_words(models, column) for column in COLUMNS]))
        if all(half in models[0].right for half in HALVES):
            cells = {
                TEST: accuracy_words(models, SECOND_HALF),
                VALIDATION: accuracy_words(models, FIRST_HALF),
            }
            rows.append((HALVES_ROW, [cells.get(column, "") for column in COLUMNS]))
    return rows


def novelty_words(found: NoveltyResult) -> str:
    """The distances of every group to the nearest training picture."""
    lines = [
        f"{'distance to the nearest training picture':<44}pictures  median  quartiles      copies  farther"
    ]
    lines += [
        f"{NOVEL[one.group]:<44}{one.pictures:>8}  {one.median:6.2f}  {one.lower:5.2f} to {one.upper:5.2f}"
        f"{one.copies:>8}  {percent(one.farther):>7}"
        for one in found.groups
    ]
    return "\n".join([*lines, FARTHER])


def rows_of(found: CorrectResult) -> list[tuple[str, list[Tuned]]]:
    """The rows of the table: the model before, every weight of the sweep, the chosen ones, and the controls."""
    rows = [("before", [found.before])] if found.before is not None else []
    weights = dict.fromkeys(one.weight for one in found.of(SWEEP))
    rows += [
        (NAMES["lambda 0"] if weight == 0 else f"scenarios, lambda {weight:g}", found.of(SWEEP, weight))
        for weight in weights
    ]
    rows += [("scenarios, lambda chosen by each seed", found.best)] if found.best else []
    rows += [(NAMES[kind], found.of(kind)) for kind in CONTROLS if found.of(kind)]
    return rows


def accuracy_words(models: list[Tuned], name: str) -> str:
    """Mean and range over the seeds: "95.1 % (94.8 to 95.6)"."""
    values = [one.accuracy(name).value for one in models if one.accuracy(name).of]
    if not values:
        return "-"
    mean = percent(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f} to {100 * max(values):.1f})"
