from .aggregations import aggregation as aggregation, discount as discount
from .continuations import continuation as continuation
from .efforts import effort as effort
from .gains import gain as gain
from .language import (
    BelowOne as BelowOne,
    Grade as Grade,
    Grades as Grades,
    In as In,
    Named as Named,
    NotNegative as NotNegative,
    OneOf as OneOf,
    Positive as Positive,
    Probabilities as Probabilities,
    Probability as Probability,
    Rank as Rank,
    parse as parse,
)
from .view import Documents as Documents, View as View
