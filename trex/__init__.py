"""Bayes-TrEx: find scenes in which a vision model is confidently wrong, or torn.

This package is the application, named after its command; each folder is a room and says what lives there. The libraries
`scenes`, `render`, `inference`, `clevr_models`, `mnist_models`, `artifacts`, `foundation` and `blender_assets` stand at
the top of the repository and are imported as `trex.scenes`, `trex.render` and so on, never by their bare names.
"""
