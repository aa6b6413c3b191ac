"""The parent's side of Blender: a pool of processes that are watched and replaced, and the wire format between them.

Nothing here imports bpy.
"""
