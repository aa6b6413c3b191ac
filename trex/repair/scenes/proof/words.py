"""A proof in words, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

from trex.foundation.percent import signed_points
from trex.foundation.words import counted
from trex.repair.scenes.proof.records import OfficialProof, Proof, SearchProof

VERDICTS = {
    "nothing to mend": "the search before found nothing, so that nothing can be mended",
    "mended": "mended here: nothing is found any more, and most of what was found no longer fails",
    "fewer": "fewer are found, most of them failures before, and most of what was found before no longer fails",
    "displaced": "displaced: most of what is found now was no failure before",
    "not mended": "not mended: most of what was found before still fails, or as many are found as before",
}
COMMAND = "trex repair prove"


def proof_sentences(proof: Proof) -> Iterator[str]:
    """What was measured beyond the correction's own tests, and what was not."""
    yield from map(official_words, proof.officials)
    yield from map(search_words, proof.searches)
    missing = [] if proof.officials else ["official pictures (--dataset)"]
    missing += [] if proof.searches else ["a new search (--query)"]
    if missing:
        yield f"Not measured: {' and '.join(missing)}; {COMMAND} does that."


def official_words(found: OfficialProof) -> str:
    """Right answers about official pictures before and after."""
    first = found.rows[0] if found.rows else None
    if first is None:
        return "Official pictures: no seed chose a model."
    after = ", ".join(f"{100 * one.right / one.n:.1f}" for one in found.rows)
    points = ", ".join(signed_points(one.difference) for one in found.rows)
    return (
        f"Official pictures ({found.dataset}, {counted(found.pictures, 'picture')}, {counted(first.n, 'question')}): "
        f"{100 * first.other_right / first.n:.1f} % right before, {after} % after ({points} points)."
        + "".join(f" {note}." for note in found.notes)
    )


def search_words(found: SearchProof) -> str:
    """A pair of searches."""
    before, after = found.before, found.after
    still, others = f"{found.kept} are still failures", f"{found.new} were none before"
    return (
        f"Search {found.query}, seed {found.seed}, look {found.look}: in the level set {found.prior_before} of "
        f"{counted(found.prior, 'prior scene')} before, {found.prior_after} after; found {before.found} in "
        f"{counted(before.renders, 'render')}, then {after.found} in {after.renders:,}. Of those "
        f"found before {still}; of those found after {others}: {VERDICTS[found.verdict]}."
    )
