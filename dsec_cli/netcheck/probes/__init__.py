"""One measurement of the path per module; found by being there."""
