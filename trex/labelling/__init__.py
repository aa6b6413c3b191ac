"""Where people label pictures, of a repair or of a baseline's mistakes: on a page that is served, or exported.

`trex label` is the command for both. What is voted on and how votes are counted is decided in `trex.repair` and
`trex.trials.baseline`; the guard of the server is that of `trex queue serve`. Annotators of a repair see pictures and
classes, and nothing that tells what a picture is; those of mistakes see the label too, and never the model's answer.
"""
