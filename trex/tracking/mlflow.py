"""Runs logged with MLflow, where its own variables say: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME, credentials."""

from __future__ import annotations

import os
import time
from itertools import islice

from trex.foundation.extensions import import_extra
from trex.tracking.tracker import RunLog, Tracker

EXPERIMENT = "bayes-trex"  # without MLFLOW_EXPERIMENT_NAME
LONGEST = 500  # characters of a parameter's value: the least limit of a server (MLflow before 2.8)
PARAMETERS, METRICS = 100, 1000  # of one request (MLflow's REST API, runs/log-batch)


def _check() -> None:
    import_extra("mlflow", "mlflow", "--log mlflow needs MLflow")


def _send(log: RunLog, identifier: str) -> str:
    """Log to a new run, then delete the earlier one: parameters of a run cannot be changed."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient()
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    known = client.get_experiment_by_name(name)
    experiment = client.create_experiment(name) if known is None else known.experiment_id
    run = str(client.create_run(experiment, run_name=log.name).info.run_id)
    parameters = iter([Param(key, value[:LONGEST]) for key, value in log.parameters.items()])
    while batch := list(islice(parameters, PARAMETERS)):
        client.log_batch(run, params=batch)
    now = int(time.time() * 1000)
    rows = [(0, log.figures), *log.series]
    metrics = iter([Metric(key, value, now, step) for step, row in rows for key, value in row.items()])
    while batch := list(islice(metrics, METRICS)):
        client.log_batch(run, metrics=batch)
    for path in log.files:
        client.log_artifact(run, str(path))
    client.set_terminated(run)
    if identifier:
        client.delete_run(identifier)
    return run


TRACKER = Tracker("mlflow", _check, _send)
