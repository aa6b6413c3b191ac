"""Torn between two answers (paper, equations 6 and 7): `k_way` for k = 2, under the name that most queries use."""

from __future__ import annotations

from trex.inference.targets.k_way import build, goal
from trex.inference.targets.kind import TargetKind

TARGET = TargetKind("ambiguous", (2, 2), build, goal)
