"""What `trex repair prove` adds to a correction on scenes: official pictures, and a new search for the same failures.

Records, how official pictures are counted, and the words for both. The searches themselves are runs like any other, and
are carried out above this room (`trex.api.models.scene_proof`).
"""
