"""Which metric to trust: robustness, discriminative power, agreement with each other and with users."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .systems.metric_correlations import MetricAgreement, metric_agreement
    from .systems.between_plots import plot_correlations, plot_scatter
    from .correlation import kendall_distance, rbo, tau
    from .users.metric_grid import Grid, continuations, grid
    from .users.dependent_correlations import difference_test, williams_test
    from .fitting.result import Fit
    from .fitting.parameter_fit import fit
    from .fitting.fitting_plots import plot_parameter
    from .incomplete_judgments.missing_judgments import f_qrels
    from .incomplete_judgments.study import grade_weights, robustness, robustness_to_depth
    from .systems.power import Power, discriminative_power
    from .systems.power_plots import plot_levels, plot_power
    from .users.prediction import nrmse
    from .users.ratings import Rated
    from .users.datasets import chiir24_ratings, jiang_ratings
    from .incomplete_judgments.leave_group_out import GroupsLeftOut, groups_left_out, plot_falls
    from .incomplete_judgments.result import Robustness
    from .incomplete_judgments.plots import plot_accuracy, plot_differences, plot_g_mean, plot_order
    from .users.sensitivity_plots import plot_change, plot_sensitivity
    from .users.splits_plots import plot_splits
    from .users.subgroups import Splits, splits
    from .study import Picture, Study, Table
    from .users.study import user_agreement
    from .users.plots import plot_agreement, plot_bands, plot_cells
    from .users.result import UserAgreement
    from .users.parameter_sweep import Sensitivity, sensitivity
    from .users.virtual_pairs import VirtualSystems, virtual_systems
    from .users.virtual_plots import plot_virtual_systems

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "systems.metric_correlations": ("MetricAgreement", "metric_agreement"),
    "systems.between_plots": ("plot_correlations", "plot_scatter"),
    "correlation": ("kendall_distance", "rbo", "tau"),
    "users.metric_grid": ("Grid", "continuations", "grid"),
    "users.dependent_correlations": ("difference_test", "williams_test"),
    "fitting.result": ("Fit",),
    "fitting.parameter_fit": ("fit",),
    "fitting.fitting_plots": ("plot_parameter",),
    "incomplete_judgments.missing_judgments": ("f_qrels",),
    "systems.power": ("Power", "discriminative_power"),
    "systems.power_plots": ("plot_levels", "plot_power"),
    "users.prediction": ("nrmse",),
    "users.ratings": ("Rated",),
    "users.datasets": ("chiir24_ratings", "jiang_ratings"),
    "incomplete_judgments.leave_group_out": ("GroupsLeftOut", "plot_falls", "groups_left_out"),
    "incomplete_judgments.result": ("Robustness",),
    "incomplete_judgments.study": ("grade_weights", "robustness", "robustness_to_depth"),
    "incomplete_judgments.plots": ("plot_accuracy", "plot_differences", "plot_g_mean", "plot_order"),
    "users.sensitivity_plots": ("plot_change", "plot_sensitivity"),
    "users.splits_plots": ("plot_splits",),
    "users.subgroups": ("Splits", "splits"),
    "study": ("Picture", "Study", "Table"),
    "users.study": ("user_agreement",),
    "users.plots": ("plot_agreement", "plot_bands", "plot_cells"),
    "users.result": ("UserAgreement",),
    "users.parameter_sweep": ("Sensitivity", "sensitivity"),
    "users.virtual_pairs": ("VirtualSystems", "virtual_systems"),
    "users.virtual_plots": ("plot_virtual_systems",),
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
