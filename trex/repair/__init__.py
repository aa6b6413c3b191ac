"""Defuse, on digits and on rendered scenes: mistakes clustered, labelled, corrected by fine-tuning, and judged.

The query and its sections, the resumable folder, the steps and the page; a step is a function of the folder and the
loaded models. The command line is elsewhere, the statistics are in `trex.inference.repair`, networks and fine-tuning
in `trex.mnist_models`.
"""
