"""Write the files of tests/files/recorded with the classes of mteb and beir: ``python -m tests.files.record_mteb``.

The nightly run writes them anew with the newest versions. The data are generated.
"""

import json
import random
from pathlib import Path

from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval
from beir.util import write_to_tsv
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta

from pyterrier_cwla.evaluation import mteb_scores

FOLDER = Path(__file__).parent / "recorded"
LISTED = ("ndcg_at_10", "map_at_10", "recall_at_10", "mrr_at_10")
OURS = ["nDCG@10", "AP@10", "CWLA(C='rbp(0.8)',A='erg',max_rel=2)"]
SUBSETS, SPLITS = ("de", "en"), ("dev", "test")


def collection(seed, prefix=""):
    """Return judgments with grades 0 to 2 and rankings with ties, as dicts; each query has a relevant document."""
    draw = random.Random(seed)
    queries = [f"{prefix}q{number}" for number in range(6)]
    documents = [*queries, *(f"{prefix}d{number}" for number in range(14))]
    qrels = {query: {"d0": 1, **{one: draw.randrange(3) for one in draw.sample(documents, 8)}} for query in queries}
    results = {query: {one: round(draw.random(), 1) for one in draw.sample(documents, 15)} for query in queries}
    return qrels, results


class Generated(AbsTaskRetrieval):
    """Retrieval task with two subsets and two splits."""

    metadata = TaskMetadata(
        name="Generated", description="Generated data.", dataset={"path": "generated", "revision": "1"},
        type="Retrieval", category="t2t", modalities=["text"], eval_splits=list(SPLITS),
        eval_langs={"de": ["deu-Latn"], "en": ["eng-Latn"]}, main_score="ndcg_at_10",
    )  # fmt: skip
    task_specific_scores = mteb_scores(OURS)
    seed = 0

    def load_data(self, **_):
        if self.data_loaded:
            return
        self.results, self.dataset = {}, {}
        for number, subset in enumerate(SUBSETS):
            self.dataset[subset] = {}
            for more, split in enumerate(SPLITS):
                qrels, self.results[subset, split] = collection(self.seed + 2 * number + more)
                ids = sorted({one for ranking in self.results[subset, split].values() for one in ranking})
                self.dataset[subset][split] = RetrievalSplitData(
                    queries=Dataset.from_list([{"id": query, "text": query} for query in qrels]),
                    corpus=Dataset.from_list([{"id": one, "title": "", "text": one} for one in ids]),
                    relevant_docs=qrels, top_ranked=None,
                )  # fmt: skip
        self.data_loaded = True


class Identical(Generated):
    """Retrieval task that ignores documents with the id of the query."""

    metadata = Generated.metadata.model_copy(update={"name": "Identical"})
    ignore_identical_ids = True
    seed = 10


class Known:
    """Model whose results are known."""

    def __init__(self, task):
        self.task = task
        self.mteb_model_meta = ModelMeta.create_empty({"name": "generated/known", "revision": "1"})

    def index(self, *_, **__):
        """Do nothing."""

    def search(self, *_, hf_split, hf_subset, **__):
        return self.task.results[hf_subset, hf_split]


def record():
    (FOLDER / "beir" / "qrels").mkdir(parents=True, exist_ok=True)
    known = {}
    for task in (Generated(), Identical()):
        (FOLDER / task.prediction_file_name).unlink(missing_ok=True)
        task.load_data()
        found = {split: task.evaluate(Known(task), split, encode_kwargs={}, prediction_folder=FOLDER)
                 for split in SPLITS}  # fmt: skip
        known[task.metadata.name] = {
            f"{subset}/{split}": {
                "qrels": task.dataset[subset][split]["relevant_docs"],
                "scores": {name: found[split][subset][name] for name in (*LISTED, *OURS)},
            }
            for subset in SUBSETS
            for split in SPLITS
        }
    write("mteb.json", known)
    qrels, results = collection(20, prefix='a "quoted" ')
    write("beir/results.json", results)
    write_to_tsv(str(FOLDER / "beir" / "qrels" / "test.tsv"), qrels)
    loader = GenericDataLoader(data_folder=str(FOLDER / "beir"))
    loader.qrels_file = str(FOLDER / "beir" / "qrels" / "test.tsv")
    loader._load_qrels()
    scores = EvaluateRetrieval.evaluate(loader.qrels, results, [10], ignore_identical_ids=False)
    write("beir/scores.json", {name: value for part in scores for name, value in part.items()})


def write(name, content):
    """Write JSON as mteb and beir do."""
    (FOLDER / name).write_text(json.dumps(content))


if __name__ == "__main__":
    record()
