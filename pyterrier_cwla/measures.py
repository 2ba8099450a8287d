"""The measures as ir_measures and PyTerrier know them: named, canonical, hashable, picklable."""

from __future__ import annotations

from typing import Any

import ir_measures
from ir_measures.measures import Measure, ParamInfo

from .catalogue import OURS, End, Row, SpecOf, Table
from .documents import bind
from .errors import BadParameter, near
from .metric import Metric
from .spec import Parameter, float_or_int, parse


class CWLAMeasure(Measure):
    """A measure of this package. Parameters are kept in canonical form, so that equal measures print alike.

    It also equals its own text, because PyTerrier's searches look measures up by their names.
    """

    ROW: Row
    __name__: str
    _text: str | None = None
    _metric: Metric | None = None

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._bound: dict[str, Any] = {}  # functions and tables, which a text alone would lose
        known = {p.name: p for p in self._parameters()}
        for name in params:
            if name not in known:
                raise BadParameter(f"{self.__name__} has no parameter {name!r}. {near(name, known)}")
        for name, parameter in known.items():
            if name in params:
                value = self._canonical(parameter, params[name])
                if value != parameter.default:
                    self.params[name] = value
        if not any(p.required and p.name not in self.params for p in known.values()):
            self._prepare()

    @classmethod
    def _parameters(cls) -> tuple[Parameter, ...]:
        return cls.ROW.parameters

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        where = f"{self.__name__}({parameter.name}={value!r})"
        if value is None and parameter.default is None:
            return None
        if isinstance(parameter.allowed, SpecOf):
            self._bound[parameter.name] = spec = parse(value, parameter.allowed.kind)
            return str(spec)
        if isinstance(parameter.allowed, Table):
            self._bound[parameter.name] = table = bind(value)
            return table.name
        if isinstance(parameter.allowed, End):
            return value if isinstance(value, str) else float_or_int(value)
        return parameter.check(value, where)

    def _prepare(self) -> None:
        lengths = self._bound.get("lengths")
        self._metric = self.ROW.metric({**self.params, **self._bound}, lengths)

    @property
    def metric(self) -> Metric:
        """The metric behind the name."""
        self.validate_params()
        assert self._metric is not None
        return self._metric

    def validate_params(self) -> None:
        if self._metric is None:
            self._prepare()

    def __call__(self, **kwargs: Any) -> CWLAMeasure:
        return type(self)(**{**self.params, **self._bound, **kwargs})

    def __repr__(self) -> str:
        if self._text is None:
            self._text = super().__repr__()
        return self._text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return repr(self) == other
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _measure_class(row: Row) -> type[CWLAMeasure]:
    info = {
        p.name: ParamInfo(
            dtype=_types(p), required=p.required, desc=str(p.allowed), **({} if p.required else {"default": p.default})
        )
        for p in row.parameters
    }
    return type(
        f"_{row.name}",
        (CWLAMeasure,),
        {
            "__doc__": f"{row.says}\n\n{row.source}.",
            "__module__": __name__,
            "__name__": row.name,
            "NAME": row.name,
            "PRETTY_NAME": row.name,
            "SHORT_DESC": row.says,
            "SUPPORTED_PARAMS": info,
            "ROW": row,
        },
    )


def _types(parameter: Parameter) -> Any:
    numbers = hasattr(parameter.allowed, "interval")
    kinds: tuple[type, ...] = (int, float) if numbers else (str, int)
    return (*kinds, type(None)) if parameter.default is None else kinds


_CWLA, _TBG = (_measure_class(OURS[name]) for name in ("CWLA", "TBG"))


class _Residual(CWLAMeasure):
    """How much higher the score could be: that if every unjudged and unseen item had the best gain, minus the score.

    Moffat and Zobel (2008), section 3.4. ``residual_is_a_bound`` of the measure's metric says whether no judgment can
    lift the score by more.
    """

    __name__ = "Residual"
    NAME = "Residual"
    PRETTY_NAME = "Residual"
    SHORT_DESC = "How much higher the score could be if every unjudged and unseen item had the best gain."
    SUPPORTED_PARAMS = {"measure": ParamInfo(dtype=str, required=True, desc="a measure of this package")}

    @classmethod
    def _parameters(cls) -> tuple[Parameter, ...]:
        return (Parameter("measure"),)

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        inner = ir_measures.parse_measure(value) if isinstance(value, str) else value
        if not isinstance(inner, CWLAMeasure) or isinstance(inner, _Residual):
            raise BadParameter(f"Residual(measure=…) takes a measure of this package, such as 'TBG', not {value!r}.")
        self._bound["measure"] = inner
        return str(inner)

    def _prepare(self) -> None:
        if "measure" not in self._bound:
            raise BadParameter("Residual needs measure=, such as Residual(measure='TBG').")
        self._metric = self._bound["measure"].metric
        assert self._metric is not None
        self._metric.best  # noqa: B018  (an error now where there is no best gain)

    @property
    def is_a_bound(self) -> bool:
        """Whether no judgment can lift the score by more than the residual; False where that is not known."""
        return self.metric.residual_is_a_bound


CWLA, TBG, Residual = _CWLA(), _TBG(), _Residual()
MEASURES: dict[str, CWLAMeasure] = {str(measure.NAME): measure for measure in (CWLA, TBG, Residual)}
