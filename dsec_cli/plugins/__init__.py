"""Plugins: what a shared object can do, who signed it, what it declares."""
