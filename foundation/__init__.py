"""What every other folder stands on: errors, typed JSON fields, guarded reading and atomic writing of files.

Nothing here knows of scenes, models, runs or queries, and nothing here imports any other folder of the project.
"""
