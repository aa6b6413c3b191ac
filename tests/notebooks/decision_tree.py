"""scikit-learn on the draws: what tells the confident scenes from the others?"""

# %%
from sklearn.tree import DecisionTreeClassifier

import trex

run = trex.find(
    question="How many red things are there?", answer="2", model="fake", preset="fake", explain=False,
    prior_scenes=200, steps=0, target="threshold", threshold=0.3,
)  # fmt: skip

# %%
frame = run.draws_frame()
reds = [[sum(o.color == "red" for o in r.scene.objects)] for r in run.records if r.phase == "prior"]
is_sure = frame.confidence > frame.confidence.median()
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(reds, is_sure)
assert tree.score(reds, is_sure) > 0.7
