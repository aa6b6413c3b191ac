"""Networks for the features of a FID: a classifier of the data set, or Inception with weights from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from trex.mnist_models.classify import DigitClassifier
from trex.mnist_models.load import load_classifier
from trex.mnist_models.networks.inception import SHA256_BEGINS, load_inception

INCEPTION_SUFFIX = ".pth"
FID_PICTURES = 10_000
INCEPTION_PICTURES = 1_000  # as many as in the paper's table 7


@dataclass(frozen=True, eq=False)
class FidFeatures:
    """Features (B, d) of pictures (B, 1, 28, 28) in [0, 1], and the name of their FID on a card."""

    key: str  # the figure's key and the prefix of the others': fid, or fid_inception
    network: str  # in words, with the values that it may be compared with
    sha256: str
    features: nn.Module
    dataset: str | None  # the only data set whose FID it gives; None: any
    pictures: int  # drawn ones, and at most this many real ones
    batch: int


def load_fid_features(spec: str, threads: int = 1) -> FidFeatures:
    """A classifier by name or path, as for `load_classifier`, or Inception's weights, a path that ends in .pth.

    InputError describes any fault in the name or the file.
    """
    if spec.endswith(INCEPTION_SUFFIX):
        return _inception(Path(spec))
    return classifier_features(load_classifier(spec, threads))


def classifier_features(classifier: DigitClassifier) -> FidFeatures:
    """The last hidden layer of a classifier as features, for comparing decoders of its data set."""
    network = f"last hidden layer of {classifier.name}, not Inception: compare with no published value"
    features = classifier.module.get_submodule("features")
    return FidFeatures(
        "fid", network, classifier.sha256, features, classifier.dataset, FID_PICTURES, batch=500
    )


def _inception(path: Path) -> FidFeatures:
    features, sha256 = load_inception(path)
    if sha256.startswith(SHA256_BEGINS):
        network = (
            "Inception of 2015-12-05, sized and scaled as by pytorch-fid, of "
            f"{INCEPTION_PICTURES:,} pictures: compare with published values of as many"
        )
    else:
        network = (
            f"Inception with weights of {path.name}, not the published ones: compare with no published value"
        )
    return FidFeatures("fid_inception", network, sha256, features, None, INCEPTION_PICTURES, batch=50)
