from .cross_validation import OutOfFold as OutOfFold, out_of_fold as out_of_fold
from .lambdamart import EvalMeasure as EvalMeasure, LambdaMART as LambdaMART
from .metrics import measure_score as measure_score
from .neural import LambdaScheme as LambdaScheme, lambda_loss as lambda_loss
from .rankers import EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS, GroupedRanker as GroupedRanker
from .scorers import (
    get_scorer as get_scorer,
    get_scorer_names as get_scorer_names,
    register_scorers as register_scorers,
    scorer as scorer,
    unregister_scorers as unregister_scorers,
)
