"""What to compute: workloads that build computation DAGs."""

from graphs._guard import require_our_pebble

require_our_pebble(__name__)
