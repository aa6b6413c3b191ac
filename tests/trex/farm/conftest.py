"""What tests of the farm need."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.running.farm_processes import below


@pytest.fixture
def no_ray_left() -> Iterator[None]:
    """Whatever happened, Ray's processes end with the test."""
    import ray

    yield
    ray.shutdown()
    assert not below(os.getpid(), "raylet")
