"""Stand-ins whose truth is known by formula or enumeration: tiny worlds, plateaus, sampled banks, cheap scores.

They have no pictures of scenes; worlds that render live in tests.worlds.
"""
