from . import clicks as clicks, logs as logs, simulation as simulation
from .clicks.cascade_models import (
    ClickModel as ClickModel,
    cascade_from_clicks as cascade_from_clicks,
    dbn_from_clicks as dbn_from_clicks,
)
from .clicks.online_metrics import (
    ClickMetrics as ClickMetrics,
    click_metrics as click_metrics,
    weighted_correlation as weighted_correlation,
)
from .clicks.plots import plot_positions as plot_positions, plot_relevance as plot_relevance
from .clicks.position_based import (
    PositionModel as PositionModel,
    position_model as position_model,
    survival_of_lists as survival_of_lists,
)
from .clicks.predicted_relevance import PredictedRelevance as PredictedRelevance
from .logs.adapters import chiir24_log as chiir24_log, click_log as click_log
from .logs.behaviour_plots import plot_continuing as plot_continuing, plot_grade_efforts as plot_grade_efforts
from .logs.calibration import Calibration as Calibration, Calibrations as Calibrations, calibrate as calibrate
from .logs.continuation_curves import (
    Continuing as Continuing,
    continuing_from_last_clicks as continuing_from_last_clicks,
    continuing_from_views as continuing_from_views,
)
from .logs.effort_by_grade import GradeEfforts as GradeEfforts, grade_efforts as grade_efforts
from .logs.estimate import Estimate as Estimate
from .logs.log import InteractionLog as InteractionLog
from .logs.progress_over_time import Progress as Progress, progress as progress, times_to_ranks as times_to_ranks
from .simulation.expectations import expected_saves as expected_saves, expected_stops as expected_stops
from .simulation.preferences import Preference as Preference, prefer as prefer
from .simulation.simulator import (
    Simulation as Simulation,
    plot_users as plot_users,
    simulate as simulate,
    simulated_log as simulated_log,
)
