"""Dose curves: one quantity of found scenes is turned up and down, all else equal; how often is the model wrong?

`subject` is a misread object in its scene, `doses` and `around` change scenes, `measure` names the object of each hit,
renders and scores, `curve` is what is stored and what follows from it, `shown` the same for readers.
"""
