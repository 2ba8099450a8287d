"""Temporary folder for input files; it is deleted when the process that created it ends."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


@atexit.register
def _cleared(maker: int = os.getpid()) -> None:
    if os.getpid() == maker:
        shutil.rmtree(FOLDER, ignore_errors=True)
