"""The parent's side of Blender: a pool of supervised processes, and the wire format between them.

Nothing here imports bpy.
"""
