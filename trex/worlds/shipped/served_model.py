"""A query's model that replies in words, behind a chat server or here: its defaults, and how exact its answers are."""

from __future__ import annotations

from trex.clevr_models.chat.endpoint import is_served
from trex.clevr_models.specs.ours import is_hf
from trex.query.schema import OptionedModelSection, Query


def with_server(query: Query) -> Query:
    """The query with its server's address and prompt filled in, so that a run records them; others as they are."""
    if not is_served(query.model.name):
        return query
    from trex.clevr_models.chat.endpoint import resolved_endpoint
    from trex.clevr_models.chat.prompted_model import checked_prompt

    found = {
        "endpoint": resolved_endpoint(query.model.endpoint),
        "prompt": checked_prompt(query.model.prompt),
    }
    return query.model_copy(update={"model": query.model.model_copy(update=found)})


def model_remarks(section: OptionedModelSection) -> tuple[str, ...]:
    """How exact the probabilities of a model that replies are, with the interval of a share of samples; else empty."""
    if is_hf(section.name):
        return (
            "Probabilities are those of whole replies, or of labels, and exact up to rounding. “<unparsed>” is "
            "everything that is none of the answers; it is not shared out among them.",
        )
    if not is_served(section.name):
        return ()
    if not section.samples:
        return (
            "Probabilities come from the log probabilities of the model's tokens. “<unparsed>” is what is no "
            "answer, “<unseen>” what is beyond the 20 likeliest tokens (fewer if the server lists fewer): an answer's "
            "probability may be higher by both together.",
        )
    from trex.inference.statistics.proportion import clopper_pearson

    n = section.samples
    all_of, half = clopper_pearson(n, n), clopper_pearson(n // 2, n)
    return (
        f"Probabilities are sampled, {n} samples per picture, not exact: 95% intervals (Clopper and Pearson) are "
        f"{all_of[0]:.2f} to {all_of[1]:.2f} if all {n} samples agree, and {half[0]:.2f} to {half[1]:.2f} for "
        f"{n // 2} of {n}. A search selects pictures whose samples happen to agree, so the probabilities of hits are "
        "too high on average.",
    )
