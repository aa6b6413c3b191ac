"""Rendering of scenes: presets, the cache, similarity of pictures, and a fake without Blender.

Blender's parent side is in `blender`, its child side in `blender_child`. Nothing here depends on a model.
"""
