"""Rare failures: scenes that show rare combinations of conditions, and more scenes around what failed in them.

A sweep of N random scenes shows a failure that occurs in one of 10 N scenes in none of them. Drawing scenes costs
little beside rendering them, so an audit draws more than it renders: those with rare combinations are rendered to make
rules from (`choice`), then changed copies of the scenes that failed (`copies`), then random ones that meet the
conditions of a rule that says too little (`narrow`). What is said of a family comes from random scenes alone: those
that meet its conditions are drawn until there are enough (`trex.auditing.judging.sought`).
"""
