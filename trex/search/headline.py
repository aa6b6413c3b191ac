"""The outcome of a run in one sentence, the same on the terminal and on every page."""

from __future__ import annotations

from trex.runs.manifest import Manifest
from trex.runs.record import PRIOR
from trex.runs.world_of import world_of
from trex.search.families import counted
from trex.search.results import Results
from trex.worlds.description import Noun


def headline(manifest: Manifest, findings: Results) -> str:
    """How many hits, of how many families, from how many chains, and how many of the model's answers are wrong."""
    n, noun = len(findings.found), world_of(manifest).noun
    if not n and findings.fragile:
        hits = _count(len(findings.fragile), "hit", "hits")
        return f"No such {noun.one}: of {hits}, none survives other noise."
    if not n:
        return f"No such {noun.one} among {findings.renders} rendered."
    found = f"{counted(noun, n, findings.families)} found{source_words(findings, noun)}"
    wrong = sum(bool(found.is_wrong) for found in findings.found)
    is_known = all(found.is_wrong is not None for found in findings.found)
    if not manifest.query.target.declared.is_sure or not is_known:
        return f"{found}."
    if wrong == n:
        return f"{found}, and in {'it' if n == 1 else 'every one'} the answer is wrong."
    if wrong:
        return f"{found}; in {wrong} of them the answer is wrong."
    return f"{found}; the answer is right in {'it' if n == 1 else 'all of them'}."


def source_words(findings: Results, noun: Noun) -> str:
    """The origins, as in " (from 1 prior scene and 2 chains)"; "" for a single hit."""
    if len(findings.found) < 2:
        return ""
    is_prior = {
        source: one.record.phase == PRIOR
        for source, one in zip(findings.families.sources, findings.found, strict=True)
    }
    prior = sum(is_prior.values())
    chains = len(is_prior) - prior
    words = [_count(prior, f"prior {noun.one}", f"prior {noun.many}")] if prior else []
    words += [_count(chains, "chain", "chains")] if chains else []
    return f" (from {' and '.join(words)})"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
