"""Which Python packages can live together: ranges, what releases require, conflicts, what works instead."""
