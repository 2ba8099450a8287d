"""From behaviour to numbers and back: what logs say of users, and what users of a metric would live through."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clicks.cascade_models import ClickModel, cascade_from_clicks, dbn_from_clicks
    from .clicks.online_metrics import ClickMetrics, click_metrics, weighted_correlation
    from .clicks.plots import plot_positions, plot_relevance
    from .clicks.position_based import PositionModel, position_model
    from .clicks.predicted_relevance import PredictedRelevance
    from .logs.adapters import chiir24_log, click_log
    from .logs.behaviour_plots import plot_continuing, plot_grade_efforts
    from .logs.calibration import Calibration, Calibrations, calibrate
    from .logs.continuation_curves import Continuing, continuing_from_last_clicks, continuing_from_views
    from .logs.effort_by_grade import GradeEfforts, grade_efforts
    from .logs.estimate import Estimate
    from .logs.log import InteractionLog
    from .logs.progress_over_time import Progress, progress, times_to_ranks
    from .simulation.expectations import expected_saves, expected_stops
    from .simulation.preferences import Preference, prefer
    from .simulation.simulator import Simulation, plot_users, simulate, simulated_log

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "clicks.cascade_models": ("ClickModel", "cascade_from_clicks", "dbn_from_clicks"),
    "clicks.online_metrics": ("ClickMetrics", "click_metrics", "weighted_correlation"),
    "clicks.plots": ("plot_positions", "plot_relevance"),
    "clicks.position_based": ("PositionModel", "position_model"),
    "clicks.predicted_relevance": ("PredictedRelevance",),
    "logs.adapters": ("chiir24_log", "click_log"),
    "logs.behaviour_plots": ("plot_continuing", "plot_grade_efforts"),
    "logs.calibration": ("Calibration", "Calibrations", "calibrate"),
    "logs.continuation_curves": ("Continuing", "continuing_from_last_clicks", "continuing_from_views"),
    "logs.effort_by_grade": ("GradeEfforts", "grade_efforts"),
    "logs.estimate": ("Estimate",),
    "logs.log": ("InteractionLog",),
    "logs.progress_over_time": ("Progress", "progress", "times_to_ranks"),
    "simulation.expectations": ("expected_saves", "expected_stops"),
    "simulation.preferences": ("Preference", "prefer"),
    "simulation.simulator": ("Simulation", "plot_users", "simulate", "simulated_log"),
}
_LATER = {name: place for place, names in _PLACES.items() for name in names}

__all__ = sorted(_LATER)


def __getattr__(name: str) -> Any:
    """What waits in ``_PLACES``."""
    if name in _LATER:
        found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
