"""The folder for the files that readers are to read; it is gone when the process that made it ends."""

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
