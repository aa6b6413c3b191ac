"""Subgroup discovery: under which conditions something happens more often than elsewhere."""
