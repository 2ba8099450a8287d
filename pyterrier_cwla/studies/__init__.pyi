from . import fitting as fitting, incomplete_judgments as incomplete_judgments, systems as systems, users as users
from .correlation import kendall_distance as kendall_distance, rbo as rbo, tau as tau
from .fitting.discount_fit import (
    fit_discount as fit_discount,
    DiscountFit as DiscountFit,
    plot_discount as plot_discount,
)
from .fitting.parameter_fit import fit as fit, Fit as Fit, plot_parameter as plot_parameter
from .incomplete_judgments.judging_order import (
    NextJudgments as NextJudgments,
    next_judgments as next_judgments,
    plot_possible_changes as plot_possible_changes,
    SimulatedJudging as SimulatedJudging,
    plot_judging as plot_judging,
    simulated_judging as simulated_judging,
)
from .incomplete_judgments.robustness_study import (
    GroupsLeftOut as GroupsLeftOut,
    groups_left_out as groups_left_out,
    plot_falls as plot_falls,
    grade_weights as grade_weights,
    robustness as robustness,
    robustness_to_depth as robustness_to_depth,
)
from .incomplete_judgments.missing_judgments import f_qrels as f_qrels
from .incomplete_judgments.robustness_result import (
    plot_accuracy as plot_accuracy,
    plot_differences as plot_differences,
    plot_g_mean as plot_g_mean,
    plot_order as plot_order,
    Robustness as Robustness,
)
from .report import Finding as Finding, Picture as Picture, Table as Table, Study as Study
from .systems.machine_judges import (
    JudgeAgreement as JudgeAgreement,
    judge_agreement as judge_agreement,
    plot_calibration as plot_calibration,
    plot_confusion as plot_confusion,
    plot_favoured as plot_favoured,
    plot_judges as plot_judges,
)
from .systems.metric_correlations import (
    MetricAgreement as MetricAgreement,
    metric_agreement as metric_agreement,
    plot_correlations as plot_correlations,
    plot_scatter as plot_scatter,
)
from .systems.power import (
    Power as Power,
    discriminative_power as discriminative_power,
    plot_levels as plot_levels,
    plot_power as plot_power,
)
from .users.published_studies import (
    chiir24_ratings as chiir24_ratings,
    jiang_ratings as jiang_ratings,
    tiangong_ratings as tiangong_ratings,
    Grid as Grid,
    continuations as continuations,
    grid as grid,
)
from .users.rating_correlations import (
    difference_test as difference_test,
    williams_test as williams_test,
    nrmse as nrmse,
)
from .users.agreement_variation import (
    Sensitivity as Sensitivity,
    plot_change as plot_change,
    plot_sensitivity as plot_sensitivity,
    sensitivity as sensitivity,
    Splits as Splits,
    plot_splits as plot_splits,
    splits as splits,
)
from .users.agreement_study import (
    plot_agreement as plot_agreement,
    plot_bands as plot_bands,
    plot_cells as plot_cells,
    UserAgreement as UserAgreement,
    user_agreement as user_agreement,
)
from .users.ratings import Rated as Rated
from .users.virtual_pairs import (
    VirtualSystems as VirtualSystems,
    plot_virtual_systems as plot_virtual_systems,
    virtual_systems as virtual_systems,
)
