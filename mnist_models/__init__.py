"""The world of digits, garments and traffic signs: decoders that draw, classifiers under test, by name or from files.

Reading data is in `data`, the networks in `networks`, training and quality in `training`; classifiers adapted from
other domains are in `adaptation`.
"""
