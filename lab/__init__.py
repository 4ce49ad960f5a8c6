"""Experiments and faces: play, sweep, plot and the command ``pebble``."""

from graphs._guard import require_our_pebble

require_our_pebble(__name__)
