"""Every measure of ir_measures, listed from its registry, against every provider of ir_measures that computes it."""

import ir_measures
import numpy as np
import pyarrow.parquet as pq
import pytest

from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from tests.support.generated import Collection, collection, harmless
from tests.support.peers import (
    OF_INTENTS,
    OF_INTENTS_AT_K,
    PEERS,
    REGISTERED,
    computes,
    for_peer,
    per_query,
    tolerance,
    values_of,
    with_other_parameters,
)

#: Measures of ir_measures that are not computed here, each with the reason that docs/coming_from.rst gives.
REFUSED = {
    "nDCG": lambda given: "gains" in given and given.get("dcg") == "exp-log2",  # no provider computes it
    "Accuracy": lambda given: given.get("rel") == 0,  # unjudged documents would be relevant
    **dict.fromkeys(("NRBP", "nNRBP"), lambda given: given.get("beta", 0) > 1),  # β is a probability
    **dict.fromkeys(OF_INTENTS_AT_K, lambda given: "cutoff" not in given),  # an error of pyndeval, too
}

NAMES = sorted(REGISTERED)


def with_intents(qrels, seed=0):
    """Return the judgments with one to three of five intents for each document, each with its own grade."""
    rng = np.random.default_rng(seed)
    several = qrels.loc[qrels.index.repeat(rng.integers(1, 4, len(qrels)))].reset_index(drop=True)
    numbers = several.groupby(["query_id", "doc_id"]).cumcount() + rng.permutation(len(several)) % 3
    lower = several.relevance - rng.integers(0, 2, len(several))
    unique = several.assign(
        iteration=numbers.astype(str), relevance=lower.where(several.relevance > 1, several.relevance)
    )
    return unique.drop_duplicates(["query_id", "doc_id", "iteration"])


def is_refused(measure):
    return measure.NAME in REFUSED and REFUSED[measure.NAME](measure.params)


def agree(name, frames, measures=None):
    """Check all peers of a measure, and return the number of comparisons."""
    compared = 0
    made = Collection(frames.run, with_intents(frames.qrels)) if name in OF_INTENTS else frames
    for measure in measures or with_other_parameters(name):
        for peer in PEERS if not is_refused(measure) else ():
            if not computes(peer, measure) or (measure.NAME == "RBP" and "rel" not in measure.params):
                continue
            given = for_peer(peer, measure, made)
            ours = per_query(ir_measures.cwla, measure, given)
            theirs, their_mean = values_of(peer, measure, given)
            assert ours == pytest.approx(theirs, abs=tolerance(peer)), (measure, peer.NAME)
            mean = ir_measures.cwla.calc_aggregate([measure], given.qrels, given.run)[measure]
            assert mean == pytest.approx(their_mean, abs=tolerance(peer), nan_ok=True), (measure, peer.NAME)
            compared += 1
    return compared


def test_every_measure_of_the_registry_is_computed_here():
    """With every parameter, except for a few combinations without a definition."""
    for name in NAMES:
        for measure in with_other_parameters(name):
            assert ir_measures.cwla.supports(measure) != is_refused(measure), measure


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("name", NAMES)
def test_small_collections_with_ties_negative_grades_and_unjudged_documents(name):
    assert agree(name, collection(7, queries=8)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 24))
@pytest.mark.parametrize("name", NAMES)
def test_collections_with_ties_negative_grades_and_unjudged_documents(name, seed):
    agree(name, collection(seed, queries=30, depth=60, judged=60))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("peer, names", [
    ("pytrec_eval", "P@1 P@5 P@6 P@7 P@10 P@30 P@49 P@100 P(rel=2)@3 P(judged_only=True)@6 R@5 R@30 Success@5 RR RR(rel=2) Rprec"
                    " Bpref SetP SetR SetF IPrec@0.3 NumRel NumRet"),
    ("compat", "Compat Compat(p=0.5) Compat(p=0.99,normalize=False)"),
])  # fmt: skip
def test_values_are_equal_to_the_last_bit(peer, names, seed):
    """Sums are divided once, as in trec_eval, and added in the order of the ranks."""
    frames = harmless(collection(seed, queries=30, depth=60, judged=60))
    measures = [ir_measures.parse_measure(name) for name in names.split()]
    ours, theirs = (
        {(str(found.measure), found.query_id): found.value for found in provider.iter_calc(measures, *frames[::-1])}
        for provider in (ir_measures.cwla, getattr(ir_measures, peer))
    )
    assert theirs
    assert {at: ours[at] for at in theirs} == theirs


# ---- real collections


@pytest.fixture(scope="module", params=["trec-covid-r1", "dl19", "trec8"])
def real(request, data):
    """Return the judgments of a real collection with two of its runs."""
    folder = data / request.param
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    if request.param == "trec8":
        rows = pq.read_table(folder / "runs.parquet", filters=[("run", "in", ["1", "CL99SD"])]).to_pandas()
        runs = [some.drop(columns="run").reset_index(drop=True) for _, some in rows.groupby("run", observed=True)]
        return [Collection(run, read_qrels(folder / "qrels.txt.gz").to_pandas()) for run in runs]
    paths = sorted(find_runs(folder / "runs"))
    qrels = read_qrels(folder / "qrels.txt").to_pandas()
    return [Collection(read_run(path).to_pandas(), qrels) for path in (paths[0], paths[-1])]


@pytest.mark.nightly
@pytest.mark.real_data
@pytest.mark.parametrize("name", NAMES)
def test_real_collections(real, name):
    """The first and the last combination of parameters that any provider computes.

    Gains are multiples of 1/4, whose sums cwl_eval's BPM compares with its target without rounding errors.
    """
    combinations = [m for m in with_other_parameters(name) if any(computes(peer, m) for peer in PEERS)]
    quarters = [m for m in combinations if m.params.get("max_rel") == 4 and "min_rel" not in m.params]
    possible = quarters or combinations
    assert all(agree(name, frames, [possible[0], possible[-1]]) for frames in real)
