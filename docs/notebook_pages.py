"""Write the pages of the notebooks: each with links to its file, its outputs as they are stored, and a list of all."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from markup import escaped, page, title

#: Groups of the list and their notebooks, in the order of the list; a notebook that is not here is in the first group.
GROUPS = {
    "Compare and explain": [
        "compare_your_own_runs",
        "tbg_and_cwla_beside_ndcg",
        "explore_user_models",
        "unjudged_documents",
        "judged_by_a_machine",
        "which_retriever_feeds_the_reader",
        "intents_and_duplicates",
        "large_runs_and_dask",
    ],
    "Tune and train": ["grid_search_and_folds", "optimise_for_time", "fine_tune_a_reranker"],
    "Users and their time": [
        "calibrate_from_a_log",
        "who_leaves_when",
        "a_thousand_users",
        "click_models",
        "adaptive_effort_table3",
    ],
    "Which measure to trust": [
        "tell_systems_apart",
        "when_judgments_are_missing",
        "incomplete_judgments_table3",
        "what_users_say",
        "cwla_table4",
        "fit_a_metric_to_users",
    ],
}


def write(notebooks: Path, folder: Path) -> None:
    """Write a page for each notebook, and the list of all, into a folder that has nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(notebooks.glob("*.ipynb"))}
    titles = {name: _source(notebook["cells"][0]).partition("\n")[0].lstrip("# ") for name, notebook in read.items()}
    for name, notebook in read.items():
        shown = _page(name, notebook, titles)
        (folder / f"{name}.ipynb").write_text(json.dumps(shown, ensure_ascii=False), encoding="utf-8")
    (folder / "index.rst").write_text(_list(read), encoding="utf-8")


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _page(name: str, notebook: dict[str, Any], titles: dict[str, str]) -> dict[str, Any]:
    """Return a notebook with a link to its file, with titles as texts of its links, and with names for its pictures."""
    cells = []
    heading = ""
    for cell in notebook["cells"]:
        source = _source(cell)
        if cell["cell_type"] == "markdown":
            for other, text in titles.items():
                source = source.replace(f"[{other}]({other}.ipynb)", f"[{text}]({other}.ipynb)")
            cell = {**cell, "source": source}
            heading = ([heading, *re.findall(r"^#+ +(.*)", source, re.M)])[-1]
        elif any("image/png" in output.get("data", {}) for output in cell.get("outputs", ())):
            image = {"alt": f"Figure of the section “{heading}”, drawn by the code above", "class": "cwla-png"}
            metadata = cell.get("metadata", {})
            cell = {**cell, "metadata": {**metadata, "mystnb": {"image": image, **metadata.get("mystnb", {})}}}
        cells.append(cell)
    download = f"{{download}}`Download this notebook <../../notebooks/{name}.ipynb>` to run it on your own data."
    first, *others = cells
    head, _, rest = _source(first).partition("\n")
    return {**notebook, "cells": [{**first, "source": f"{head}\n\n{download}\n{rest}"}, *others]}


def _list(notebooks: dict[str, dict[str, Any]]) -> str:
    named = [name for names in GROUPS.values() for name in names]
    new = [name for name in notebooks if name not in named]
    parts = [
        title("Notebooks", "="),
        "Complete studies in Jupyter. Each notebook runs on data that it generates, after the installation that its"
        " first cell names, and its page has a link to download it. The pages show the output of such a run. Two"
        " notebooks on tables of papers are an exception: their pages show the output on the data of the papers.",
    ]
    for number, (head, names) in enumerate(GROUPS.items()):
        listed = [name for name in [*([] if number else new), *names] if name in notebooks]
        toc = ".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name}" for name in listed)
        parts += [title(head), *(_described(name, notebooks[name]) for name in listed), toc]
    return page(parts)


def _described(name: str, notebook: dict[str, Any]) -> str:
    """Return an entry of a definition list: a notebook's title and first two sentences, without those before a list."""
    text = _source(notebook["cells"][0]).partition("\n")[2].strip().split("\n\n")[0]
    plain = re.sub(r"[*`\\]|<[^>]*>", "", " ".join(text.split()))
    sentences = re.split(r"(?<=[.?!]) +(?=[A-Z])", plain)
    whole = [sentence for sentence in sentences[:2] if sentence.endswith((".", "?", "!"))]  # others lead to a list
    return f":doc:`{name}`\n   {escaped(' '.join(whole))}"
