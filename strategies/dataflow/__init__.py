"""Dataflows: schedules generated from a formula alone, and the search for the cheapest.

`space` says what a pass over the formula can make, `text` writes it as a schedule, `search` puts
passes together.
"""
