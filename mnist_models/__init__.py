"""The digit and garment world: decoders that draw, classifiers that are tested, by name or from files.

Reading data is in `data`, the networks in `networks`, training and quality in `training`.
"""
