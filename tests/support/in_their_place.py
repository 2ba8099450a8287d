"""Run a test module of ir_measures with our provider in the place of all others.

``python -m tests.support.in_their_place FOLDER MODULE``, where FOLDER has the module in ``tests/``. Equal numbers may differ
by rounding errors; where the tests state rounded values, by less than one unit of the last digit.
"""

import sys
import types
import unittest
from functools import partial
from numbers import Real
from pathlib import Path

import ir_measures
import numpy as np
from ir_measures import providers

import pyterrier_cwla  # noqa: F401  (it registers the provider)

OTHERS = ("pytrec_eval", "pyndeval", "cwl_eval", "judged", "msmarco", "accuracy", "compat", "trectools", "ranx")
ROUNDED = {"test_gdeval": 6e-6, "test_providers": 6e-6}  # gdeval prints five decimals
ROUNDED_METRICS = 1e-5  # what ``assertMetrics`` is given has five decimals, rounded down


class Gdeval(providers.Provider):
    """Our provider, with the exponential gain that gdeval gives every nDCG, whatever its parameter ``dcg``."""

    NAME = "gdeval"

    def _evaluator(self, measures, qrels):
        asked = {(m(dcg="exp-log2") if m.NAME == "nDCG" else m): m for m in measures}
        return _Renamed(ir_measures.cwla.evaluator(list(asked), qrels), asked)


class _Renamed(providers.Evaluator):
    def __init__(self, inner, asked):
        super().__init__(list(asked.values()), inner.qrel_qids)
        self.inner, self.asked = inner, asked

    def _iter_calc(self, run):
        return (metric._replace(measure=self.asked[metric.measure]) for metric in self.inner.iter_calc(run))


def replace_providers():
    """Put our provider in the place of the others, and remove those that are not installed."""
    for name in OTHERS:
        setattr(ir_measures, name, ir_measures.cwla)
    ir_measures.gdeval = Gdeval()
    for name in dir(providers):
        if getattr(getattr(providers, name), "NAME", None) in OTHERS:
            setattr(providers, name, lambda: ir_measures.cwla)
    ir_measures.DefaultPipeline.providers[:] = [ir_measures.cwla]
    for name in [name for name, provider in providers.registry.items() if not provider.is_available()]:
        del providers.registry[name]


def is_close(found, expected, difference):
    """Return whether two values are equal, their numbers up to a difference; only the first three fields of metrics."""
    if isinstance(found, Real) and isinstance(expected, Real):
        return bool(np.isclose(found, expected, rtol=0, atol=difference, equal_nan=True))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(is_close(found[key], expected[key], difference) for key in found)
    if isinstance(expected, tuple) and hasattr(expected, "query_id"):
        return all(is_close(one, other, difference) for one, other in zip(found[:3], expected[:3], strict=True))
    if isinstance(expected, set | list):
        pairs = zip(*(sorted(some, key=lambda one: str(one[:2])) for some in (found, expected)), strict=False)
        return len(found) == len(expected) and all(is_close(*pair, difference) for pair in pairs)
    return found == expected


def assert_close(found, expected, difference):
    assert is_close(found, expected, difference), f"{found!r} is not {expected!r}"


class BaseMeasureTest(unittest.TestCase):
    """The base class of test_pytrec_eval, which is in no source distribution."""

    def assertMetrics(self, found, expected, not_equal=False):
        """Compare metrics in any order."""
        assert is_close(list(found), list(expected), ROUNDED_METRICS) != not_equal, f"{found!r}, {expected!r}"


def main(folder, module):
    """Run the module, and return its result."""
    replace_providers()
    difference = ROUNDED.get(module, 1e-9)
    unittest.TestCase.assertEqual = lambda self, found, expected, msg=None: assert_close(found, expected, difference)
    np.testing.assert_equal = partial(assert_close, difference=difference)
    theirs, base = types.ModuleType("tests"), types.ModuleType("tests.base")
    theirs.__path__ = [str(Path(folder) / "tests")]
    base.BaseMeasureTest = BaseMeasureTest
    sys.modules.update({"tests": theirs, "tests.base": base})
    loaded = unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}")
    return unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(loaded)


if __name__ == "__main__":
    result = main(*sys.argv[1:])
    sys.exit(not (result.wasSuccessful() and result.testsRun))
