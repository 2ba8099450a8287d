"""Which metric to trust: robustness, discriminative power, agreement with each other and with users."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .correlation import kendall_distance, rbo, tau
    from .fitting.parameter_fit import fit
    from .fitting.result import Fit, plot_parameter
    from .incomplete_judgments.leave_group_out import GroupsLeftOut, groups_left_out, plot_falls
    from .incomplete_judgments.missing_judgments import f_qrels
    from .incomplete_judgments.plots import plot_accuracy, plot_differences, plot_g_mean, plot_order
    from .incomplete_judgments.result import Robustness
    from .incomplete_judgments.study import grade_weights, robustness, robustness_to_depth
    from .study import Picture, Study, Table
    from .systems.metric_correlations import MetricAgreement, metric_agreement, plot_correlations, plot_scatter
    from .systems.power import Power, discriminative_power, plot_levels, plot_power
    from .users.datasets import chiir24_ratings, jiang_ratings
    from .users.dependent_correlations import difference_test, williams_test
    from .users.metric_grid import Grid, continuations, grid
    from .users.parameter_sweep import Sensitivity, plot_change, plot_sensitivity, sensitivity
    from .users.plots import plot_agreement, plot_bands, plot_cells
    from .users.prediction import nrmse
    from .users.ratings import Rated
    from .users.result import UserAgreement
    from .users.study import user_agreement
    from .users.subgroups import Splits, plot_splits, splits
    from .users.virtual_pairs import VirtualSystems, plot_virtual_systems, virtual_systems

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "correlation": ("kendall_distance", "rbo", "tau"),
    "fitting.parameter_fit": ("fit",),
    "fitting.result": ("Fit", "plot_parameter"),
    "incomplete_judgments.leave_group_out": ("GroupsLeftOut", "groups_left_out", "plot_falls"),
    "incomplete_judgments.missing_judgments": ("f_qrels",),
    "incomplete_judgments.plots": ("plot_accuracy", "plot_differences", "plot_g_mean", "plot_order"),
    "incomplete_judgments.result": ("Robustness",),
    "incomplete_judgments.study": ("grade_weights", "robustness", "robustness_to_depth"),
    "study": ("Picture", "Study", "Table"),
    "systems.metric_correlations": ("MetricAgreement", "metric_agreement", "plot_correlations", "plot_scatter"),
    "systems.power": ("Power", "discriminative_power", "plot_levels", "plot_power"),
    "users.datasets": ("chiir24_ratings", "jiang_ratings"),
    "users.dependent_correlations": ("difference_test", "williams_test"),
    "users.metric_grid": ("Grid", "continuations", "grid"),
    "users.parameter_sweep": ("Sensitivity", "plot_change", "plot_sensitivity", "sensitivity"),
    "users.plots": ("plot_agreement", "plot_bands", "plot_cells"),
    "users.prediction": ("nrmse",),
    "users.ratings": ("Rated",),
    "users.result": ("UserAgreement",),
    "users.study": ("user_agreement",),
    "users.subgroups": ("Splits", "plot_splits", "splits"),
    "users.virtual_pairs": ("VirtualSystems", "plot_virtual_systems", "virtual_systems"),
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
