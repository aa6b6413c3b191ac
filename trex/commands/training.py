"""`trex models train`: the models that ship with trex, and generators and classifiers of other data."""

from __future__ import annotations

import json
from collections.abc import Callable

import typer

from trex.clevr_models.percept.options import TrainOptions
from trex.commands.shell.result import Printed
from trex.commands.verb import Session, Verb
from trex.foundation.errors import unknown
from trex.foundation.options import Options
from trex.mnist_models.training.options import BetaVaePlan, ClassifierPlan, Plan

KEPT = "the training up to its last checkpoint is kept"
TRAIN = typer.Typer(
    no_args_is_help=True, help="Train the shipped models, and generators and classifiers of other data."
)


def train_clevr(options: TrainOptions, session: Session) -> Printed:
    """Train the model that ships with trex; after a kill, the same command resumes.

    If the data set has a split "val", its accuracies are printed and written to the card beside the weights.
    """
    from trex.artifacts.card import read_card
    from trex.clevr_models.percept.evaluate import evaluate, write_card
    from trex.clevr_models.percept.train import train

    session.begin(options.out)
    weights = train(options, session.display.show)
    words = ""
    if (options.dataset / "scenes" / "CLEVR_val_scenes.json").is_file():
        report = evaluate(weights, options.dataset)
        write_card(weights, options.dataset, report)
        words = f"{report.text()}\n"
    return Printed({"weights": str(weights), "card": read_card(weights)}, f"{words}weights: {weights}")


def vae(plan: Plan, session: Session) -> Printed:
    """Train a variational autoencoder with 5 latents; after a kill, the same command resumes."""
    return _trained("vae", plan, session)


def gan(plan: Plan, session: Session) -> Printed:
    """Train a generative adversarial network with 5 latents; after a kill, the same command resumes."""
    return _trained("gan", plan, session)


def beta_vae(plan: BetaVaePlan, session: Session) -> Printed:
    """Train the beta-VAE of Defuse, a generator for `trex repair`; after a kill, the same command resumes."""
    return _trained("beta-vae", plan, session)


def classifier(plan: ClassifierPlan, session: Session) -> Printed:
    """Train a classifier; after a kill, the same command resumes."""
    from trex.mnist_models.card import CLASSIFIERS
    from trex.mnist_models.load import default_network

    if plan.network is not None and plan.network not in CLASSIFIERS:
        raise unknown("network", plan.network, CLASSIFIERS)
    return _trained(plan.network or default_network(plan.dataset), plan, session)


def _trained(kind: str, plan: Plan, session: Session) -> Printed:
    from trex.artifacts.card import read_card
    from trex.mnist_models.load import trained_models
    from trex.mnist_models.training.train import train

    session.begin(plan.out or trained_models())
    weights = train(kind, plan, session.display.show)
    figures = read_card(weights)["figures"]
    words = f"{json.dumps(figures, indent=1)}\nweights: {weights}"
    return Printed({"weights": str(weights), "figures": figures}, words)


def _add(name: str, options: type[Options], do: Callable[..., Printed]) -> None:
    TRAIN.command(name)(Verb(options, do, kept=KEPT).command())


_add("clevr", TrainOptions, train_clevr)
_add("vae", Plan, vae)
_add("gan", Plan, gan)
_add("beta-vae", BetaVaePlan, beta_vae)
_add("classifier", ClassifierPlan, classifier)
