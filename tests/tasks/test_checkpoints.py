"""Checkpoints of long computations: finished pieces are stored, reused, and never mixed with those of other inputs."""

from functools import partial

import numpy as np
import pytest

from pyterrier_cwla import CWLAError
from pyterrier_cwla.errors import BadParameter, MalformedFile
from pyterrier_cwla.tasks.hashing import fingerprint
from pyterrier_cwla.tasks.result_cache import Pieces, ResultCache
from tests.support.messages import refused

LAYOUT = {"value": ("f", (1,)), "name": ("U", ())}
NAMES = ["seed 0", "seed 1", "seed/2", "seed 3"]


def square(name, log=None, fail=()):
    if name in fail:
        raise KeyboardInterrupt
    if log is not None:
        log.append(name)
    return {"value": np.array([float(name[-1]) ** 2]), "name": np.array(name)}


def done(pieces, function=square, names=NAMES, layout=LAYOUT):
    found = pieces.each(names, function, "squaring", layout=layout)
    return [(str(piece["name"]), piece["value"].tolist()) for piece in found]


ALL = [(name, [float(name[-1]) ** 2]) for name in NAMES]


@pytest.fixture
def stored(tmp_path):
    return Pieces({"input": 1}, tmp_path, progress=False)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("keep", [False, True])
def test_pieces_come_in_the_order_of_their_names(keep, n_jobs, tmp_path):
    assert done(Pieces({"input": 1}, tmp_path if keep else None, progress=False, n_jobs=n_jobs)) == ALL
    assert any(tmp_path.iterdir()) == keep


def test_an_interrupted_study_goes_on_where_it_was(stored):
    log = []
    with pytest.raises(KeyboardInterrupt):
        done(stored, partial(square, log=log, fail=["seed/2"]))
    assert log == NAMES[:2]
    log.clear()
    assert done(stored, partial(square, log=log)) == ALL
    assert log == NAMES[2:]


@pytest.mark.parametrize("other", [{"input": 2}, {"input": 1, "seed": 0}])
def test_what_was_kept_for_another_input_is_not_used(other, stored, tmp_path):
    done(stored)
    for pieces, computed in ((Pieces(other, tmp_path, progress=False), NAMES), (stored, [])):
        log = []
        done(pieces, partial(square, log=log))
        assert log == computed


def test_a_piece_of_another_shape_is_an_error(stored):
    done(stored)
    words = r"npz: this entry of cache_dir='.*' must have value \(floats, shape [12]\).*, and has"
    for layout in ({"value": ("f", (2,)), "name": ("U", ())}, {"value": ("f", (1,))}):
        with pytest.raises(MalformedFile, match=words):
            done(stored, layout=layout)


def test_a_piece_that_was_cut_off_is_done_again(stored, tmp_path):
    done(stored)
    for number, kept in enumerate(sorted(tmp_path.rglob("*.npz"))):
        kept.write_bytes(kept.read_bytes()[: number * 60])
    assert done(stored) == ALL


def test_kept_pieces_come_first_and_the_others_as_they_are_done(stored):
    done(stored, names=NAMES[2:])
    found = stored.done({name: partial(square, name) for name in NAMES}, lambda _: LAYOUT)
    assert [name for name, _ in found] == [*NAMES[2:], *NAMES[:2]]


def test_fingerprints_tell_contents_apart():
    a = np.arange(6.0)
    different = [[a], [a.reshape(2, 3)], [a.astype(int)], [a, a], [a, "x"], [a, {"x": 1}], [a, {"x": "1"}], [a + 1e-15]]
    assert len({fingerprint(*parts) for parts in different}) == len(different)
    assert fingerprint(a, {"x": 1, "y": 2}) == fingerprint(a.copy(), {"y": 2, "x": 1})
    b = np.arange(5000)
    b[2500] += 1
    assert fingerprint([np.arange(5000)]) != fingerprint([b])
    assert fingerprint({"seed": np.int64(3)}) == fingerprint({"seed": 3})
    for value in (object(), {"a": {1}}, np.array([object()]), [np.array(["x", None])]):
        with pytest.raises(TypeError, match="no fingerprint"):
            fingerprint(value)


def test_unwritable_folders_and_wrong_jobs_are_named_before_computing(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    refused(lambda: Pieces({"input": 1}, file), BadParameter, "cache_dir='", "file' cannot be written")
    folder = ResultCache(tmp_path, {"input": 1}).folder
    (folder / "identity.json").unlink()
    (folder / "identity.json").mkdir()
    refused(lambda: Pieces({"input": 1}, tmp_path), BadParameter, "cannot be written", "Is a directory")
    refused(lambda: Pieces({}, n_jobs=0), CWLAError, "n_jobs=0")
