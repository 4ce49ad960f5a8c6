"""How to play: schedules from the literature and for any DAG."""

from graphs._guard import require_our_pebble

require_our_pebble(__name__)
