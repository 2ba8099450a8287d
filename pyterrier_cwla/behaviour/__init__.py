"""From behaviour to numbers and back: what logs say of users, and what users of a metric would live through."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters import chiir24_log, click_log
    from .behaviour_plots import plot_continuing, plot_grade_efforts, plot_positions, plot_relevance
    from .by_grade import GradeEfforts, grade_efforts
    from .calibration import Calibration, Calibrations, calibrate
    from .cascade import ClickModel, cascade_from_clicks, dbn_from_clicks
    from .click_relevance import PredictedRelevance
    from .clicks import ClickMetrics, click_metrics, weighted_correlation
    from .continuing import Continuing, continuing_from_last_clicks, continuing_from_views
    from .estimates import Estimate
    from .exact import expected_saves, expected_stops
    from .log import InteractionLog
    from .over_time import Progress, progress, times_to_ranks
    from .position import PositionModel, position_model
    from .preference import Preference, prefer
    from .simulation import Simulation, simulate, simulated_log
    from .simulation_plots import plot_users

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "adapters": ("chiir24_log", "click_log"),
    "behaviour_plots": ("plot_continuing", "plot_grade_efforts", "plot_positions", "plot_relevance"),
    "by_grade": ("GradeEfforts", "grade_efforts"),
    "calibration": ("Calibration", "Calibrations", "calibrate"),
    "cascade": ("ClickModel", "cascade_from_clicks", "dbn_from_clicks"),
    "click_relevance": ("PredictedRelevance",),
    "clicks": ("ClickMetrics", "click_metrics", "weighted_correlation"),
    "continuing": ("Continuing", "continuing_from_last_clicks", "continuing_from_views"),
    "estimates": ("Estimate",),
    "exact": ("expected_saves", "expected_stops"),
    "log": ("InteractionLog",),
    "over_time": ("Progress", "progress", "times_to_ranks"),
    "position": ("PositionModel", "position_model"),
    "preference": ("Preference", "prefer"),
    "simulation": ("Simulation", "simulate", "simulated_log"),
    "simulation_plots": ("plot_users",),
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
