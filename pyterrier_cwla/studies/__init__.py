"""Which metric to trust: robustness, discriminative power, agreement with each other and with users."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .between import MetricAgreement, metric_agreement
    from .between_plots import plot_correlations, plot_scatter
    from .correlation import kendall_distance, rbo, tau
    from .crossing import Grid, continuations, grid
    from .dependent import difference_test, williams_test
    from .fitted import Fit
    from .fitting import fit
    from .fitting_plots import plot_parameter
    from .holes import f_qrels
    from .incomplete import grade_weights, robustness, robustness_to_depth
    from .power import Power, discriminative_power
    from .power_plots import plot_levels, plot_power
    from .prediction import nrmse
    from .rated import Rated
    from .rated_data import chiir24_ratings, jiang_ratings
    from .robust_groups import GroupsLeftOut, groups_left_out, plot_falls
    from .robust_result import Robustness
    from .robustness_plots import plot_accuracy, plot_differences, plot_g_mean, plot_order
    from .sensitivity_plots import plot_change, plot_sensitivity
    from .splits_plots import plot_splits
    from .splitting import Splits, splits
    from .study import Picture, Study, Table
    from .users import user_agreement
    from .users_plots import plot_agreement, plot_bands, plot_cells
    from .users_study import UserAgreement
    from .varying import Sensitivity, sensitivity
    from .virtual import VirtualSystems, virtual_systems
    from .virtual_plots import plot_virtual_systems

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "between": ("MetricAgreement", "metric_agreement"),
    "between_plots": ("plot_correlations", "plot_scatter"),
    "correlation": ("kendall_distance", "rbo", "tau"),
    "crossing": ("Grid", "continuations", "grid"),
    "dependent": ("difference_test", "williams_test"),
    "fitted": ("Fit",),
    "fitting": ("fit",),
    "fitting_plots": ("plot_parameter",),
    "holes": ("f_qrels",),
    "power": ("Power", "discriminative_power"),
    "power_plots": ("plot_levels", "plot_power"),
    "prediction": ("nrmse",),
    "rated": ("Rated",),
    "rated_data": ("chiir24_ratings", "jiang_ratings"),
    "robust_groups": ("GroupsLeftOut", "plot_falls", "groups_left_out"),
    "robust_result": ("Robustness",),
    "incomplete": ("grade_weights", "robustness", "robustness_to_depth"),
    "robustness_plots": ("plot_accuracy", "plot_differences", "plot_g_mean", "plot_order"),
    "sensitivity_plots": ("plot_change", "plot_sensitivity"),
    "splits_plots": ("plot_splits",),
    "splitting": ("Splits", "splits"),
    "study": ("Picture", "Study", "Table"),
    "users": ("user_agreement",),
    "users_plots": ("plot_agreement", "plot_bands", "plot_cells"),
    "users_study": ("UserAgreement",),
    "varying": ("Sensitivity", "sensitivity"),
    "virtual": ("VirtualSystems", "virtual_systems"),
    "virtual_plots": ("plot_virtual_systems",),
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
