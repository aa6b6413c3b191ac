"""What may exist: vocabulary, scene graph, prior, validity, visibility, edits, and when two scenes are distinct.

Pure geometry and words: nothing here renders, scores or reads a run. Proposals are in `moves`, questions in
`questions`, CLEVR's file formats in `clevr_format`.
"""
