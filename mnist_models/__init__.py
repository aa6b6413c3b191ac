"""The world of digits and garments: decoders that draw, classifiers under test, by name or from files.

The networks are in `networks`, their training in `training`. A data set is one entry of `datasets.DATASETS`.
"""
