"""Write the API reference: a list of groups, a page for each group, and a page for each function and class."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from markup import page, table, title

import pyterrier_cwla
from pyterrier_cwla import errors

#: Titles of groups, by the package in which their functions and classes are defined, in the order of the list.
_GROUPS = {
    "evaluation": "Evaluate, compare and explain runs",
    "explorer": "Explore user models",
    "measures": "Measures",
    "model": "User-defined parts of measures",
    "data": "Document lengths, duplicates and intents",
    "files": "Runs and judgments in files",
    "rendering": "Tables of results",
    "learning": "Learn to rank: scikit-learn, LightGBM, XGBoost, torch",
    "pipelines": "PyTerrier pipelines and searches",
    "behaviour.logs": "Users: interaction logs and calibration",
    "behaviour.clicks": "Users: click models and online metrics",
    "behaviour.simulation": "Users: simulation and preferences",
    "studies.systems": "Studies: agreement of measures and discriminative power",
    "studies.incomplete_judgments": "Studies: missing judgments",
    "studies.users": "Studies: agreement with users",
    "studies.fitting": "Studies: parameters fitted to users",
    "studies": "Studies: results, tables and rank correlations",
    "demo": "Generated data and the demonstration",
    "errors": "Errors and warnings",
}


@dataclass(frozen=True)
class _Documented:
    """A public function or class: its name within the package, and the object."""

    name: str
    thing: Any

    @property
    def group(self) -> str:
        """Package that defines the object, without the name of the whole package."""
        module = importlib.import_module(self.thing.__module__)
        package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
        return package.removeprefix("pyterrier_cwla.")

    @property
    def short(self) -> str:
        """Name within its package."""
        return self.name.partition(".")[2] or self.name

    @property
    def order(self) -> tuple[int, int, str]:
        """Functions come first, then functions that draw, then classes; of these, the names with no package."""
        kind = 2 if inspect.isclass(self.thing) else int(self.short.startswith("plot_"))
        return (kind, self.name.count("."), self.name.lower())

    @property
    def says(self) -> str:
        """First sentence of the docstring."""
        return (inspect.getdoc(self.thing) or "").split("\n\n")[0].replace("\n", " ")


def written(site: bool) -> dict[str, str]:
    """Return the pages as reStructuredText, by path; on the site, with the examples that use each object."""
    documented = [_Documented(name, thing) for name, thing in _public()]
    places = _places(documented)
    groups: dict[str, list[_Documented]] = {name: [] for name in _GROUPS}
    for one in documented:
        groups.setdefault(one.group, []).append(one)
    groups = {name: sorted(found, key=lambda one: one.order) for name, found in groups.items() if found}
    pages = {f"api/{places[one.name]}.rst": _object_page(one, site) for one in documented}
    group_pages = {f"api/{_file(group)}.rst": _group_page(group, found, places) for group, found in groups.items()}
    return {**pages, **group_pages, "api.rst": _list_of_groups(groups, places), "renamed.rst": _renamed_page()}


def _public() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes by their shortest name; measures have pages of their own."""
    top = {name: getattr(pyterrier_cwla, name) for name in sorted([*dir(pyterrier_cwla), "files"])}
    yield from _functions_and_classes("", top)
    listed = {id(thing) for thing in top.values()}
    for name, package in top.items():
        if inspect.ismodule(package):
            own = {thing: getattr(package, thing) for thing in _names(package)}
            yield from _functions_and_classes(f"{name}.", {n: t for n, t in own.items() if id(t) not in listed})


def _names(package: ModuleType) -> Sequence[str]:
    """Return the names that a package exports; of the errors, the classes of exceptions and warnings."""
    if package is errors:
        return [
            name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, BaseException)
        ]
    return getattr(package, "__all__", [])


def _functions_and_classes(prefix: str, things: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, thing in things.items():
        if inspect.isclass(thing) or inspect.isroutine(thing):
            yield prefix + name, thing
        elif inspect.ismodule(thing) and prefix:
            own = {
                key: value
                for key, value in vars(thing).items()
                if getattr(value, "__module__", "") == thing.__name__ and key in getattr(thing, "__all__", vars(thing))
            }
            yield from _functions_and_classes(
                f"{prefix}{name}.", {key: value for key, value in own.items() if key[0] != "_"}
            )


def _places(documented: Sequence[_Documented]) -> dict[str, str]:
    """Return the file of each object, without suffix; the files differ also where case is ignored."""
    times = Counter(one.name.lower() for one in documented)
    return {
        one.name: f"{one.name}-class" if times[one.name.lower()] > 1 and inspect.isclass(one.thing) else one.name
        for one in documented
    }


def _file(group: str) -> str:
    return f"group-{group.replace('.', '-').replace('_', '-')}"


def _list_of_groups(groups: Mapping[str, Sequence[_Documented]], places: Mapping[str, str]) -> str:
    rows = [["Group", "Functions and classes"]]
    for group, found in groups.items():
        links = ", ".join(f":doc:`{one.short} <api/{places[one.name]}>`" for one in found)
        rows.append([f":doc:`{_GROUPS.get(group, group)} <api/{_file(group)}>`", links])
    files = "\n".join(f"   {_GROUPS.get(group, group)} <api/{_file(group)}>" for group in groups)
    return page([
        title("API reference", "="),
        "The public functions and classes of ``pyterrier_cwla`` and of its packages, which are loaded at their first"
        " use. Measures have pages of their own (:doc:`measures/index`), and so have the functions that measures"
        " consist of: :doc:`parts/gains`, :doc:`parts/efforts`, :doc:`parts/continuations`, :doc:`parts/aggregations`,"
        " :doc:`parts/discounts`, :doc:`parts/normalisers` and :doc:`parts/sessions`. :doc:`renamed` lists names of"
        " earlier versions.",
        table(rows, (35, 65)),
        f".. toctree::\n   :hidden:\n\n{files}",
    ])  # fmt: skip


def _renamed_page() -> str:
    rows = [["Old name", "New name"], *([f"``{old}``", f"``{new}``"] for old, new in errors.RENAMED.items())]
    return page([
        title("Renamed", "="),
        "Names of earlier versions, and the names that replace them. The error for an old name of the package gives the"
        " new one.",
        table(rows, (40, 60)),
    ])  # fmt: skip


def _group_page(group: str, found: Sequence[_Documented], places: Mapping[str, str]) -> str:
    package = importlib.import_module(f"pyterrier_cwla.{group}")
    rows = [["Name", "Summary"]]
    rows += [[f":doc:`{one.name} <{places[one.name]}>`", one.says] for one in found]
    files = "\n".join(f"   {one.short} <{places[one.name]}>" for one in found)
    return page([
        title(_GROUPS.get(group, group), "="),
        (inspect.getdoc(package) or "").splitlines()[0],
        "Names are those within ``pyterrier_cwla``.",
        table(rows, (40, 60)),
        f".. toctree::\n   :hidden:\n\n{files}",
    ])  # fmt: skip


def _object_page(one: _Documented, site: bool) -> str:
    kind = "class" if inspect.isclass(one.thing) else "function"
    directive = f".. auto{kind}:: pyterrier_cwla.{one.name}"
    if kind == "class":
        directive += "\n   :members:"
    if one.name == "GroupedRanker":  # scikit-learn writes these methods, and refers to its own pages
        directive += "\n   :exclude-members: set_fit_request, set_score_request"
    package, _, short = f"pyterrier_cwla.{one.name}".rpartition(".")
    used = f".. minigallery:: {one.thing.__module__}.{short} pyterrier_cwla.{one.name}\n   :add-heading: Examples"
    shown = [title(one.name, "="), f".. code-block:: python\n\n   from {package} import {short}", directive]
    return page([*shown, *([used] if site else [])])
