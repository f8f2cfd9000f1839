"""The inventory by NVML, as JSON on standard output, for `apart`."""

from __future__ import annotations

import sys

from dsec.codec import canonical
from dsec.devices import host, nvml


def main() -> None:
    """Print the inventory."""
    sys.stdout.buffer.write(canonical(nvml.devices_of(host.read())))
