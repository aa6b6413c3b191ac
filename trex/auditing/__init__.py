"""Audits: how a CLEVR model fails, when nobody knows what to ask.

A sweep asks questions of all families about many scenes. Confident mistakes are traced to what the model misread, and
rules are searched for that say when it does so; other scenes, from which no rule was made, judge the rules; their
failures are rendered again at the deciding look, fresh scenes tell how many of the mistakes the families hold, and the
page tells the families, most harmful first.
"""
