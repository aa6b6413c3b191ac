"""`findings.json`: the results of a run for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trex.families.family import Family
from trex.search.hit import Hit
from trex.search.results import Results
from trex.worlds.latents import to_fields


def to_json(results: Results, first: Mapping[str, object]) -> str:
    """The results as JSON, after `first`, values under keys of their own."""
    how = results.how_often
    data: Mapping[str, object] = {
        **first,
        "ending": results.ending,
        "sentences": [*results.conclusion.sentences, *filter(None, [results.control]), *results.remarks],
        "how_often": {
            "prior_draws": how.n, "hits": how.hits, "rate": how.rate.point, "interval_95": list(how.rate_interval),
            "says": how.rate.figure, "mass": how.mass.value if how.says_mass else None, "is_common": how.is_common,
        },
        "renders": results.renders,
        "cheap_renders": results.cheap,
        "best_confidence": results.conclusion.best,
        "proposals": results.proposals,
        "invalid": results.invalid,
        "accepted": results.accepted,
        "families": results.families.count,
        "family_list": [_family_json(results, family) for family in results.families.known],
        "sources": results.families.source_count,
        "found": [_scene_json(results, place) for place in range(len(results.found))],
        "fragile": [_hit_json(hit) for hit in results.fragile],
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


def _family_json(results: Results, family: Family) -> Mapping[str, object]:
    rate = family.rate
    return {
        "family": family.number, "words": family.words, "evidence": family.evidence, "scenes": family.size,
        "starts": family.clusters, "what": family.symptom.what, "became": family.became,
        "conditions": [condition.key for condition in family.pattern.conditions],
        "confirmed": family.is_established,
        "share_of_hits": family.size / len(results.found), "representative": family.representative,
        "rate": rate.point if rate else None, "interval_95": list(rate.interval) if rate else None,
    }  # fmt: skip


def _scene_json(results: Results, place: int) -> Mapping[str, object]:
    family, source = results.families.numbers[place], results.families.sources[place]
    return {"family": family, "source": source, **_hit_json(results.found[place])}


def _hit_json(found: Hit) -> Mapping[str, object]:
    record, noise = found.record, found.noise
    return {
        "phase": record.phase, "chain": record.chain, "index": record.index,
        "true_answer": found.truth, "model_answer": found.answer, "confidence": found.confidence,
        "mean_confidence": found.mean_confidence,
        "noise_draws": {"of": noise.n, "stay": noise.stay} if noise else None,
        "probabilities": {answer: p for answer, p in found.answers if p >= 1e-4},
        "picture": f"pictures/{record.picture}.png" if record.picture else "",
        **to_fields(record.z),
    }  # fmt: skip
