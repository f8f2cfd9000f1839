"""Network checks: flows replayed between hosts, and what the readings mean."""
