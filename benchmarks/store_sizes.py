"""What a tree takes when it is not a store's job: `tar | zstd -3`, and weights in zipnn."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_ZIPNN = """
import sys, zipnn
size = stored = 0
with open(sys.argv[1], "rb") as file:
    while part := file.read(64 << 20):
        size += len(part)
        stored += len(zipnn.ZipNN(bytearray_dtype="bfloat16").compress(part))
print(stored / size)
"""


def tar_zstd(tree: Path) -> int | None:
    """Bytes of all of it as one stream; None without the programs."""
    if shutil.which("tar") is None or shutil.which("zstd") is None:
        print("tar | zstd: not installed, so not compared")
        return None
    line = "tar cf - . | zstd -q -3 | wc -c"
    done = subprocess.run(["sh", "-c", line], cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def zipnn(tree: Path, peers: Path | None) -> int | None:
    """Bytes of all files, as one of them is packed by zipnn; None without it."""
    files = [path for path in tree.iterdir() if path.is_file()]
    if peers is not None and files:
        line = [peers / "bin" / "python", "-c", _ZIPNN, files[0]]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return round(float(done.stdout.split()[-1]) * sum(path.stat().st_size for path in files))
    print("zipnn: not installed, so not compared")
    return None
