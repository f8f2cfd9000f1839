"""One thing that a host may have and count, per module; found by being there."""
