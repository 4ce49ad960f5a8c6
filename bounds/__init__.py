"""What no player can beat: theorems of the literature and bounds of any DAG."""

from graphs._guard import require_our_pebble

require_our_pebble(__name__)
