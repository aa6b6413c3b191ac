"""Runs logged with MLflow, where its own variables say: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME, credentials."""

from __future__ import annotations

import logging
import os
import time
from itertools import islice

from trex.foundation.extensions import import_extra
from trex.tracking.tracker import RunLog, Tracker

log = logging.getLogger(__name__)
EXPERIMENT = "bayes-trex"  # without MLFLOW_EXPERIMENT_NAME
LONGEST = 500  # characters of a parameter's value: the least limit of a server (MLflow before 2.8)
PARAMETERS, METRICS = 100, 1000  # of one request (MLflow's REST API, runs/log-batch)


def _check() -> None:
    import_extra("mlflow", "mlflow", "--log mlflow needs MLflow")


def _send(what: RunLog, identifier: str) -> str:
    """Log to a new run, then delete the earlier one: parameters of a run cannot be changed."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException

    client = MlflowClient()
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    known = client.get_experiment_by_name(name)
    experiment = client.create_experiment(name) if known is None else known.experiment_id
    run = str(client.create_run(experiment, run_name=what.name).info.run_id)
    parameters = iter([Param(key, value[:LONGEST]) for key, value in what.parameters.items()])
    while batch := list(islice(parameters, PARAMETERS)):
        client.log_batch(run, params=batch)
    now = int(time.time() * 1000)
    rows = [(0, what.figures), *what.series]
    metrics = iter([Metric(key, value, now, step) for step, row in rows for key, value in row.items()])
    while batch := list(islice(metrics, METRICS)):
        client.log_batch(run, metrics=batch)
    for path in what.files:
        client.log_artifact(run, str(path))
    client.set_terminated(run)
    if identifier:
        try:
            client.delete_run(identifier)
        except MlflowException as error:  # gone, or on another server: the new run is complete all the same
            log.warning("the earlier run %s was not deleted: %s", identifier, error)
    return run


TRACKER = Tracker("mlflow", _check, _send)
