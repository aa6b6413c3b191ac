"""What a user writes in a notebook, as the parts that a search has: a world, a target, a proposal, a renderer, a model.

`world.py` is `trex.World`; `names.py` gives objects names that a query can hold, and loads "package.module:object";
`conditions.py` gives the conditions on named values that families state.
"""
