"""What a run scores: one value for each measure and judged query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from ir_measures.measures import Measure

from ..data.overlap import Overlap


class Scored(NamedTuple):
    """A run's values by measures [judged queries], in the order of the judgments."""

    run: Any
    """Its name."""
    values: dict[Measure, np.ndarray]
    answered: np.ndarray
    """Which of the judged queries it answers [judged queries]; the others have the value of no document."""
    overlap: Overlap = Overlap()
    """How much of it is judged; nothing is known of runs whose values were kept."""
