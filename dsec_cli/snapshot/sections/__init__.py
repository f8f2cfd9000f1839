"""The sections of a snapshot, found by being here: each captures one side of a state and compares two."""
