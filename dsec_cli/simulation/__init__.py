"""Fleets and faults described, histories measured and shown: what `dsec simulate` adds to the core."""
