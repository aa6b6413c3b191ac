"""Prometheus counters and gauges as text (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex.farm.monitor.overview import Overview
from trex.farm.queue.entry import STATES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[Mapping[str, str], float]


def metrics(snapshot: Overview) -> str:
    """All counters and gauges in the text format."""
    workers = [(farm, worker) for farm in snapshot.farms for worker in farm.workers]
    each = [
        ({"farm": farm.owner, "worker": status.place, "host": status.host}, status)
        for farm, status in workers
    ]
    farms = [({"farm": farm.owner}, farm) for farm in snapshot.farms]
    families = [
        _family("trex_queue_entries", "gauge", "Entries of the queue by state.",
                [({"state": state}, snapshot.counts.get(state, 0)) for state in STATES]),
        _family("trex_workers", "gauge", "Live workers.", [({}, snapshot.workers)]),
        _family("trex_renders_per_second", "gauge", "Recent renders per second of all running queries.",
                [({}, snapshot.renders_per_s)]),
        _family("trex_renders_total", "counter", "Renders by a worker since it started.",
                [(labels, status.renders) for labels, status in each]),
        _family("trex_segments_total", "counter", "Segments that a worker has finished since it started.",
                [(labels, status.segments) for labels, status in each]),
        _family("trex_worker_restarts_total", "counter", "Restarts of a worker.",
                [(labels, status.restarts) for labels, status in each]),
        _family("trex_worker_memory_bytes", "gauge", "Resident memory of a worker and its child processes.",
                [(labels, status.memory_mib * 2**20) for labels, status in each]),
        _family("trex_lost_segments_total", "counter", "Segments that were repeated because their worker was lost.",
                [(labels, farm.lost_segments) for labels, farm in farms]),
    ]  # fmt: skip
    return "".join(families)


def _family(name: str, kind: str, description: str, samples: Sequence[Sample]) -> str:
    lines = [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value:.12g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    return (
        "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"
        if labels
        else ""
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
