"""Whether an experiment's record agrees with the publication: one stated rule for means, one for counts of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproduce.experiments.experiment import LEAST
from reproduce.experiments.record import CellRecord, OutcomeRecord
from reproduce.paper.paper_file import Item, Verdict
from trex.foundation.errors import InputError
from trex.foundation.words import counted

ABOUT = 0.05  # "about 50%" is printed to the nearest ten
RULE = (
    "A mean **agrees** if it differs from the published one by no more than the larger of the two deviations; a count "
    "of level sets found agrees if it is at least the published one, or 0 where the publication found none; an "
    f"accuracy published as about so much agrees within {100 * ABOUT:.0f} points. A row whose cells were not all run "
    "is **incomplete** while the others could still change the verdict; so is one with a mean that is not compared, "
    f"because its draws are worth fewer than {LEAST} independent ones, or for the reason that the row says."
)


@dataclass(frozen=True)
class Compared:
    """An item of the page: both sides in words, the verdict and its reason."""

    item: Item
    published: str
    here: str
    verdict: Verdict
    why: str
    command: str
    sheet: str = ""  # the path of the experiment's contact sheet, if it has one
    has_test_set: bool = False  # pictures of which may be on no sheet
    record: OutcomeRecord | None = None  # that the row was made of


def compared(item: Item, record: OutcomeRecord | None, command: str) -> Compared:
    """The row of an item; `command` makes its record, which is None if there is none yet."""
    if not item.experiment:
        if item.verdict is None:
            raise InputError(f"{item.item} has neither an experiment nor a verdict")
        return Compared(item, item.published, item.here, item.verdict, item.why, item.command)
    if record is None:
        return Compared(item, item.published, "–", "absent", "not run yet", command)
    if item.compare == "accuracy":
        return _accuracy(item, record)
    cells = chosen_cells(item, record)
    if item.compare == "mistakes":
        here = _mistakes(cells) or "–"
        return Compared(item, item.published, here, "not comparable", item.why, item.command)
    if item.compare == "means":
        return _means(item, record, cells)
    if item.compare == "found":
        return _found(item, record, cells)
    here = item.here or _counts(cells)
    return Compared(item, item.published, here, "not comparable", item.why, record.command)


def agrees(cell: CellRecord) -> bool:
    """Whether the means of a cell that has published ones agree with them."""
    if not cell.is_found or len(cell.means) != len(cell.published):
        return False
    theirs = cell.published_sd or (0.0,) * len(cell.published)
    return all(
        abs(mean - published) <= max(sd, deviation)
        for mean, sd, published, deviation in zip(
            cell.means, cell.deviations, cell.published, theirs, strict=True
        )
    )


def _doubt(cell: CellRecord) -> str:
    """Why the mean of a cell that found something is not compared; "" if it is."""
    if cell.is_found and cell.effective_size < LEAST:
        return f"worth fewer than {LEAST} independent draws"
    return cell.caveat if cell.is_found else ""


def chosen_cells(item: Item, record: OutcomeRecord) -> Sequence[CellRecord]:
    """The cells that an item is about; InputError if the record has none of them."""
    cells = [cell for cell in record.cells if not item.cells or cell.name in item.cells]
    if not cells:
        raise InputError(f"{item.item}: {record.experiment} has none of the cells {', '.join(item.cells)}")
    return cells


def _not_run(item: Item, record: OutcomeRecord, cells: Sequence[CellRecord]) -> int:
    """The number of cells that the row needs and the record lacks."""
    return max(0, len(item.cells or range(record.planned)) - len(cells))


def _means(item: Item, record: OutcomeRecord, cells: Sequence[CellRecord]) -> Compared:
    doubts = {cell.name: doubt for cell in cells if cell.published and (doubt := _doubt(cell))}
    valued = [cell for cell in cells if cell.published and cell.name not in doubts]
    here = "; ".join(map(here_words, cells))
    if not valued and not doubts:
        return Compared(item, item.published, here, "not comparable", item.why, record.command)
    off = [cell.name for cell in valued if not agrees(cell)]
    missing = _not_run(item, record, cells)
    why = f"{len(valued) - len(off)} of {len(valued)} means agree"
    if off:
        why += f"; not {', '.join(off)}"
    for doubt in dict.fromkeys(doubts.values()):
        why += f"; not compared: {', '.join(name for name, why_not in doubts.items() if why_not == doubt)} ({doubt})"
    if missing:
        why += f"; {counted(missing, 'cell')} not run"
    if item.why:
        why += f"; {item.why}"
    verdict: Verdict = "differs" if off else "incomplete" if missing or doubts else "agrees"
    published = item.published or "; ".join(published_words(cell) for cell in cells if cell.published)
    return Compared(item, published, here, verdict, why, record.command)


def _found(item: Item, record: OutcomeRecord, cells: Sequence[CellRecord]) -> Compared:
    found, published = sum(cell.is_found for cell in cells), record.found_published
    if published is None:
        raise InputError(
            f"{item.item}: {record.experiment} gives no number of level sets found (found_published)"
        )
    good = found >= published if published else found == 0
    missing, why = _not_run(item, record, cells), item.why
    # What was not run could still be found, or be found where nothing may be.
    verdict: Verdict = "agrees" if good else "differs"
    if missing and good != bool(published):
        verdict = "incomplete"
    if missing:
        why = "; ".join(filter(None, [f"{counted(missing, 'cell')} not run", why]))
    words = item.published or f"{published} of {record.planned} found"
    return Compared(item, words, _counts(cells), verdict, why, record.command)


def _accuracy(item: Item, record: OutcomeRecord) -> Compared:
    if not record.accuracies or item.published_value is None:
        why = "the record names no accuracy; run the command again, which only reads finished cells"
        return Compared(item, item.published, "–", "absent", why, record.command)
    off = [
        accuracy for accuracy in record.accuracies if abs(accuracy.rate.value - item.published_value) > ABOUT
    ]
    here = "; ".join(accuracy.words for accuracy in record.accuracies)
    return Compared(item, item.published, here, "differs" if off else "agrees", item.why, record.command)


def _mistakes(cells: Sequence[CellRecord]) -> str:
    """The confident mistakes of a test set, with and without mislabelled ones; "" if no test set was counted."""
    counted = [cell.test_set for cell in cells if cell.test_set is not None]
    if not counted:
        return ""
    every = sum(counts.mistakes for counts in counted)
    marks = [counts.marks for counts in counted if counts.marks is not None]
    words = f"{every} of {counted[0].examined:,}"
    if not marks:
        return f"{words}, mislabelled ones not sorted out"
    wrong, unclear = sum(mark.mislabelled for mark in marks), sum(mark.unclear for mark in marks)
    unmarked = every - sum(mark.mislabelled + mark.mistake + mark.unclear for mark in marks)
    doubts = f"{unclear} of these unclear, {unmarked} not looked at"
    return f"{words}, without {wrong} mislabelled ones {every - wrong} ({doubts})"


def _counts(cells: Sequence[CellRecord]) -> str:
    missing = [cell.name for cell in cells if not cell.is_found]
    words = f"{len(cells) - len(missing)} of {len(cells)} found"
    if not missing:
        return words
    bound = max(cell.high for cell in cells if not cell.is_found)
    listed = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
    return f"{words}; not {listed} (each below {bound:.2%} of the prior, 95%)"


def published_words(cell: CellRecord) -> str:
    """The published values of a cell, after its name."""
    return f"{cell.name} {values_words(cell.published, cell.published_sd)}"


def here_words(cell: CellRecord) -> str:
    """What was found of a cell, after its name."""
    if not cell.is_found:
        return f"{cell.name} not found (below {cell.high:.2%} of the prior, 95%)"
    return f"{cell.name} {values_words(cell.means, cell.deviations)}"


def values_words(means: Sequence[float], deviations: Sequence[float]) -> str:
    """Means and their deviations: "0.944 ± 0.021, …"."""
    words = [f"{mean:.3f}" for mean in means]
    if deviations:
        words = [f"{word} ± {sd:.3f}" for word, sd in zip(words, deviations, strict=True)]
    return ", ".join(words)
