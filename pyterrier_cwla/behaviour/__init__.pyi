from . import clicks as clicks, logs as logs, simulation as simulation
from .clicks.click_models import (
    ClickModel as ClickModel,
    PredictedRelevance as PredictedRelevance,
    cascade_from_clicks as cascade_from_clicks,
    dbn_from_clicks as dbn_from_clicks,
)
from .clicks.click_positions import (
    ClickMetrics as ClickMetrics,
    PositionModel as PositionModel,
    click_metrics as click_metrics,
    plot_positions as plot_positions,
    plot_relevance as plot_relevance,
    position_model as position_model,
    weighted_correlation as weighted_correlation,
)
from .logs.adapters import chiir24_log as chiir24_log, click_log as click_log
from .logs.calibration import Calibration as Calibration, Calibrations as Calibrations, calibrate as calibrate
from .logs.estimators import Estimate as Estimate
from .logs.log import InteractionLog as InteractionLog
from .logs.observed_browsing import (
    Continuing as Continuing,
    GradeEfforts as GradeEfforts,
    continuing_from_last_clicks as continuing_from_last_clicks,
    continuing_from_views as continuing_from_views,
    grade_efforts as grade_efforts,
    plot_continuing as plot_continuing,
    plot_grade_efforts as plot_grade_efforts,
    survival_of_lists as survival_of_lists,
)
from .simulation.expectations import (
    Preference as Preference,
    Progress as Progress,
    expected_saves as expected_saves,
    expected_stops as expected_stops,
    prefer as prefer,
    progress as progress,
    times_to_ranks as times_to_ranks,
)
from .simulation.simulator import (
    Simulation as Simulation,
    plot_users as plot_users,
    simulate as simulate,
    simulated_log as simulated_log,
)
