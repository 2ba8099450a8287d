"""Tests of the names that the package and its subpackages export, and of lazy imports."""

import builtins
import importlib
import inspect
import pickle
import re
import subprocess
import sys
from functools import cached_property
from operator import attrgetter

import pytest

import pyterrier_cwla
from pyterrier_cwla.errors import RENAMED

pytestmark = pytest.mark.every_case

MEASURES = """
    AP11pt AdaptiveAP AdaptiveDCG AdaptiveERR AdaptiveGAP AdaptiveGP AdaptiveGRBP AdaptiveP AdaptiveRBP AdaptiveRR
    AdaptivenDCG ByTopic CWLA Cascade DynamicBPM ESL Expected ExpectedAverageUtility ExpectedEffort ExpectedTotalUtility
    ExpectedUtility GainPerCost GainWithin GeometricMean GradedTBG IFT IFTGoal IFTRate IntentAware Logistic Mixture
    PrecisionWithin QMeasure RecallWithin Residual SET SessionCWLA SetUtility TBG TrAP UDCG UMeasure esNDCG nsDCG sDCG
"""
SPECIFIC = "CWLAError CWLAWarning CannotScore EvalMeasure GroupedRanker LambdaMART Lengths register_duplicates register_lengths"
GENERIC = """
    aggregation compare continuation effort evaluate evaluate_sessions explain explain_gains explore find_duplicates gain
    lengths_of_index lengths_of_texts out_of_fold rbo register_scorers score scorer stream
"""
PIPELINES = "DocLength DocCost DuplicateOf DuplicatesArtifact LearnedRanker LengthsArtifact OptunaSearch"
PIPELINES += " Cost KFoldOptunaSearch"
COMMAND = "import sys; sys.argv = ['bin/pyterrier-cwla', '--help']"  # what the script of the command does
OF_PYTERRIER = "from pyterrier.measures import *; print(TBG, pyterrier.cwla.TBG @ 5)"
PICKLED = pickle.dumps(pyterrier_cwla.TBG @ 5)
PACKAGES = "behaviour data demo errors evaluation explorer learning measures model pipelines studies"
INTERNAL = "cli files rendering tasks"


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_dir_and_star_import_bind_the_public_names():
    assert dir(pyterrier_cwla) == sorted(f"{MEASURES} {SPECIFIC} {GENERIC} {PIPELINES} {PACKAGES} __version__".split())
    bound: dict = {}
    exec("from pyterrier_cwla import *", {}, bound)
    assert sorted(bound) == sorted(f"{MEASURES} {SPECIFIC}".split())
    assert not set(dir(builtins)) & set(bound)


@pytest.mark.parametrize("name", f"{PACKAGES} {INTERNAL}".split())
def test_every_public_name_is_there(name):
    """Lazy imports fail here if a stub contains a function that has moved."""
    package = getattr(pyterrier_cwla, name)
    assert package is importlib.import_module(f"pyterrier_cwla.{name}")
    if name not in ("cli", "errors", "rendering", "tasks"):  # these have no public names
        assert [thing for thing in dir(package) if not hasattr(package, thing)] == []
        assert dir(package) == sorted(package.__all__)


def public_classes() -> dict[str, type]:
    packages = [pyterrier_cwla, *(getattr(pyterrier_cwla, name) for name in f"{PACKAGES} {INTERNAL}".split())]
    things = [getattr(package, name) for package in packages for name in dir(package) if not name.startswith("_")]
    ours = [thing for thing in things if inspect.isclass(thing) and thing.__module__.startswith("pyterrier_cwla")]
    return {thing.__name__: thing for thing in ours}


#: Attributes that are documented by the libraries whose classes are extended.
OF_LIBRARIES = {"ARTIFACT_FORMAT", "ARTIFACT_PACKAGE_HINT", "ARTIFACT_TYPE", "NAME", "SUPPORTED_MEASURES",
                "set_fit_request", "set_score_request"}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), public_classes().items())
def test_public_classes_show_no_internals(name, kind):
    """Each public attribute has a docstring, or a line in a section of the docstring of its class."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("pyterrier_cwla")]
    others = {attribute for base in kind.__mro__ if base not in own for attribute in vars(base)}
    documented = "\n".join(base.__doc__ or "" for base in own)
    shown = {attribute for base in own for attribute in {**vars(base), **inspect.get_annotations(base)}}
    for attribute in sorted(shown - others - OF_LIBRARIES):
        value = inspect.getattr_static(kind, attribute, None)
        kinds = property | cached_property | classmethod | staticmethod
        is_code = inspect.isfunction(value) or isinstance(value, kinds)
        has_docstring = is_code and inspect.getdoc(getattr(kind, attribute))
        in_section = re.search(rf"(?m)^ *(?:[*\w]+, )*\*{{0,2}}{attribute}(?:, \w+)* *:", documented)
        assert attribute.startswith("_") or has_docstring or in_section, f"{name}.{attribute}"


@pytest.mark.parametrize("name, says", [
    ("stop_distribution", "It is pyterrier_cwla.evaluation.stop_distribution."),
    ("Robustness", "It is pyterrier_cwla.studies.Robustness."), ("exlpain", "Near: pyterrier_cwla.explain."),
    ("tbg", "Near: pyterrier_cwla.TBG"), ("no_such_name", "pyterrier_cwla has no attribute 'no_such_name'."),
])  # fmt: skip
def test_errors_say_where_a_name_is(name, says):
    with pytest.raises(AttributeError) as raised:
        getattr(pyterrier_cwla, name)
    assert says in str(raised.value)
    with pytest.raises(AttributeError, match=name):
        getattr(pyterrier_cwla.studies, f"{name}_")
    assert not hasattr(pyterrier_cwla, "_repr_html_")


@pytest.mark.parametrize("old", [old for old in RENAMED if old.isidentifier()])
def test_new_names_of_renamed_things_exist(old):
    with pytest.raises(AttributeError, match=re.escape(f"It is now {RENAMED[old]}.")):
        getattr(pyterrier_cwla, old)
    assert not hasattr(pyterrier_cwla, old)
    assert callable(attrgetter(re.match(r"[\w.]+", RENAMED[old])[0])(pyterrier_cwla))


def test_help_starts_with_five_calls():
    lines = pyterrier_cwla.__doc__.split("Start here::\n\n")[1].splitlines()
    assert len(lines) == 5
    for name in re.findall(r"(?:^|, )\s*([A-Za-z]+)\(|, (OptunaSearch)", "\n".join(lines), re.M):
        assert "".join(name) == "help" or hasattr(pyterrier_cwla, "".join(name))


@pytest.mark.slow
@pytest.mark.parametrize("imported", ["import pyterrier_cwla as cwla", "import pyterrier as pt; cwla = pt.cwla"])
@pytest.mark.parametrize(("name", "module"), [
    ("studies.robustness", "studies"), ("behaviour.simulate", "behaviour.simulation"),
    ("learning.measure_score", "learning"), ("pipelines.OptunaSearch", "pipelines"),
    ("DocLength", "pipelines.transformers"), ("demo.collection", "demo"),
    ("evaluation.cluster.evaluate", "evaluation.cluster"), ("GroupedRanker", "learning.rankers"),
    ("compare", "evaluation.run_comparison"),
])  # fmt: skip
def test_modules_are_imported_when_first_used(imported, name, module):
    code = f"import sys; {imported}; print('pyterrier_cwla.{module}' in sys.modules, callable(cwla.{name}))"
    assert run(code) == ["False", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("code", [
    "import pyterrier_cwla, ir_measures; print(ir_measures.TBG, ir_measures.parse_measure('TBG@5'))",
    "import pyterrier_cwla; from ir_measures.measures import TBG; print(TBG, TBG @ 5)",
    "from pyterrier_cwla.evaluation.scored import Scored; from ir_measures import TBG; print(TBG, TBG @ 5)",
    # In the process of the command, the measures are registered when they are first used.
    f"{COMMAND}; import pyterrier_cwla; print(pyterrier_cwla.TBG, pyterrier_cwla.TBG @ 5)",
    f"{COMMAND}; from pyterrier_cwla import *; import ir_measures; print(ir_measures.TBG, TBG @ 5)",
    f"{COMMAND}; import pyterrier_cwla; print('TBG' * ('TBG' in dir(pyterrier_cwla)), pyterrier_cwla.TBG @ 5)",
    f"{COMMAND}; from pyterrier_cwla.measures.named import measures_of; print(*measures_of(['TBG', 'TBG@5']))",
    f"{COMMAND}; import pickle; print('TBG', pickle.loads({PICKLED!r}))",
    # The command demo imports PyTerrier.
    f"{COMMAND}; import pyterrier, pyterrier_cwla; pyterrier_cwla.TBG; {OF_PYTERRIER}",
    f"{COMMAND}; import pyterrier_cwla, pyterrier; pyterrier_cwla.TBG; {OF_PYTERRIER}",
])  # fmt: skip
def test_measures_are_registered_whatever_is_imported_first(code):
    assert run(code) == ["TBG", "TBG@5"]
