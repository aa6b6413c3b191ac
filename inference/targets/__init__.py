"""The targets, one file each: a target is one statistic and two arrays (observed, width)."""

from inference.targets.ambiguous_pair import ambiguous_pair
from inference.targets.gaussian import GaussianTarget, Statistic
from inference.targets.graded import graded
from inference.targets.high_confidence import high_confidence
from inference.targets.k_way import k_way
from inference.targets.probability_vector import probability_vector
from inference.targets.threshold import threshold
from inference.targets.uniform import uniform
from inference.targets.within import within

__all__ = [
    "GaussianTarget",
    "Statistic",
    "ambiguous_pair",
    "graded",
    "high_confidence",
    "k_way",
    "probability_vector",
    "threshold",
    "uniform",
    "within",
]
