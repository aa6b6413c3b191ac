"""Explanations of a report's technical words, at their first use and in a list at its end."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

WORDS = {
    "level set": "all scenes in which the model's answers are what the query's target asks for, within its width",
    "prior": "the stated distribution that scenes are drawn from before anything is searched",
    "prior draws": "scenes drawn from the prior at random; nobody selected them, so they say how often something is",
    "chain": "a walk from scene to scene: each step proposes a change and keeps it or not, by Metropolis and Hastings",
    "chains": "walks from scene to scene: each step proposes a change and keeps it or not, by Metropolis and Hastings",
    "families": "groups of scenes: the same is to blame in each, or they are variations of each other",
    "fragile": "in the level set under the search's noise draws and outside it under fresh ones, so not found",
    "noise draws": "renders of the same scene with other random numbers, which change the noise and nothing else",
    "deciding look": "size and care of the renders that decide whether a scene is in the level set",
    "bank": "prior scenes rendered once at a cheap look, and shared by all queries of a world",
    "proposals": "changes of a scene that a chain has tried",
    "warmup": "the first steps of a chain, which do not count as draws",
    "confidence": "how far the model's probabilities meet the target: 100 % is exactly what the query asks for",
    "R-hat": "how far the chains disagree against how much each varies: 1 is agreement, above 1.05 is not",
    "ESS": "effective sample size: how many independent draws would say as much as these, which resemble each other",
    "effective size": "how many equally weighted draws would say as much as these weighted ones",
    "CONVERGED": "the chains agree, by fixed rules, so the draws stand for all of the level set",
    "FOUND": "there are examples, but they need not stand for the whole level set",
    "NOT FOUND": "nothing rendered is in the level set; that bounds how often it happens, it does not exclude it",
    "Remove-nothing control": "the scene rendered once more unchanged: the answers have to be the same, bit for bit",
    "positive control": "the same search for something known to be there, to show that the search could have found it",
    "lift": "how many times more frequent it is here than under the prior",
    "saliency": "a map of the pixels that move the model's answer most, by its gradients",
    "control": "a check whose outcome is known beforehand",
    "preset": "size and care of a render; clevr is CLEVR's own, reference comes near it in a twentieth of the time",
    "distinct": "different enough to count as two, by the rule at the head of the pictures",
    "95 %": "an interval that holds the true value in 95 of 100 such samples",
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
