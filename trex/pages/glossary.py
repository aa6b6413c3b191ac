"""Explanations of a report's technical words, at their first use and in a list at its end."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

WORDS = {
    "level set": "all scenes in which the model's answers match the query's target, within its width",
    "prior": "the distribution of scenes before any search",
    "prior draws": "scenes drawn at random from the prior, without selection; they estimate how often something occurs",
    "chain": "a walk from scene to scene: each step proposes a change and accepts or rejects it (Metropolis–Hastings)",
    "chains": "walks from scene to scene: each step proposes a change and accepts or rejects it (Metropolis–Hastings)",
    "families": "groups of scenes in which the model makes the same mistake under the same conditions",
    "fragile": "in the level set under the search's noise but not under new render noise, so not counted as found",
    "noise draws": "renders of the same scene with different random numbers, which change only the noise",
    "deciding preset": "size and quality of the renders that decide whether a scene is in the level set",
    "bank": "prior scenes rendered once at a cheap preset, and shared by all queries of a world",
    "proposals": "changes to a scene that a chain has tried",
    "warmup": "the first steps of a chain, which do not count as draws",
    "confidence": "the probability of the answer that the target names; of several named, the least of theirs (a "
    "perfect tie of two is 50%); of given probabilities, 1 minus the distance",
    "R-hat": "spread between the chains relative to that within each: near 1 they agree, above 1.05 they do not",
    "ESS": "effective sample size: how many independent draws carry as much information as these correlated ones",
    "effective size": "the number of equally weighted draws that carry as much information as these weighted ones",
    "CONVERGED": "the chains agree by fixed rules, so the draws represent the whole level set",
    "FOUND": "there are examples, but they may not represent the whole level set",
    "NOT FOUND": "no rendered scene is in the level set; that bounds how often it occurs but does not exclude it",
    "positive control": "the same search for something known to exist, to test whether the search can find it",
    "lift": "how many times as frequent it is here as under the prior",
    "saliency": "a map of the pixels that affect the model's answer most, from its gradients",
    "control": "a check with a known correct outcome",
    "preset": "size and quality of a render; clevr is CLEVR's own, reference is close, in a twenty-fifth of the time",
    "distinct": "different enough to count separately, by the rule above the pictures",
    "95%": "an interval from a method that contains the true value in 95% of repeated samples",
}
_ANY = re.compile(
    "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(WORDS, key=len, reverse=True))
)


def gloss(text: str) -> Markup:
    """The text, escaped; the first use of each glossary word has an explanation on hover."""
    seen: set[str] = set()
    parts: list[str] = []
    end = 0
    for match in _ANY.finditer(text):
        if match[0] in seen:
            continue
        seen.add(match[0])
        parts += [
            str(escape(text[end : match.start()])),
            f'<abbr title="{escape(WORDS[match[0]])}">{escape(match[0])}</abbr>',
        ]
        end = match.end()
    return Markup("".join(parts) + str(escape(text[end:])))
