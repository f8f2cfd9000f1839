"""Isolation that a process puts upon itself: system calls, files, limits. Standard library only."""
