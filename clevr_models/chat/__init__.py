"""A model behind a server that speaks OpenAI's chat-completions protocol: `openai:MODEL`.

Here are the request, the checks on the reply, the way from tokens or samples to probabilities of answers, and the
cache of replies. Sending bytes belongs to `trex.clevr_models.adapters.http_exchange`. Nothing here imports torch.
"""
