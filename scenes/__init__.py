"""What may exist: vocabulary, scene graph, prior, validity, proposals, edits, questions and their answers."""
