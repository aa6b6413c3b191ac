"""As FiftyOne's users do: pictures with labels exported, counted, looked at, and the graph of one scene."""

# %%
import json
from pathlib import Path

import trex

run = trex.find(
    question="How many red things are there?", answer="2", model="fake", preset="fake", explain=False,
    prior_scenes=40, steps=20,
)  # fmt: skip
run.export("coco", out="coco")
run.show()
print(run.summary())

# %%
assert len(json.loads(Path("coco/annotations.json").read_text())["images"]) == len(run.hits)
graph = run.hits[0].graph
red = [i for i, about in graph.nodes(data=True) if about["color"] == "red"]
print(red, sorted(graph.in_edges(0, data="gap"), key=lambda edge: edge[2])[0])
assert len(graph) == len(run.hits[0].scene.objects)
