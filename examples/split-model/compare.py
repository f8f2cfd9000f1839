"""Holds the results of two runs against each other: python3 compare.py JOB JOB."""

import sys

import numpy as np

one, other = sys.argv[1:]
apart = 0.0
for iteration in range(3):
    name = f"work/hidden-{iteration}.npz"
    with np.load(f".dsec/runs/{one}/{name}") as a, np.load(f".dsec/runs/{other}/{name}") as b:
        assert sorted(a.files) == sorted(b.files)
        apart = max(apart, *(float(np.abs(a[key] - b[key]).max()) for key in a.files))
print("the same to rounding" if apart < 1e-9 else f"apart by {apart}")
