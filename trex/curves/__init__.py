"""Dose curves: one quantity of found scenes is turned up and down, all else equal; how often is the model wrong?

`doses` changes scenes, `measure` renders and scores them, `curve` is what is stored and what follows from it.
"""
