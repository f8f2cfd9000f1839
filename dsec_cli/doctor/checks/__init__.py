"""One question about the machine per module; found by being there."""
