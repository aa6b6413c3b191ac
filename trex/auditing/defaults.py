"""What an audit does unless it is told otherwise; imports nothing, so that the command line can show it."""

WORLD = "clevr"
SCENES, HELD_OUT = 1000, 1000
QUESTIONS = 50  # about each scene
LOOK, DECIDING = "fast", "reference"
SURE = 0.9  # from which probability on a mistake counts as confident
TESTED = 20  # most failures of a family that are rendered again
PROBED = 8  # scenes made from each family's failures, in each way
