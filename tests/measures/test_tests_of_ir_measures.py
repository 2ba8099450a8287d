"""ir_measures' own tests of its providers, with our provider in the place of theirs.

They are run from the source distribution of the installed version, or from the folder that PYTERRIER_CWLA_IR_MEASURES names.
test_ranx is not among them: it asks for SetP@5, a parameter that ir_measures itself refuses.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.every_case]
#: The modules, with the files that they read, which the source distribution lacks.
MODULES = {
    "test_accuracy": (), "test_aggregate": (), "test_compat": ("compat.qrels", "compat.run"),
    "test_cwl_eval": ("cwl.qrels", "cwl.run"), "test_gdeval": (), "test_judged": (), "test_measures": (),
    "test_providers": (), "test_pyndeval": (), "test_pytrec_eval": (),
}  # fmt: skip
ROOT = Path(__file__).parents[2]


def pip():
    """Return the command of pip, which virtual environments of uv lack."""
    return [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [shutil.which("pip") or "pip"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return the folder of ir_measures' source; skip the tests if it cannot be downloaded."""
    if named := os.environ.get("PYTERRIER_CWLA_IR_MEASURES"):
        return Path(named)
    folder, wanted = tmp_path_factory.mktemp("ir_measures"), f"ir_measures=={version('ir_measures')}"
    command = [*pip(), "download", "--no-deps", "--no-binary", ":all:", "--dest", folder, wanted]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the source distribution of {wanted} cannot be downloaded: {error}")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.mark.parametrize("module", MODULES)
def test_module_passes_with_our_provider(source, module):
    missing = [name for name in MODULES[module] if not (source / "tests" / name).is_file()]
    if missing:
        pytest.skip(f"{module} reads {missing}, which {source} lacks; PYTERRIER_CWLA_IR_MEASURES may name a checkout")
    command = [sys.executable, "-m", "tests.support.in_their_place", source, module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "OK" in done.stdout
