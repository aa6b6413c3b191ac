"""The analytic look: pictures of scenes without Blender, by casting rays at ideal shapes and shading what they meet."""
