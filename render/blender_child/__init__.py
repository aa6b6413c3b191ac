"""The code inside a Blender process: reads scenes from a pipe, edits the stage, writes pictures.

Imports bpy, numpy, `trex.scenes`, `trex.foundation` and the wire format; no torch, no application code.
"""
