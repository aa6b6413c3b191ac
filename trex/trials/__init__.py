"""Pictures asked: what a model answers about pictures that no search chooses, or that earlier searches found.

`baseline` counts a query on random pictures, `confirm` asks about hits at another look, `accuracy` compares a released
model with its publication. They judge an answer by `trex.scenes.questions.truth`, count with
`trex.inference.statistics.proportion`, and keep in `lines` what a kill must not lose. No search runs here.
"""
