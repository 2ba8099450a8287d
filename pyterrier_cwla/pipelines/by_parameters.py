"""Names, equality, tuning and schematics of PyTerrier transformers, from the parameters of their constructors."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pyterrier as pt

from ..data.document_tables import DocumentTable
from ..errors import BadParameter, near


class ByParameters(pt.Transformer):
    """Base of transformers whose behaviour depends only on the parameters of ``__init__``.

    Each parameter is an attribute of the same name. Two transformers of one class are equal if their parameters are
    equal; tables of documents are compared by content. PyTerrier uses the text of a transformer as the default name of
    a system, and equality for stages that pipelines share.
    """

    def set_parameter(self, name: str, value: Any) -> None:
        """Set a parameter to a new value, with the same checks as the constructor.

        Parameters
        ----------
        name : str
            Parameter of the constructor.
        value : object
            New value, such as one of ``pt.GridSearch``.

        Raises
        ------
        BadParameter
            If there is no such parameter, or if its value is invalid.
        """
        given = _parameters(self)
        if name not in given:
            raise BadParameter(f"{self} has no parameter {name!r}. {near(name, given)}")
        vars(self).update(vars(type(self)(**(given | {name: value}))))

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Return the label and the settings that ``pt.schematic.draw`` shows.

        Parameters
        ----------
        input_columns : list of str, optional
            Columns of the results that the transformer receives; not used.

        Returns
        -------
        dict
            Label, settings by name, and no page of PyTerrier's online documentation.
        """
        settings = {name: _shown(value) for name, value in _parameters(self).items()}
        return {"label": type(self).__name__, "settings": settings, "help_url": None}

    def __repr__(self) -> str:
        given = []
        for parameter in pt.inspect.transformer_attributes(self):
            if parameter.init_default_value is inspect.Parameter.empty:
                given.append(_shown(parameter.value))
            elif (
                parameter.value is not parameter.init_default_value and parameter.value != parameter.init_default_value
            ):
                given.append(f"{parameter.name}={_shown(parameter.value)}")
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = _parameters(self), _parameters(other)
        return all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(type(self))  # stays when a search sets parameters: transformers are keys of grids of parameters


def _parameters(transformer: pt.Transformer) -> dict[str, Any]:
    return {parameter.name: parameter.value for parameter in pt.inspect.transformer_attributes(transformer)}


def _shown(value: Any) -> str:
    """Return the text of a value in one line, without folders of files and without hashes."""
    if isinstance(value, DocumentTable):
        name = value.name if value.path is None else os.path.basename(value.path)
        unnamed = value.named_by_content or name == f"{value.what}.parquet"  # the file of an artifact
        return f"<{len(value):,} {value.what}>" if unnamed else repr(name)
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return " ".join(repr(value).split())


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if not isinstance(one, DocumentTable) or type(one) is not type(other):
        return bool(one == other)
    if one.follows_a_file or other.follows_a_file:
        return one.follows_a_file and other.follows_a_file and one.path == other.path
    return len(one) == len(other) and one.content == other.content
