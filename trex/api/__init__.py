"""The Python API: find, check, resume and open runs. The command line is a thin layer over it."""
