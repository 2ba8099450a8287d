"""The measures as ir_measures and PyTerrier know them: named, canonical, hashable, picklable."""

from __future__ import annotations

from contextlib import suppress
from sys import getsizeof
from typing import Any

from ir_measures.measures import Measure, ParamInfo

from ..data.duplicates import bind_duplicates
from ..data.lengths import bind
from ..errors import BadParameter, CWLAError, near
from ..model.language import Parameter, float_or_int, parse, written
from ..model.metric import Metric
from .calibrated import bind_calibration
from .catalogue import OURS, Calibrated, Clusters, End, Row, SpecOf, Table


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
        calibrated = known["calibration"].allowed.parameters if params.get("calibration") is not None else ()
        for name, parameter in known.items():
            if name in params:
                value = self._canonical(parameter, params[name])
                if value != parameter.default or name in calibrated:
                    self.params[name] = value
        if params and not any(p.required and p.name not in self.params for p in known.values()):
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
        if isinstance(parameter.allowed, Clusters):
            self._bound[parameter.name] = clusters = bind_duplicates(value)
            return clusters.name
        if isinstance(parameter.allowed, Calibrated):
            self._bound[parameter.name] = calibration = bind_calibration(value)
            return calibration.name
        if isinstance(parameter.allowed, End):
            with suppress(BadParameter):  # which the metric says itself
                return value if isinstance(value, str) else float_or_int(value)
            return value
        return parameter.check(value, where)

    def _prepare(self) -> None:
        tables = (self._bound.get(name) for name in ("lengths", "duplicates"))
        try:
            self._metric = self.ROW.metric({**self.params, **self._bound}, *tables)
        except CWLAError as error:
            if self.__name__ in str(error):
                raise
            raise type(error)(f"{self}: {error}") from None

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

    def _pinned(self, known: dict[Any, Any]) -> CWLAMeasure:
        new: dict[str, Any] = {}
        for name, bound in self._bound.items():
            if isinstance(bound, CWLAMeasure):
                new[name] = bound._pinned(known)
            elif getattr(bound, "follows_a_file", False):
                key = (type(bound), bound.name, bound.path)
                new[name] = known[key] = known.get(key) or bound.current
        return self(**new) if any(new[name] is not self._bound[name] for name in new) else self

    def __sizeof__(self) -> int:
        return super().__sizeof__() + sum(map(getsizeof, self._bound.values()))

    def _param_repr(self, v: Any) -> str:
        return written(v) if isinstance(v, dict) else repr(v)

    def __repr__(self) -> str:
        if self._text is None:
            # As ir_measures writes it, but with the defaults that are kept because a calibration says otherwise.
            given = ",".join(f"{k}={self._param_repr(v)}" for k, v in self.params.items() if k != self.AT_PARAM)
            cutoff = f"@{self.params[self.AT_PARAM]}" if self.AT_PARAM in self.params else ""
            self._text = f"{self.__name__}({given}){cutoff}" if given else f"{self.__name__}{cutoff}"
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


_NAMED = {name: _measure_class(row) for name, row in OURS.items()}
globals().update({f"_{name}": kind for name, kind in _NAMED.items()})  # where pickle looks for them


CWLA, TBG = _NAMED["CWLA"](), _NAMED["TBG"]()
