"""`adda` and `overconfidence`: a classifier adapted to another domain, and what that does to its confidence."""

from __future__ import annotations

import json

from reproduce.adaptation.options import AdaptationPlan, CompareOptions
from trex.commands.shell.result import Printed
from trex.commands.verb import Session, Verb


def adda(options: AdaptationPlan, session: Session) -> Printed:
    """Train a source network and adapt it (ADDA); after a kill, the same command resumes."""
    from reproduce.adaptation.train import train_pair
    from trex.artifacts.card import read_card
    from trex.mnist_models.load import trained_models

    folder = options.out or trained_models()
    session.begin(folder)
    pair = train_pair(options, folder, session.display.show)
    trained = {"source": pair.source, "adapted": pair.adapted}
    document: dict[str, object] = {
        name: {"weights": str(path), "figures": read_card(path)["figures"]} for name, path in trained.items()
    }
    words = [json.dumps(document, indent=1), *(f"weights: {path}" for path in trained.values())]
    return Printed(document, "\n".join(words))


def overconfidence(options: CompareOptions, session: Session) -> Printed:
    """Count confident mistakes on MNIST's test set and on drawings, of networks before and after adaptation."""
    from reproduce.adaptation.compare import compare
    from reproduce.adaptation.table import comparison_json, markdown
    from reproduce.adaptation.train import offer_weights

    offer_weights()
    found = compare(options, session.display.show)
    return Printed(comparison_json(found), markdown(found))


ADDA = Verb(AdaptationPlan, adda, kept="the training up to its last checkpoint is kept").command()
OVERCONFIDENCE = Verb(CompareOptions, overconfidence, kept="nothing is kept").command()
