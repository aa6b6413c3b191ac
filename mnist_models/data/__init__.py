"""Labelled pictures of MNIST, Fashion-MNIST, SVHN and traffic signs: readers, layouts, classes and held-out tracks.

One module or room for each format; `load` opens any data set by its name.
"""
