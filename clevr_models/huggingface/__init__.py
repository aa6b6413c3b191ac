"""Models of the library `transformers`, from the user's own cache or a folder: `hf:NAME`.

Here are the checks on a model's folder, the prompt, the candidates for answers with their likelihoods, and the way
from labels to answers. Nothing is downloaded, no pickle is read, and only `folder` imports `transformers`, when a
model is loaded.
"""
