"""Measure classes for ir_measures, one per named metric, and lists of measures from texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import Parameter as InspectParameter
from inspect import Signature, cleandoc
from pathlib import Path
from sys import getsizeof
from typing import Any, Self, cast

from ir_measures.measures import Measure, ParamInfo

from ..data.lengths import Lengths
from ..errors import BadParameter, CWLAError, near_parameter, shown
from ..model.introspection import same_functions
from ..model.language import Parameter, Spec, lacking, parse
from ..model.metric import Metric
from .catalogue import KINDS_OF_ROLES, OPTIONS, PLAIN, Row
from .computing import Better, Computation, Declaration, KindOfMeasure, OfUserModel
from .declarations import DECLARATIONS, row_of
from .labels import (
    ShownMeasure,
    by_name,
    checked_column,
    checked_label,
    checked_text,
    label_in,
    parsed,
    renamed,
    several,
    validated,
)

Parts = dict[str, Measure]
"""Measures from which a value is computed, by name."""
Change = Callable[[Measure], Measure]
Tables = dict[object, Any]
"""Tables and calibrations with the present content of their files, by type, name and path."""


class _AttributeOfMeasures:
    """Attribute of measures and their classes that is computed when it is read, by a function of class and measure."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __get__(self, measure: CWLAMeasure | None, kind: type[CWLAMeasure]) -> Any:
        return self._function(kind, measure)


def _help(kind: type[CWLAMeasure], measure: CWLAMeasure | None) -> str:
    """Return the docstring of a measure; that of its class is one line, so that ``help`` shows no methods."""
    from .entries import help_on

    return kind.SHORT_DESC if measure is None else help_on(kind.DECLARATION)


def _signature(kind: type[CWLAMeasure], measure: CWLAMeasure | None) -> Signature:
    """Return the signature of the calls of a measure and of its class, which have the same parameters."""
    by_name = InspectParameter.KEYWORD_ONLY
    given = {p.name: InspectParameter.empty if p.required else p.default for p in kind.PARAMETERS} | {"label": None}
    return Signature([InspectParameter(name, by_name, default=default) for name, default in given.items()])


class CWLAMeasure(ShownMeasure):
    """Base class of the measures of this package.

    Parameters are stored in canonical form. Equal measures therefore have the same text, ``repr``. ``str`` is the name
    that tables show: the label, or else the text without tables and calibrations that have no name.

    Parameters
    ----------
    label : str, optional
        Name of the measure in tables, titles and reports. A call with other parameters, and ``@ k``, return a measure
        without it, unless a new label is given.
    **params : object
        The parameters of the measure.

    Raises
    ------
    BadParameter
        If a parameter is unknown or out of its range.
    """

    PRETTY_NAME: str
    SHORT_DESC: str
    PARAMETERS: tuple[Parameter, ...] = ()
    KIND: KindOfMeasure = "measure"
    DECLARATION: Declaration
    __signature__ = _AttributeOfMeasures(_signature)
    _text: str | None = None
    _shown: str | None = None

    def __init_subclass__(cls) -> None:
        """Declare the measure to ir_measures: the name of the class without underscore, summary and parameters."""
        cls.NAME = cls.PRETTY_NAME = name = cls.__qualname__.removeprefix("_")
        if "DECLARATION" in vars(cls):
            cls.PARAMETERS = cls.DECLARATION.parameters
        else:
            text = cleandoc(cls.__doc__ or "")
            cls.DECLARATION = Declaration(name, parameters=cls.PARAMETERS, kind=cls.KIND, text=text)
        if "SHORT_DESC" not in vars(cls):
            cls.SHORT_DESC = cls.DECLARATION.docstring.partition("\n")[0]
        cls.__doc__ = _AttributeOfMeasures(_help)  # type: ignore[assignment]
        cls.SUPPORTED_PARAMS = {
            p.name: ParamInfo(
                required=p.required, desc=str(p.allowed), **({} if p.required else {"default": p.default})
            )
            for p in cls.PARAMETERS
        }

    @property
    def __name__(self) -> str:
        return str(self.NAME)

    def __init__(self, *, label: str | None = None, **params: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bound: dict[str, Any] = {}  # the functions and tables behind the names in self.params
        known = {p.name: p for p in self.PARAMETERS}
        for name in params:
            if name not in known:
                raise BadParameter(f"{self.__name__} has no parameter {name!r}. {self._near_parameter(name, params)}")
        calibrated = self.DECLARATION.calibrated if params.get("calibration") is not None else ()
        for name, parameter in known.items():
            if name in params:
                value = self._canonical(parameter, params[name])
                if value != parameter.default or name in calibrated:
                    self.params[name] = value
        if label is not None:
            self.label = checked_label(label, self)
        if params and not lacking(self.PARAMETERS, self.params):
            self._check_parameters()

    def _check_parameters(self) -> None:
        """Raise an error if the parameters of a new measure do not fit together."""
        self.validate_params()

    def validate_params(self) -> None:
        """Raise an error if the parameters do not fit together."""

    def computation(self) -> Computation:
        """Return the computation of the measure."""
        return self.DECLARATION.computation(self)

    @property
    def better(self) -> Better | None:
        """Scores that are better: "higher", "lower", or None if neither is."""
        return self.DECLARATION.better(self.params)

    @property
    def parts(self) -> Parts:
        """Measures that the value is computed from, by name."""
        return {}

    @property
    def is_of_users(self) -> bool:
        """Whether the value of a query is a mean over users of one user model, or over several kinds of users."""
        return row_of(self) is not None

    @property
    def objects(self) -> list[Any]:
        """Functions, tables and measures behind the names in the parameters."""
        objects: list[Any] = []
        for bound in self.bound.values():
            objects += bound.values() if isinstance(bound, dict) else [bound]
        return objects

    def given(self, name: str, example: str) -> Any:
        """Return the object behind a required parameter; raise BadParameter if it is missing."""
        if name not in self.bound:
            raise BadParameter(f"{self.__name__} needs {name}=, such as {self.__name__}({name}={example}).")
        return self.bound[name]

    @property
    def named_content(self) -> object:
        """Functions and tables that the text of the measure refers to by name."""
        return [one.key for one in self.objects if isinstance(one, Spec)]

    @property
    def content(self) -> dict[str, object] | list[object]:
        """Functions of the language, tables and inner measures on which the values depend."""
        return self.objects

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        if value is None and parameter.default is None:
            return None
        allowed = parameter.allowed
        if allowed.text is not None:
            found = parse(value, allowed.function) if allowed.function else allowed.convert(value)
            self.bound[parameter.name] = found
            return allowed.text(found)
        written = (
            value if isinstance(value, str) and value in ("inf", "nan") else repr(value)
        )  # as in a text of a measure
        return parameter.check(value, f"{self.__name__}({parameter.name}={written})")

    def _near_parameter(self, name: str, given: dict[str, Any]) -> str:
        """Return a hint for a parameter that the measure does not have."""
        names = [p.name for p in self.PARAMETERS]
        if name == "rel" and "gain" in names:
            return f"Write gain='binary({given[name]})'."
        return near_parameter(name, names)

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        """Return the measure with these parameters replaced, and without its label if there are any."""
        if args:
            names = [p.name for p in self.PARAMETERS if p.name not in kwargs]
            given = dict(zip(names, args, strict=False)) | kwargs
            text = ", ".join(f"{name}={shown(value)}" for name, value in given.items())
            raise BadParameter(f"{self.__name__} takes parameters by name: write {self.__name__}({text}).")
        return type(self)(**{**self.params, **self.bound, **kwargs}) if kwargs else self

    def pinned(self, known: Tables) -> Self:
        """Return this measure with the present content of its files; `known` has the tables read so far."""

        def now(one: Any) -> Any:
            if isinstance(one, CWLAMeasure):
                return one.pinned(known)
            return _as_now(one, known) if getattr(one, "follows_a_file", False) else one

        return self if all(now(one) is one for one in self.objects) else self._rebound(now)

    def with_parts(self, change: Change) -> Self:
        """Return the measure with ``change`` applied to the measures among its parameters, and with its label."""
        return self._rebound(lambda one: change(one) if isinstance(one, Measure) else one)

    def _rebound(self, change: Callable[[Any], Any]) -> Self:
        def changed(bound: Any) -> Any:
            return {name: change(one) for name, one in bound.items()} if isinstance(bound, dict) else change(bound)

        return cast(Self, self(**{name: changed(bound) for name, bound in self.bound.items()})._renamed(self.label))

    def _renamed(self, label: str | None) -> Self:
        return self._with(label=label)

    def _with(self, **attributes: Any) -> Self:
        """Return a copy with other attributes."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | attributes)
        return other

    def _has_functions_of(self, other: Measure) -> bool:
        if not isinstance(other, CWLAMeasure) or not same_functions(self.bound, other.bound):
            return False
        mine, others = ([one for one in of.objects if isinstance(one, Measure)] for of in (self, other))
        return mine == others

    def __sizeof__(self) -> int:
        return super().__sizeof__() + sum(map(getsizeof, self.objects))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _param_repr(self, v: Any) -> str:
        return "{" + ",".join(f"{k!r}:{one!r}" for k, one in v.items()) + "}" if isinstance(v, dict) else repr(v)

    def __repr__(self) -> str:
        if self._text is None:
            self._text = self._written(self.params)
        return self._text

    def __str__(self) -> str:
        if self.label is not None:
            return self.label
        if self._shown is None:
            self._shown = self._written(self.shown_params)
        return self._shown

    def _repr_html_(self) -> str | None:
        from .equations import measure_html

        return measure_html(self)

    @property
    def shown_params(self) -> dict[str, Any]:
        """Parameters as tables show them: without unnamed tables, and with the stem of a calibration's file."""
        shown = {
            name: _with_names(self.bound.get(name), value)
            for name, value in self.params.items()
            if not getattr(self.bound.get(name), "anonymous", False)
        }
        if "calibration" in self.params:
            path = self.bound["calibration"].path
            shown["calibration"] = "…" if path is None else Path(path).stem
        return shown

    def _written(self, params: dict[str, Any]) -> str:
        """Return the text of parameters in the format of ir_measures.

        It contains given values that equal the default where a calibration has another value.
        """
        given = ",".join(f"{k}={self._param_repr(v)}" for k, v in params.items() if k != self.AT_PARAM)
        cutoff = f"@{params[self.AT_PARAM]}" if self.AT_PARAM in params else ""
        return f"{self.__name__}({given}){cutoff}" if given else f"{self.__name__}{cutoff}"


def _with_names(bound: Any, value: Any) -> Any:
    """Return the value of a parameter with the names of measures in place of their texts."""
    if isinstance(bound, dict):
        return {name: str(one) for name, one in bound.items()}
    return str(bound) if isinstance(bound, Measure) else value


class RowMeasure(CWLAMeasure):
    """A measure with a user model, from a row of the catalogue."""

    DECLARATION: Row
    _metric: Metric | None = None
    _default: Lengths | None = None  # the default table when the call started, or when the measure was pickled

    def validate_params(self) -> None:
        """Raise an error if the parameters do not make a metric."""
        if self._metric is not None:
            return
        try:
            self._metric = self.DECLARATION.metric({**self.params, **self.bound})
        except CWLAError as error:
            if self.__name__ in str(error):
                raise
            raise type(error)(f"{self}: {error}") from None

    @property
    def metric(self) -> Metric:
        """Metric that the measure stands for."""
        self.validate_params()
        assert self._metric is not None
        return self._metric

    def computation(self) -> OfUserModel:
        """Return the computation of the metric."""
        return OfUserModel(self._with_default.metric, lambda highest: self.pinned({}).metric)

    @property
    def better(self) -> Better | None:
        """Scores that are better, according to the aggregation.

        None of a cost whose users leave at gains only: where they find nothing, they never leave, and the score is 0.
        """
        if not self.metric.A.fact("less_is_better"):
            return "higher"
        return None if self.metric.C.fact("ignores_zero_gain") else "lower"

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        """Return the measure with these parameters replaced."""
        return super().__call__(*args, **kwargs).reading(self._default)

    def pinned(self, known: Tables) -> Self:
        """Return this measure with the present content of its files and of the default table."""
        measure = super().pinned(known)._with_default
        default = measure._default
        return measure if default is None or not default.follows_a_file else measure.reading(_as_now(default, known))

    @property
    def _with_default(self) -> Self:
        """The measure, with the default table of lengths if it may read it."""
        return self if self._default is not None else self.reading(Lengths.default)

    def reading(self, default: Lengths | None) -> Self:
        """Return the measure with a default table of lengths, if it may read it."""
        if default is None or lacking(self.PARAMETERS, self.params):
            return self
        if not self.metric.needs_words or self.metric.lengths is not None:
            return self
        return self._with(_default=default, _metric=replace(self.metric, default_lengths=default))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self._with_default)  # other processes do not have the default table

    @property
    def named_content(self) -> tuple[object, ...]:
        """Key of the metric, with its functions and tables."""
        return self._with_default.metric.key

    @property
    def content(self) -> dict[str, object]:
        """Fields of the metric."""
        metric = self._with_default.metric
        return {name: getattr(metric, name) for name in metric.__dataclass_fields__}


def _as_now(table: Any, known: Tables) -> Any:
    """Return a table or calibration with the present content of its file, which is read once."""
    key = (type(table), table.name, table.path)
    if key not in known:
        known[key] = table.current
    return known[key]


class CountMeasure(CWLAMeasure):
    """A measure without a user model, from its declaration."""

    def validate_params(self) -> None:
        """Raise an error if the gain function needs ``max_rel``, or is signed."""
        gain = self.bound.get("gain")
        if gain is not None and gain.part.wants_max_rel:
            raise BadParameter(
                f"{self}: {gain.keyword} needs max_rel, and {self.__name__} does not have this parameter. Use a gain"
                " that depends on grades alone, such as 'raw', 'burges' or a table."
            )
        if gain is not None and replace(PLAIN, gain=gain).signed:
            raise BadParameter(
                f"{self} is defined for gains of 0 or more, and {gain.keyword} is signed: use a measure with a user"
                " model, such as CWLA(C='rbp(0.8)',A='erg',gain=…)."
            )


def measure_class(declaration: Declaration) -> type[CWLAMeasure]:
    """Return the class of a declared measure for ir_measures."""
    base = RowMeasure if isinstance(declaration, Row) else CountMeasure
    return type(f"_{declaration.name}", (base,), {"DECLARATION": declaration})


CLASSES = {name: measure_class(one) for name, one in DECLARATIONS.items() if one.kind == "measure"}
globals().update({f"_{name}": kind for name, kind in CLASSES.items()})  # pickle finds the classes by these names
CWLA, TBG = cast(RowMeasure, CLASSES["CWLA"]()), cast(RowMeasure, CLASSES["TBG"]())


def cwla_of(metric: Metric, **values: Any) -> CWLAMeasure:
    """Return the CWLA measure with the choices of a metric, or with other values for some of them."""
    own = {name: value for name in (*KINDS_OF_ROLES, *OPTIONS) if (value := getattr(metric, name)) is not None}
    return CWLA(**own | values)


def measures_of(texts: Iterable[object]) -> list[Measure]:
    """Return measures of ir_measures from their texts or objects.

    Parameters
    ----------
    texts : iterable of str or ir_measures.Measure, one of them, or dict of these by label
        The measures, such as ``"nDCG@10"``, or ``"early=nDCG@10"`` for a measure with a label. Upper and lower case are
        equivalent where only one measure fits. The names of trec_eval, such as ``"ndcg_cut_10"``, stand for the
        measures of ir_measures, ``"official"`` for several, and those of ranx, such as ``"hit_rate@5"``, for what ranx
        computes. One text may contain several measures, separated by commas.

    Returns
    -------
    list of ir_measures.Measure
        The measures in the order given. ``str`` of each is the name of its column.

    Raises
    ------
    BadParameter
        If a parameter is unknown, missing or out of its range; or if two different measures have the same name.
    UnknownSpec
        If a text cannot be read, or a name is unknown; the error suggests near matches.

    Examples
    --------
    >>> measures_of("ndcg_cut_10, tbg(half_life=60), CWLA(C=inst(2),A=max,max_rel=3)")
    [nDCG@10, TBG(half_life=60), CWLA(C='inst(2)',A='max',max_rel=3)]
    """
    if isinstance(texts, Mapping):
        measures = [renamed(measure_of(text), checked_column(label)) for label, text in texts.items()]
    else:
        measures = [measure_of(text) for text in listed(texts)]
    by_name(measures, texts=True)
    return measures


def measure_of(text: object) -> Measure:
    """Return the measure of a text or object; see :func:`measures_of`."""
    label = None
    if not isinstance(text, Measure):
        label, text = label_in(checked_text(text))
    measure = text if isinstance(text, Measure) else parsed(text)
    if not isinstance(measure, CWLAMeasure):
        measure = validated(measure)
    return measure if label is None else renamed(measure, checked_label(label, measure))


def listed(measures: object) -> list[object]:
    """Return one or several measures as a list; a name of trec_eval for several measures is replaced by these."""
    if isinstance(measures, str):
        measures = split_measures(measures)
    if isinstance(measures, Measure):
        return [measures]
    if not isinstance(measures, Iterable):
        raise BadParameter(
            f"measures must be a measure or a list of them, such as ['nDCG@10', 'TBG'], not {shown(measures)}."
        )
    return [each for one in measures for each in several(one) or [one]]


def split_measures(text: str) -> list[str]:
    """Return the measures of a text, separated by commas that stand in no brackets and no quotes.

    Several cutoffs after a name of trec_eval, as in ``P.5,10``, stand for several measures.

    Examples
    --------
    >>> split_measures("nDCG@10, CWLA(C='rbp(0.8)',A='erg',max_rel=3), AP")
    ['nDCG@10', "CWLA(C='rbp(0.8)',A='erg',max_rel=3)", 'AP']
    >>> split_measures("P.5,10,map")
    ['P.5', 'P.10', 'map']
    """
    parts: list[str] = []
    for part in map(str.strip, _split(checked_text(text))):
        before = re.fullmatch(r"(\w*[A-Za-z][._])[\d.]+", parts[-1]) if parts else None
        continues = before is not None and re.fullmatch(r"\d+(\.\d+)?", part)
        parts.append(f"{before[1]}{part}" if before is not None and continues else part)
    return parts


def _split(text: str) -> Iterator[str]:
    start, open_brackets, quote, escaped = 0, 0, "", False
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        elif character in "([{":
            open_brackets += 1
        elif character in ")]}":
            open_brackets -= 1
        elif character == "," and open_brackets == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
