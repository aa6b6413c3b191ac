"""How a scene becomes a picture: presets, Blender, cache, fake."""
