"""The targets, one file each: a target is one statistic and two arrays (observed, width)."""

from trex.inference.targets.distance_target import distance_target
from trex.inference.targets.gaussian import GaussianTarget, Statistic
from trex.inference.targets.graded import graded
from trex.inference.targets.high_confidence import high_confidence
from trex.inference.targets.k_way import k_way
from trex.inference.targets.probability_vector import probability_vector
from trex.inference.targets.threshold import threshold
from trex.inference.targets.uniform import uniform

__all__ = [
    "GaussianTarget",
    "Statistic",
    "distance_target",
    "graded",
    "high_confidence",
    "k_way",
    "probability_vector",
    "threshold",
    "uniform",
]
