"""Measures of ir_measures without a user model, by their names in ir_measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .catalogue import CUTOFF, JUDGED_ONLY, REL_OR_0
from .computing import Needs
from .counting import Count, bpref, inf_ap, judged, num_q, num_rel, num_ret, r_precision
from .diversity import DIVERSITY
from .rank_overlap import COMPAT
from .set_measures import OF_IR_MEASURES


def _neither(given: Mapping[str, Any]) -> None:
    return None


COUNTS = {
    "NumQ": Count(num_q, better=_neither),
    "NumRel": Count(num_rel, (REL_OR_0,), better=_neither),
    "NumRet": Count(num_ret, (REL_OR_0,), better=lambda given: "higher" if "rel" in given else None),
    "Rprec": Count(r_precision, (REL_OR_0, JUDGED_ONLY)),
    "Judged": Count(judged, (CUTOFF,), Needs(all_judged=True), better=_neither),
    "Bpref": Count(bpref, (REL_OR_0,), Needs(all_judged=True)),
    "infAP": Count(inf_ap, (REL_OR_0,), Needs(all_judged=True, pooled=True)),
    "Compat": COMPAT,
    **OF_IR_MEASURES,
    **DIVERSITY,
}
