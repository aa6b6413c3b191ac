"""The outcome of a run in two sentences, the same on the terminal and on every page."""

from __future__ import annotations

from trex.families.lineage import distinct_words
from trex.foundation.words import counted
from trex.inference.statistics.how_often import rate_words
from trex.inference.targets.kind import Goal
from trex.query.target import goal as target_goal
from trex.runs.manifest import Manifest
from trex.scenes.questions.truth import NO_ANSWER
from trex.search.hits import BATCH
from trex.search.results import Results
from trex.worlds.latents import SCENES

FAMILIES_TOLD = 5  # on a terminal


def headline(manifest: Manifest, results: Results) -> str:
    """How many hits stay under new render noise, in how many families, and how many answers are wrong."""
    n, noun = len(results.found), manifest.world.noun
    if not n and results.fragile:
        lost = len(results.fragile)
        hits = "the one hit does not stay" if lost == 1 else f"none of {lost} distinct hits stays"
        return f"No such {noun.one}: {hits} under new render noise."
    if not n:  # no fresh draws either, so each scene has its noise draws alone
        return f"No such {noun.one} among {results.renders // manifest.query.render.pictures} rendered."
    found = f"{distinct_words(noun, n, results.families)} {_survives(manifest, n)}"
    wrong = sum(bool(found.is_wrong) for found in results.found)
    unknown = sum(found.is_wrong is None for found in results.found)
    if not manifest.query.target.declared.is_sure or unknown == n:
        return f"{found}."
    if unknown:
        has_none = all(hit.truth == NO_ANSWER for hit in results.found if hit.is_wrong is None)
        why = "the question has no true answer" if has_none else "that is not known"
        return f"{found}; in {wrong} of them the answer is wrong, and in {unknown} {why}."
    if wrong == n:
        return f"{found}, and in {'it' if n == 1 else 'every one'} the answer is wrong."
    if wrong:
        return f"{found}; in {wrong} of them the answer is wrong."
    return f"{found}; the answer is right in {'it' if n == 1 else 'all of them'}."


def goal(manifest: Manifest) -> Goal:
    """The target's behavior in words, and the answers that it concerns."""
    return target_goal(manifest.query.target, manifest.question, manifest.facts.labels)


def goal_words(manifest: Manifest) -> str:
    """What is looked for, in words: "is sure of 1"; some targets name no answer."""
    return goal(manifest).sentence


def how_often_words(manifest: Manifest, results: Results) -> str:
    """How often it happens in random scenes, at which look, with its interval; and what new noise did, in sentences."""
    words = rate_words(results.how_often.rate, manifest.world.noun.many)
    often = f"At {look_words(manifest)} it happens in {words}."
    return " ".join(filter(None, (often, fragile_words(manifest, results))))


def fragile_words(manifest: Manifest, results: Results) -> str:
    """How many distinct hits left the level set under new render noise, in one sentence; "" if none had to stay.

    Or how many checks failed, if a hit that stays took the place of each that does not.
    """
    fresh, kept, lost = manifest.query.render.fresh, len(results.found), len(results.fragile)
    if not fresh or not kept + lost:
        return ""
    if lost:
        more = "more candidate" if kept else "candidate"
        dropped = "was dropped because it depends" if lost == 1 else "were dropped because they depend"
        return f"{counted(lost, more)} {dropped} on render noise."
    failed, checks = results.fresh_checks
    if failed:
        like = f"a {manifest.world.noun.one} that does not"
        return f"{failed} of {checks} candidates depend on render noise, and resemble {like}."
    draws = ("up to " if fresh > BATCH else "") + counted(fresh, "draw")
    return f"No candidate was dropped: all stay under {draws} of new render noise."


def look_words(manifest: Manifest) -> str:
    """The deciding look in words: "preset reference (480×320, mean of 2 noise draws)"; size alone for decoders."""
    width, height = manifest.facts.size
    size = f"{width}×{height}"
    if manifest.world.form is not SCENES:
        return f"{size} pixels"
    render = manifest.query.render
    drawn = [counted(render.views, "viewpoint")] if render.views > 1 else []
    drawn += [counted(render.noise, "noise draw")] if render.noise > 1 else []
    mean = f", mean of {' × '.join(drawn)}" if drawn else ""
    return f"preset {render.preset} ({size}{mean})"


def family_sentences(results: Results) -> tuple[str, ...]:
    """The first families, two sentences each, for a terminal."""
    shown = [family for family in results.families.known if family.is_traced]
    texts = [
        f"family {family.number}: {family.words} {family.size} of {len(results.found)} found; "
        f"{f'in {family.sampled} {family.how_often}' if family.rate else f'none in {family.sampled}'}"
        for family in shown[:FAMILIES_TOLD]
    ]
    more = len(shown) - FAMILIES_TOLD
    return (*texts, *([f"and {counted(more, 'more family', 'more families')}"] if more > 0 else []))


def _survives(manifest: Manifest, n: int) -> str:
    if manifest.query.render.fresh:
        return f"stay{'s' if n == 1 else ''} under new render noise"
    return "found"
