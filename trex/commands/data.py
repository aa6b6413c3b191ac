"""Make data sets and train models."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.digits import beta_vae, classifier, gan, vae
from trex.commands.shell.options import LOOKS, Processes, RenderDevice
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result

dataset_app = typer.Typer(no_args_is_help=True, help="Make data sets of rendered scenes and questions.")
train_app = typer.Typer(
    no_args_is_help=True, help="Train the shipped models, and generators and classifiers of other data."
)

OUT = typer.Option(help="The folder to write to; existing content is kept and resumed.")


@dataset_app.callback()
def _dataset() -> None:
    """Make this a group although it has only one command."""


@dataset_app.command("render")
def dataset_render(
    out: Annotated[Path, OUT],
    n: Annotated[int, typer.Option(help="Number of scenes.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    split: Annotated[str, typer.Option(help="train, val, ...; each split has its own scenes.")] = "train",
    preset: Annotated[str, typer.Option(help=f"{LOOKS}.")] = "fast",
    objects: Annotated[str, typer.Option(help="Number of objects: 5, or 3-10.")] = "3-10",
    processes: Processes = None,
    device: RenderDevice = "auto",
    questions_per_scene: Annotated[int, typer.Option(help="Number of questions about each scene.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Render scenes of the prior with questions, in CLEVR's own folder layout; resumable."""
    from trex.datasets.rendered_dataset import DatasetPlan, render_dataset

    plan = DatasetPlan(n, seed, split, object_range(objects), preset, questions_per_scene)
    with display_until_stopped("every scene that was rendered is kept") as display:
        file = render_dataset(out, plan, device, processes, partial(display.show, "scenes rendered"))
    print_result({"scenes": str(file)}, f"scenes: {file}", as_json)


@train_app.command("clevr")
def train_clevr(
    dataset: Annotated[Path, typer.Option(help="A folder that `trex dataset render` has made.")],
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
            on_progress=partial(display.show, "training steps"),
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


def object_range(text: str) -> tuple[int, int]:
    """The bounds in "5" or "3-10" as numbers."""
    from trex.foundation.errors import InputError

    low, _, high = text.partition("-")
    if not all(re.fullmatch("[0-9]{1,4}", bound) for bound in (low, high or low)):
        raise InputError(f"--objects {text!r} is not a number or range; write 5 or 3-10")
    return int(low), int(high or low)
