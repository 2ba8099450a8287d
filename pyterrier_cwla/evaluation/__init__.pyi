from . import cluster as cluster
from .arrays import explain_gains as explain_gains, residual as residual, score as score
from .comparison import Comparison as Comparison
from .correction import Corrected as Corrected, corrected as corrected
from .driver import evaluate as evaluate, mteb_scores as mteb_scores, stream as stream
from .explanation import (
    ExplainedIntents as ExplainedIntents,
    ExplainedMixture as ExplainedMixture,
    ExplainedPair as ExplainedPair,
    Explanation as Explanation,
    explain as explain,
    stop_distribution as stop_distribution,
)
from .explanation_plots import plot_stops as plot_stops
from .run_comparison import compare as compare
from .run_overlap import rbo as rbo
