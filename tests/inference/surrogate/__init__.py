"""Tests of surrogate transitions: their steps, and their exactness on worlds that can be enumerated."""
