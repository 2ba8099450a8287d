"""Hypothesis strategies for gains, and for continuations, aggregations and gain functions with parameters."""

from hypothesis import strategies as st

from pyterrier_cwla.model.language import FLAG, TABLES, WORD, Kind, Part, Spec

BUILT_IN = {kind: {name: part for name, part in parts.items() if part.built_in} for kind, parts in list(TABLES.items())}


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Return a strategy for numbers with three decimals, both ends included."""
    return st.integers(round(low * 1000), round(high * 1000)).map(lambda n: n / 1000)


def gains(most: int = 25, least: int = 0) -> st.SearchStrategy[list]:
    """Return a strategy for gains in rank order, many of them 0, some of them 1."""
    one = st.one_of(st.just(0.0), st.sampled_from([0.0, 0.25, 0.5, 1.0]), numbers(0, 1))
    return st.lists(one, min_size=least, max_size=most)


def ends() -> st.SearchStrategy:
    return st.one_of(st.sampled_from(["open", "stop"]), st.integers(1, 30))


def _values(allowed: Kind) -> st.SearchStrategy:
    if kind := allowed.function:
        plain = [name for name, part in BUILT_IN[kind].items() if not getattr(part.facts, "gives_survival", False)]
        return specs(kind, tuple(name for name in plain if name not in ("ap1", "given")))
    if allowed == FLAG:
        return st.booleans()
    if allowed == WORD:
        return st.sampled_from(["tokens", "joules"])
    if allowed.choices:
        return st.sampled_from(allowed.choices)
    if allowed.by_grade:
        highest = 60 if {1: 60} in allowed else 1
        return st.fixed_dictionaries({grade: numbers(0, highest) for grade in range(4)})
    assert allowed.interval, allowed
    low, high = (float(end) for end in allowed.interval[1:-1].split(","))
    low, high = max(low, 0.0), min(high, 20.0 if allowed.whole else 60.0)
    if allowed.whole:
        return st.integers(int(low), int(high))
    inside = numbers(low, min(high, 0.99) if allowed.interval.endswith("1)") else high)
    return inside.filter(lambda value: value in allowed)


@st.composite
def specs(draw: st.DrawFn, kind: str, names: tuple[str, ...] = ()) -> Spec:
    """Return a strategy for built-in functions of this kind with random parameters in their ranges."""
    part: Part = BUILT_IN[kind][draw(st.sampled_from(sorted(names or BUILT_IN[kind])))]
    args: list = []
    chosen: dict = {}
    for parameter in part.parameters:
        if parameter.many:
            args = draw(st.lists(_values(parameter.allowed), min_size=1, max_size=8))
        elif parameter.required or draw(st.booleans()):
            # Where a law of leaving has a tiny shape, V(1e307) is still far from 0.
            values = numbers(0.02, 40) if parameter.name == "shape" else _values(parameter.allowed)
            chosen[parameter.name] = draw(values)
    return part(*args, **chosen)


def continuations(*names: str) -> st.SearchStrategy[Spec]:
    return specs("continuation", names)


def aggregations(*names: str) -> st.SearchStrategy[Spec]:
    return specs("aggregation", names)


#: Continuations that do not depend on gains.
STATIC = {"prec", "rbp", "dcg", "insq", "decay", "carterette1", "patience", "budget", "fixed"}
STATIC |= {"economic", "weibull", "log_logistic", "log_normal", "hyperbolic"}


def is_static(C: Spec) -> bool:
    if C.name == "product":
        return is_static(C["first"]) and is_static(C["second"])
    return C.name in STATIC
