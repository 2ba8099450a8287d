from .labels import labelled as labelled
from .named import CWLA as CWLA, TBG as TBG
from .provider import CWLAProvider as CWLAProvider
from .sessions import (
    SessionCWLA as SessionCWLA,
    esNDCG as esNDCG,
    evaluate_sessions as evaluate_sessions,
    nsDCG as nsDCG,
    sDCG as sDCG,
)
from .wrappers import MEASURES as MEASURES, Residual as Residual
