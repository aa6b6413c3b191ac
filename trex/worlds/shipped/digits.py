"""The worlds of digits and garments: decoders of each data set, and classifiers of the same."""

from __future__ import annotations

from functools import partial

from trex.datasets.labelled_pictures import LabelledPictures
from trex.foundation.errors import InputError
from trex.foundation.extensions import LIVE
from trex.mnist_models.card import DECODERS, DIGIT_KINDS
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.pictures import DIGIT, chosen_classes
from trex.query.schema import Query
from trex.worlds.registry import SHIPPED, WorldEntry
from trex.worlds.vectors import VectorParts, VectorWorld


def _world(name: str) -> VectorWorld:
    """The world called "mnist-vae", "fashion-gan" and so on."""
    dataset, _, decoder = name.partition("-")
    shown = DATASETS[dataset]
    load = partial(_load, dataset, decoder)
    labelled = partial(LabelledPictures, dataset)
    return VectorWorld(name, shown.question, shown.things, load, shown.labels, labelled)


def _load(dataset: str, decoder_kind: str, query: Query) -> VectorParts:
    """The query's decoder and classifier; InputError if its classes or weights do not fit."""
    kept = chosen_classes(DATASETS[dataset].labels, query.generator.classes, query.generator.without)
    from trex.mnist_models.latent import StandardNormal  # the imports below load torch
    from trex.mnist_models.load import default_network, load_classifier, load_decoder, model_name

    decoder = load_decoder(model_name(decoder_kind, dataset, kept, len(DATASETS[dataset].labels)))
    name = query.model.name  # SHIPPED: the classifier trained on the same data set
    if name.startswith(LIVE):
        from trex.worlds.live_digits import live_classifier

        classifier = live_classifier(name, dataset)
    else:
        classifier = load_classifier(f"{dataset}-{default_network(dataset)}" if name == SHIPPED else name)
    if classifier.dataset != dataset:
        raise InputError(
            f"classifier {classifier.name!r} was trained on {classifier.dataset}, but {query.generator.name!r} draws "
            f"{DATASETS[dataset].things}; use a classifier for {dataset}, e.g. {dataset}-{default_network(dataset)}"
        )
    return VectorParts(
        prior=StandardNormal(decoder.latent),
        renderer=decoder,
        classifier=classifier,
        model_name=classifier.name,
        model_key=f"{classifier.name} {classifier.sha256[:16]}",
        size=(decoder.picture[1], decoder.picture[0]),
        trained_on=decoder.labels,
        differentiable=lambda z: classifier.differentiable_log_probs(decoder.pixels(z.float())),
    )


WORLDS = tuple(
    WorldEntry(f"{dataset}-{decoder}", _world)
    for dataset in DATASETS
    for decoder in DECODERS
    if decoder not in DIGIT_KINDS or DATASETS[dataset].picture == DIGIT
)
