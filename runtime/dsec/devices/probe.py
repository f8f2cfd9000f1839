"""`python -m dsec.devices.probe`: the inventory by NVML, as JSON on standard output, for `apart`."""

from __future__ import annotations

import sys

from dsec.codec import canonical
from dsec.devices import host, nvml

if __name__ == "__main__":
    sys.stdout.buffer.write(canonical(nvml.devices_of(host.read())))
