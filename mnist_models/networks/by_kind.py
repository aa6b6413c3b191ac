"""The classifier of a kind that a card names."""

from __future__ import annotations

from torch import nn

from trex.mnist_models.data.layout import Shape
from trex.mnist_models.networks.classifiers import Classifier, LeNet
from trex.mnist_models.networks.resnet import WIDTH, ResNet18

RESNETS = {"resnet18": WIDTH, "resnet18-16": 16}  # channels of the first stage


def classifier_of(kind: str, classes: int, picture: Shape) -> nn.Module:
    """A new classifier of this kind (`card.CLASSIFIERS`) for pictures of this shape."""
    if kind in RESNETS:
        return ResNet18(classes, picture[2], RESNETS[kind])
    return LeNet(classes, picture) if kind == "lenet" else Classifier(classes)
