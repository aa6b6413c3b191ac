"""`trex models train`: the models that ship with trex, and generators and classifiers of other data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.digits import beta_vae, classifier, gan, vae
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result

train_app = typer.Typer(
    no_args_is_help=True, help="Train the shipped models, and generators and classifiers of other data."
)

OUT = typer.Option(help="The folder to write to; existing content is kept and resumed.")


@train_app.command("clevr")
def train_clevr(
    dataset: Annotated[Path, typer.Option(help="A folder that `trex render dataset` has made.")],
    out: Annotated[Path, OUT],
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the order of the data.")] = 1,
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 8,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    batch_size: Annotated[int, typer.Option(help="Pictures per step.")] = 32,
    limit: Annotated[int | None, typer.Option(help="Use only this many training scenes.")] = None,
    start: Annotated[Path | None, typer.Option(help="Initial weights.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train the model that ships with trex; after a kill, the same command resumes.

    If the data set has a split "val", its accuracies are printed and written to the card beside the weights.
    """
    from trex.artifacts.card import read_card
    from trex.clevr_models.percept.evaluate import evaluate, write_card
    from trex.clevr_models.percept.train import train

    note(f"writing to {out}")
    with display_until_stopped("the training up to its last checkpoint is kept") as display:
        weights = train(
            dataset,
            out,
            seed=seed,
            epochs=epochs,
            device=device,
            batch_size=batch_size,
            limit=limit,
            start=start,
            progress=display.show,
        )
    words = ""
    if (dataset / "scenes" / "CLEVR_val_scenes.json").is_file():
        report = evaluate(weights, dataset)
        write_card(weights, dataset, report)
        words = f"{report.text()}\n"
    document = {"weights": str(weights), "card": read_card(weights)}
    print_result(document, f"{words}weights: {weights}", as_json)


train_app.command("vae")(vae)
train_app.command("gan")(gan)
train_app.command("beta-vae")(beta_vae)
train_app.command("classifier")(classifier)
