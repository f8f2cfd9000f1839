"""What executor and resident workers agree on."""

from __future__ import annotations

FRAME_BYTES = 128 * 1024
"""Longest packet either way; the kernel's default socket buffer takes it whole."""
RESULT_BYTES = 64 * 1024
"""Longest result, as JSON, that a call may return."""
QUICK_S = 150e-6
"""After an exchange this quick either side looks for the next packet so long before it sleeps."""
