"""How the kernels compare on stand-ins for a renderer and a model: KERNELS.md beside this file has the results."""
