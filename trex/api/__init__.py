"""The Python API: find, check, resume and open runs; what `import trex` offers.

The command line is a thin layer over it.
"""
