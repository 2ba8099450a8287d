"""Parse texts into measures, and give measures labels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Self, cast

from ir_measures.measures import Measure, registry
from ir_measures.util import parse_trec_measure

from ..errors import BadParameter, CWLAError, UnknownSpec, near, near_parameter, shown, some, warn
from ..model.language import LONGEST, read_call, read_value, shortened, tree_of
from .declarations import is_computed_here, refuse_missing_parameters, row_of

_TREC_EVAL = {
    "gm_map": "GMAP",
    "gm_bpref": "GeometricMean(measure='Bpref')",
    "11pt_avg": "AP11pt",
    "utility": "SetUtility",
}
"""Names of trec_eval that ir_measures does not have."""
_OFFICIAL = "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
_LISTS = {
    "official": _OFFICIAL,
    "all_trec": f"{_OFFICIAL} infAP set_P set_relative_P set_recall set_map set_F utility gm_bpref 11pt_avg ndcg"
    " ndcg_cut map_cut recall success",
}
"""Names of trec_eval for lists of measures."""
_NOT_COMPUTED = "Rndcg, ndcg_rel, Rprec_mult, G, binG, relative_P, num_nonrel_judged_ret and relstring"
_OF_RANX = {
    r"hit_rate@(\d+)": r"Success@\1",
    r"hits@(\d+)": r"CWLA(C='prec(\1)',A='etg',gain='binary')",
    r"r-precision": "Rprec",
    r"dcg@(\d+)": r"CWLA(C='dcg(\1)',A='etg',gain='raw')",
    r"dcg_burges@(\d+)": r"CWLA(C='dcg(\1)',A='etg',gain='burges')",
    r"ndcg_burges(@\d+)?": r"nDCG(dcg='exp-log2')\1",
    r"rbp[.@](\d+)": r"CWLA(C='rbp(0.\1)',A='erg',gain='raw')",
    r"(.+)-l(\d+)": r"\1|rel=\2",
}
"""Patterns of names of ranx, and the measures that compute the same."""
_ALSO_CALLED = {
    "expected_search_length": "ESL",
    "f1": "SetF",
    "hit_rate": "Success",
    "hits": "Success",
    "q": "QMeasure",
    **{name.replace("_", "-").lower(): name for name in ("alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "P_IA")},
    "map-ia": "AP_IA",
    "ap-ia": "AP_IA",
    "α-ndcg": "alpha_nDCG",
    "s-recall": "StRecall",
    "strec": "StRecall",
    "u": "UMeasure",
}
"""Names in the literature and in other packages, for hints."""


Measures = Iterable[Any] | Mapping[str, Any]
"""Measures or their texts, or a dict of these by name, as functions take them for ``measures=``."""


def parsed(text: str) -> Measure:
    """Return the measure of a text: a name of this package, ir_measures, trec_eval or ranx.

    The text is a name with named parameters and a cutoff, ``Name(parameter=value)@cutoff``. Values are numbers, True,
    False, None, text, or maps. Text needs no quotes where it is an expression of Python, as in
    ``CWLA(C=inst(2),A=max)`` or ``Residual(measure=AP@10)``.

    Raises
    ------
    UnknownSpec
        If the text cannot be read, or a name is unknown.
    """
    text = checked_text(text).strip()
    try:
        return _of_ranx(text) or _read(text)
    except CWLAError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        raise UnknownSpec(f"{_unreadable(text)}. {_FORM}") from error


def checked_text(text: object) -> str:
    """Return the text of one or several measures, if it is a text that is not too long.

    Raises
    ------
    BadParameter
        If it is no text.
    UnknownSpec
        If it has more characters than a text of the language may have.
    """
    if not isinstance(text, str):
        raise BadParameter(
            f"a measure is a text, such as 'nDCG@10', or an object of ir_measures, not {shown(text)}, of type"
            f" {type(text).__name__}."
        )
    if len(text) > LONGEST:
        raise UnknownSpec(
            f"{_unreadable(text)}: it has {len(text):,} characters, and texts of measures have at most {LONGEST:,}."
            " Give several measures as a list, and large tables by a name."
        )
    return text


_FORM = "Write Name(parameter=value)@cutoff, and commas between measures."


def _unreadable(text: str) -> str:
    return f"cannot read the measure {shortened(text)!r}"


def _read(text: str) -> Measure:
    """Return the measure of a text, a name of trec_eval or an expression of Python; errors name the character."""

    def refused(reason: str, node: ast.expr | ast.keyword) -> UnknownSpec:
        *above, line = text.splitlines(keepends=True)[: node.lineno]
        before = len("".join(above)) + len(line.encode()[: node.col_offset].decode())
        return _refused(text, reason, before + 1)

    def source(node: ast.expr, name: str) -> str:
        if isinstance(node, ast.Name | ast.Call | ast.BinOp | ast.Attribute):
            return ast.get_source_segment(text, node) or ""
        if isinstance(node, ast.Dict):
            raise refused(f"the keys of the map {name}= must be numbers or text", node)
        raise refused(f"{name}= must be a number, True, False, None, text or a map", node)

    tree = tree_of(text)
    if not isinstance(tree, ast.Name | ast.Call | ast.BinOp) and (found := _of_trec_eval(text)) is not None:
        return found  # such as ndcg_cut.10
    tree = tree or _tree_or_reason(text)
    cutoff = tree.right if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult) else None
    head, args, named = read_call(tree.left if cutoff and isinstance(tree, ast.BinOp) else tree, refused)
    if args:
        raise refused("each parameter needs its name, as in Residual(measure=AP)", args[0])
    given = {name: read_value(node, partial(source, name=name), refused) for name, node in named.items()}
    if isinstance(head, ast.Tuple):
        raise _refused(text, "several measures in one text; give a list of texts", 1)
    if not isinstance(head, ast.Name):
        stem = re.split("[@(]", text)[0]
        if other := _ALSO_CALLED.get(stem.lower()):
            raise UnknownSpec(f"no measure {shortened(stem)!r}. Near: {other!r}.")
        raise _refused(text, "a measure starts with a name", head.col_offset + 1)
    measure = _of_name(head.id)
    if cutoff is not None:
        if isinstance(cutoff, ast.Call) and isinstance(tree, ast.BinOp):
            name, number, inside = map(ast.unparse, (tree.left, cutoff.func, cutoff))
            right = f"{name}{inside.removeprefix(number)}@{number}"
            raise refused(f"the cutoff is last: write {right}", cutoff)
        k = str(measure.AT_PARAM)
        if k in {**measure.params, **given}:
            raise refused(f"{k} is given twice", cutoff)
        given[k] = read_value(cutoff, partial(source, name=k), refused)
    return cast(Measure, measure(**given)) if given else measure


def _tree_or_reason(text: str) -> ast.expr:
    """Return the syntax tree of a text; raise UnknownSpec with the reason and the place if there is none."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        above = text.splitlines(keepends=True)[: (error.lineno or 1) - 1]
        at = len("".join(above)) + (error.offset or len(text) + 1)
        reason = (error.msg or "invalid syntax").rstrip(".") if text else "the text is empty"
        if re.search(r"=\s*[~./\\]", text) or re.search(r"=\s*[A-Za-z]:[/\\]", text):
            reason = "a path stands in quotes, as in TBG(lengths='/data/lengths.tsv')"
        raise _refused(text, reason, min(at, len(text) + 1)) from None


def _refused(text: str, reason: str, at: int) -> UnknownSpec:
    return UnknownSpec(f"{_unreadable(text)} at character {at}: {reason}. {_FORM}")


def _of_name(name: str) -> Measure:
    """Return the measure of a name: of ir_measures, of trec_eval, or of ir_measures in upper or lower case."""
    if name in registry:
        return cast(Measure, registry[name])
    alike = {repr(measure): known for known, measure in registry.items() if known.lower() == name.lower()}
    if len(alike) > 1:
        raise UnknownSpec(f"{name!r} stands for {' or '.join(alike.values())}: write one of them as it is here.")
    if alike:
        return cast(Measure, registry[next(iter(alike.values()))])
    if (found := _of_trec_eval(name)) is not None:
        return found
    other = _ALSO_CALLED.get(name.lower())
    with_number = re.fullmatch(r"([A-Za-z]+)(\d+)", name)
    before = None if with_number is None else _in_any_case(with_number[1], registry)
    if with_number is not None and before is not None and "cutoff" in registry[before].SUPPORTED_PARAMS:
        hint = f"Near: '{before}@{with_number[2]}'."
    else:
        hint = f"Near: {other!r}." if other else near(shortened(name), _computed())
    raise UnknownSpec(f"no measure {shortened(name)!r}. {hint} `pyterrier-cwla measures` lists all.")


def _in_any_case(name: str, known: Iterable[str]) -> str | None:
    """Return the one known name that is equal but for upper and lower case, or None."""
    found = [one for one in known if one.lower() == name.lower()]
    return name if name in found else found[0] if len(found) == 1 else None


def several(text: object) -> list[Measure]:
    """Return the measures of a name of trec_eval for several of them, such as ``official``, or an empty list."""
    if not isinstance(text, str) or len(text) > LONGEST or _in_any_case(text, registry):
        return []
    if text == "all_trec":
        warn(f"the list all_trec is read without {_NOT_COMPUTED}, which neither this package nor ir_measures computes.")
    with suppress(UnknownSpec):
        found = _all_of_trec_eval(text)
        return found if len(found) > 1 else []
    return []


def _of_ranx(text: str) -> Measure | None:
    """Return the measure of a name of ranx, such as ``hit_rate@5`` or ``map-l2``, or None for other texts."""
    if re.fullmatch(r"f1@\d+", text):
        raise UnknownSpec(f"{text} of ranx is not computed: 'SetF' is F1 of all retrieved documents: cut the run.")
    for pattern, here in _OF_RANX.items():
        if found := re.fullmatch(pattern, text):
            name, _, rel = found.expand(here).partition("|rel=")
            measure = parsed(name)
            if rel and "rel" not in measure.SUPPORTED_PARAMS:
                raise UnknownSpec(f"{text} of ranx: {name} is computed without a level of relevance. Write {name!r}.")
            return cast(Measure, measure(rel=int(rel))) if rel else measure
    return None


def _of_trec_eval(name: str) -> Measure | None:
    """Return the measure of a name of trec_eval in any case, such as ``ndcg_cut_10``, or None for other names."""
    found = _all_of_trec_eval(name)
    if len(found) > 1 or name in _LISTS:
        raise UnknownSpec(f"{name} of trec_eval stands for several measures. Write one of them: {some(found, 40)}.")
    return found[0] if found else None


def _all_of_trec_eval(name: str) -> list[Measure]:
    """Return the measures of a name of trec_eval in any case; none for other names."""
    if name in _LISTS:
        return [one for each in _LISTS[name].split() for one in _all_of_trec_eval(each)]
    name = _in_any_case(name, _TREC_EVAL) or name
    if name in _TREC_EVAL:
        return [parsed(_TREC_EVAL[name])]
    if not re.fullmatch(r"(?:(?![._]\d)\w)+(?:[._]\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)?", name):
        return []  # ir_measures would ignore what follows the cutoff
    try:
        from pytrec_eval import supported_measures, supported_nicknames

        stem = re.split(r"[._]\d", name)[0]
        name = (_in_any_case(stem, supported_measures) or stem) + name[len(stem) :]
        return [] if name in supported_nicknames else parse_trec_measure(name)
    except ValueError as error:
        if "not yet supported" in str(error):
            raise UnknownSpec(f"neither this package nor ir_measures computes {name} of trec_eval.") from None
        return []
    except ImportError:
        return []


def _computed() -> list[str]:
    """Return the names of measures that are computed here, including aliases of ir_measures."""
    return [name for name, measure in registry.items() if is_computed_here(measure)]


def validated(measure: Measure) -> Measure:
    """Return a measure of ir_measures with valid parameters.

    ir_measures itself raises AssertionError without a message for some of them, and rejects whole numbers such as T=2.
    """
    known = measure.SUPPORTED_PARAMS
    for name, value in list(measure.params.items()):
        if name not in known:
            raise unknown_parameter(measure, name)
        if isinstance(value, bool) and known[name].dtype is not bool:
            raise BadParameter(f"{measure.NAME}({name}={value!r}): {name} must not be True or False.")
        if name == "cutoff" and isinstance(value, int) and value < 1:
            raise BadParameter(f"{measure.NAME}@{value}: the cutoff must be a whole number in [1, inf).")
        small = isinstance(value, int) and abs(value) < 2**53
        if small and not known[name].validate(value) and known[name].validate(float(value)):
            measure = measure(**{name: float(value)})
    refuse_missing_parameters(measure)
    for name, parameter in known.items():
        if name in measure.params and not parameter.validate(measure.params[name]):
            row = row_of(measure)
            declared = () if row is None else row.parameters
            allowed = next((str(p.allowed) for p in declared if p.name == name), "")
            what = allowed or parameter.desc or "of another type"
            raise BadParameter(f"{measure.NAME}({name}={measure.params[name]!r}): {name} must be {what}.")
    return measure


def unknown_parameter(measure: Measure, name: str) -> BadParameter:
    """Return the error for a parameter that a measure of ir_measures does not have."""
    known = measure.SUPPORTED_PARAMS
    plain = type(measure)(**{key: value for key, value in measure.params.items() if key in known})
    if name == "label":
        label = measure.params[name]
        return BadParameter(
            f"{measure.NAME} of ir_measures has no parameter 'label'. Write pyterrier_cwla.measures.labels.labelled("
            f"{plain!r}, {label!r}), or where texts are read '{label}={plain!r}'."
        )
    return BadParameter(f"{measure.NAME} has no parameter {name!r}. {near_parameter(name, known)}")


_COLUMNS = frozenset({"run", "query_id", "qid", "fold", "name", "mrt"})  # columns beside those of measures
_OTHER_WAYS = ", a text 'name=measure', or a dict {'…': measure} instead of a list"
_LABEL_AND_MEASURE = re.compile(r"((?:[^=()]|\([^()]*\))+)=(.*)", re.DOTALL)


class ShownMeasure(Measure):
    """Base class of measures whose name in tables may differ from their text.

    ``repr`` is the text of the measure, which can be parsed. ``str`` is the name that tables show. A measure equals a
    measure with the same text, the same name and the same functions of users. It also equals its name, because
    PyTerrier's searches look measures up by name.

    Attributes
    ----------
    label : str or None
        Label of the measure.
    """

    label: str | None = None

    def __str__(self) -> str:
        return repr(self) if self.label is None else self.label

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        if not isinstance(other, Measure) or str(self) != str(other) or repr(self) != repr(other):
            return False
        return self._has_functions_of(other)

    def _has_functions_of(self, other: Measure) -> bool:
        """Return whether a measure with the same text has the same functions behind the names in its text."""
        return True

    def __hash__(self) -> int:
        return hash(str(self))

    def with_label(self, label: str | None) -> Measure:
        """Return the measure with another label, or without one."""
        return labelled(self, label)

    def _renamed(self, label: str | None) -> Measure:
        """Return the measure with a label that is valid already, or without one."""
        raise NotImplementedError


class LabelledMeasure(ShownMeasure):
    """A measure of ir_measures with a label; a call with other parameters returns a measure without the label."""

    def __init__(self, measure: Measure, label: str) -> None:
        vars(self).update(vars(measure))
        self._measure, self.label = measure, label

    def __call__(self, **kwargs: Any) -> Measure | Self:
        """Return the measure without its label if there are other parameters."""
        return self._measure(**kwargs) if kwargs else self

    def _renamed(self, label: str | None) -> Measure:
        return renamed(self._measure, label)

    def __reduce__(self) -> tuple[Any, ...]:
        return renamed, (self._measure, self.label)


@cache
def _labelled_class(kind: type[Measure]) -> type[LabelledMeasure]:
    return type(kind.__name__, (LabelledMeasure, kind), {})


def labelled(measure: Measure, label: str | None) -> Measure:
    """Return a measure with a label, or without one.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package or of ir_measures.
    label : str or None
        Name of the measure in tables; None for the name without a label.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column or the text of another measure.

    Examples
    --------
    >>> from ir_measures import nDCG
    >>> early = labelled(nDCG @ 10, "early")
    >>> str(early), repr(early)
    ('early', 'nDCG@10')
    """
    return renamed(measure, None if label is None else checked_label(label, measure, isinstance(measure, ShownMeasure)))


def renamed(measure: Measure, label: str | None) -> Measure:
    """Return a measure with a label that is valid already, or without one."""
    if isinstance(measure, ShownMeasure):
        return measure._renamed(label)
    if label is None or label == str(measure):
        return measure
    return _labelled_class(type(measure))(measure, label)  # type: ignore[arg-type]


def checked_column(label: object) -> str:
    """Return the label of a column.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column in tables of scores.
    """
    if not isinstance(label, str) or not label.isprintable() or not label.strip() or label != label.strip():
        raise BadParameter(
            f"label={shown(label)}: a label is a text of one line, such as 'TBG', without blanks at its ends."
        )
    if label in _COLUMNS:
        raise BadParameter(f"label={label!r}: tables of scores have another column of this name. Choose another label.")
    return label


def checked_label(label: object, measure: Measure, own_name: bool = True) -> str:
    """Return a label for a measure.

    A label may be the text of the measure itself, such as ``"map"`` for AP. It cannot be the text of another measure,
    because both may be in one experiment, where PyTerrier shows one column for measures of one name.

    Parameters
    ----------
    label : object
        The label.
    measure : ir_measures.Measure
        The measure.
    own_name : bool, default=True
        Whether the label may be the name of the measure without its parameters, such as "TBG" for a TBG with another
        half-life. This is safe where :func:`by_name` sees all measures of a call.

    Returns
    -------
    str
        The label.

    Raises
    ------
    BadParameter
        If the label is not a text of one line, or is the name of another column in tables of scores or the text of
        another measure.
    """
    label, own = checked_column(label), renamed(measure, None)
    if own_name and label == own.NAME:
        return label
    other = _measure_called(label, own)
    if other is not None and not {repr(other), str(other)} & {repr(own), str(own)}:
        raise BadParameter(
            f"label={label!r} of {own}: {label!r} is another measure. Choose a label that is none, such as"
            f" {f'{label} of users'!r}."
        )
    return label


def _measure_called(text: str, own: Measure) -> Measure | None:
    """Return the measure that a text means, or None: most labels are no measures.

    The name of ``own`` is no measure if it needs parameters, such as "P".
    """
    with suppress(CWLAError, AssertionError):
        found = parsed(text)
        if found.NAME == own.NAME:
            found.validate_params()
        return found
    return None


def label_in(text: str) -> tuple[str | None, str]:
    """Return the label and the measure of a text such as ``"early=nDCG@10"``; the label is None if there is none.

    Measures contain ``=`` only within parentheses.

    Examples
    --------
    >>> label_in("early=nDCG@10")
    ('early', 'nDCG@10')
    >>> label_in("TBG(h=60)")
    (None, 'TBG(h=60)')
    """
    found = _LABEL_AND_MEASURE.fullmatch(text)
    return (None, text) if found is None else (found[1].strip(), found[2].strip())


def redefined(measure: Measure) -> BadParameter:
    """Return the error for two measures that differ, although they have the same text."""
    return BadParameter(
        f"two measures are called {measure} and differ: a function or a table was redefined between them. Give it"
        " another name, or give each measure a label."
    )


def by_name(measures: Iterable[Measure], texts: bool = False) -> dict[str, Measure]:
    """Return measures by the names of their columns, in order; a measure that is given twice has one column.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        The measures.
    texts : bool, default=False
        Whether the caller also takes texts and dicts of measures. PyTerrier and ir_measures take objects alone.

    Raises
    ------
    BadParameter
        If two different measures have the same name.
    """
    named: dict[str, Measure] = {}
    for measure in measures:
        other = named.setdefault(str(measure), measure)
        if other is measure:
            continue
        if other != measure and repr(other) == repr(measure):
            raise redefined(measure)
        if other != measure:
            raise BadParameter(
                f"two measures are called {str(measure)!r}: {other!r} and {measure!r}. Give one another name:"
                f" label='…' of a measure of this package{_OTHER_WAYS * texts}."
            )
    return named
