"""German traffic signs (Stallkamp et al. 2012): class names, the packed file, the official archives, and either one.

The terms of the pictures are unsettled: nothing made from them is part of this package. No reader unpacks to disk or
runs anything in a file.
"""
