"""Small worlds with known answers, and stand-ins for Blender and for models, that tests of several subpackages share.

A world here is small enough that its exact distribution, its gradients or the cause of an answer is known. How runs are
carried out on them stands in `tests/running`, what results are compared with in `tests/references`.
"""
