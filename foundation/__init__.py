"""The base of all other subpackages: errors, typed JSON fields, guarded reading and atomic writing of files.

Contains nothing about scenes, models, runs or queries, and imports no other subpackage.
"""
