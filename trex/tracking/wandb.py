"""Runs logged with Weights & Biases; WANDB_PROJECT, WANDB_MODE and WANDB_API_KEY are its own variables."""

from __future__ import annotations

import os
import tempfile

from trex.foundation.extensions import import_extra
from trex.tracking.tracker import RunLog, Tracker

PROJECT = "bayes-trex"  # without WANDB_PROJECT


def _check() -> None:
    import_extra("wandb", "wandb", "--log wandb needs wandb")


def _send(log: RunLog, identifier: str) -> str:
    """Log to a run; a run of the same identifier is overwritten there."""
    import wandb

    with wandb.init(
        project=os.environ.get("WANDB_PROJECT", PROJECT),
        name=log.name,
        id=identifier or None,
        config=dict(log.parameters),
        dir=os.environ.get("WANDB_DIR", tempfile.gettempdir()),
    ) as run:
        for step, row in log.series:
            run.log(dict(row), step=step)
        run.summary.update(dict(log.figures))
        files = wandb.Artifact(f"run-{run.id}", type="run")
        for path in log.files:
            files.add_file(str(path), policy="immutable")
        run.log_artifact(files)
        return str(run.id)


TRACKER = Tracker("wandb", _check, _send)
