"""Losses of neural rankers for metrics with a user model: weights for LambdaLoss, and a loss for any model in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..data.columns import Array
from ..errors import BadParameter
from ..errors.extras import needed
from ..measures.declarations import metric_of
from ..measures.named import measure_of
from ..model.introspection import reads
from .lambdamart import LambdaMART, is_intent_aware


class LambdaScheme:
    """Weighting scheme of LambdaLoss in sentence-transformers, for any metric whose users read grades alone.

    The weight of a pair of documents is ``|ΔM|``, the change of the metric if the two are swapped in the order that the
    model predicts. The object is the ``weighting_scheme`` of
    ``sentence_transformers.cross_encoder.losses.LambdaLoss``, whose own schemes are all for nDCG.

    LambdaLoss pads the lists of a batch to equal lengths, and padding looks like documents of grade 0. Measures whose
    changes would be other ones with more documents of grade 0 at the end of the list are therefore refused:

    * measures with document lengths, known costs, or efforts of unseen documents that differ from those of grade 0;
    * measures whose users leave at the last document (``end="stop"``), unless further documents without gain change
      nothing, as with ``A="max"``.

    :func:`lambda_loss` has the lists without padding and takes these measures, too.

    Parameters
    ----------
    measure : str or Measure
        A measure that follows a user model.

    Raises
    ------
    BadParameter
        If the measure has no user model, or if its changes would depend on the padding.

    Notes
    -----
    LambdaLoss uses pairs of different grades only, with the higher grade above the lower one, and takes the mean over
    all pairs of a batch. Its arguments ``gain`` and ``discount`` are those of nDCG, and are not used.

    References
    ----------
    Wang et al. (2018), LambdaLoss; Burges (2010), section 7, with ΔM from the equations of each metric.

    Examples
    --------
    >>> LambdaScheme("RR").weights([[0, 2, 1]])[0].tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]
    """

    def __init__(self, measure: Any) -> None:
        self._objective = _objective(measure)
        self.measure = self._objective.measure
        metric = metric_of(self.measure)
        if metric.flat_effort is None:
            raise BadParameter(
                f"{self.measure}: LambdaLoss pads lists with documents of grade 0, so efforts must depend on grades"
                " alone, and be the same for unseen documents and those of grade 0. lambda_loss(measure) takes lengths"
                " and costs."
            )
        if metric.signed and metric.gains(np.zeros(1))[0]:
            raise BadParameter(
                f"{self.measure}: LambdaLoss pads lists with documents of grade 0, which must have gain 0, and"
                f" {metric.gain.keyword} gives them another. Use lambda_loss(measure)."
            )
        constant = metric.constant_without_gain and "expected_effort" not in reads(metric.A)
        if metric.end == "stop" and not constant:
            raise BadParameter(
                f"{self.measure}: all users leave at the last document, and LambdaLoss pads lists with documents of"
                " grade 0. Use lambda_loss(measure), or a measure with end='open' or a rank."
            )

    def weights(self, grades: ArrayLike) -> Array:
        """Return ``|ΔM|`` of all pairs of ranks of each list.

        Parameters
        ----------
        grades : array_like, shape (n_lists, n_ranks)
            Grades in predicted order, padded with 0.

        Returns
        -------
        ndarray, shape (n_lists, n_ranks, n_ranks)
            Symmetric matrices, in float64.

        Raises
        ------
        BadParameter, BadJudgments, NoFiniteValue
            If the measure cannot score the grades.
        """
        grades = np.asarray(grades, float)
        if grades.ndim != 2:
            raise BadParameter(f"grades must have the shape (n_lists, n_ranks), not {grades.shape}.")
        lists, ranks = grades.shape
        in_order = np.tile(-np.arange(ranks), lists)
        return np.abs(np.stack(self._objective.changes(grades.ravel(), in_order, np.full(lists, ranks))))

    def forward(self, gain: Any, discount: Any, true_sorted: Any) -> Any:
        """Return the weights as a tensor, with the signature of the schemes of sentence-transformers.

        Parameters
        ----------
        gain, discount : torch.Tensor
            Gains and discounts of nDCG. Only the type and the device of `gain` are used.
        true_sorted : torch.Tensor, shape (n_lists, n_ranks)
            Grades in predicted order, padded with 0.

        Returns
        -------
        torch.Tensor, shape (n_lists, n_ranks, n_ranks)
        """
        return gain.new_tensor(self.weights(_array(true_sorted)))

    __call__ = forward

    def __repr__(self) -> str:
        return f"LambdaScheme({str(self.measure)!r})"


def lambda_loss(
    measure: Any, *, truncation_level: int = 30, sigmoid: float = 1.0, pairs: str = "all"
) -> Callable[..., Any]:
    """Return a loss function for any model in torch, whose gradients are those of :class:`LambdaMART`.

    The function is called as ``loss(scores, labels, mask=None, *, lengths=None, docno=None)``, with tensors or arrays
    of shape (n_lists, n_documents). `mask` is True for documents and False for padding, `lengths` are numbers of words,
    and `docno` ids of documents, if the measure needs them. It returns
    ``Σ |ΔM_ij|·log(1 + e^{−σ(s_i − s_j)})``, the sum over all pairs in which i should be above j, with ``|ΔM|`` in the
    order of the scores and without a gradient. Divide it by the number of lists for a mean.

    Parameters
    ----------
    measure : str or Measure
        A measure that follows a user model; also one that reads document lengths or known costs.
    truncation_level : int, default=30
        Pairs count if at least one of the two documents is at this rank or above.
    sigmoid : float, default=1
        The steepness σ.
    pairs : {"all", "gain"}, default="all"
        Whether all pairs count, or only those with different gains.

    Returns
    -------
    callable
        The loss function, which can be pickled.

    Raises
    ------
    BadParameter
        If the measure or an option is not suitable.

    References
    ----------
    Burges (2010), section 7, with ΔM from the equations of each metric.
    """
    options = {"truncation_level": truncation_level, "sigmoid": sigmoid, "pairs": pairs}
    return partial(_loss, _objective(measure, **options))


def _loss(
    objective: LambdaMART, scores: Any, labels: Any, mask: Any = None, *, lengths: Any = None, docno: Any = None
) -> Any:
    """Return the loss of padded lists for the weights of an objective."""
    with needed("the loss needs torch", extra="torch"):
        import torch

    there = np.ones(scores.shape, bool) if mask is None else _array(mask).astype(bool)
    weights = padded_weights(objective, scores, labels, there, lengths, docno)
    known = torch.where(torch.as_tensor(there, device=scores.device), scores, 0.0)  # padding may be infinite or NaN
    known = known.to(torch.promote_types(scores.dtype, torch.float32))
    apart = known[:, :, None] - known[:, None, :]
    return -(known.new_tensor(weights) * torch.nn.functional.logsigmoid(objective.sigmoid * apart)).sum()


def padded_weights(
    objective: LambdaMART, scores: Any, labels: Any, mask: Array, lengths: Any = None, docno: Any = None
) -> Array:
    """Return the weights of the pairs of documents of padded lists; those with padding are 0.

    Parameters
    ----------
    objective : LambdaMART
        The objective; its own data of rows are not used.
    scores, labels, lengths, docno : array_like or torch.Tensor, shape (n_lists, n_documents)
        Predictions, grades, and the number of words and the id of each document, if the measure needs them.
    mask : ndarray of bool, shape (n_lists, n_documents)
        True for documents, False for padding.

    Returns
    -------
    ndarray, shape (n_lists, n_documents, n_documents)
        ``|ΔM|`` if the first document of a pair should be above the second, else 0.
    """
    given = {"scores": scores, "labels": labels, "mask": mask, "lengths": lengths, "docno": docno}
    arrays = {name: _array(values) for name, values in given.items() if values is not None}
    for name, values in arrays.items():
        if values.ndim != 2 or values.shape != arrays["scores"].shape:
            raise BadParameter(
                f"{name} must have the shape (n_lists, n_documents) of scores, {arrays['scores'].shape}, not"
                f" {values.shape}."
            )
    rows = {name: values[mask] for name, values in arrays.items()}
    sizes = mask.sum(axis=1)
    bound = objective.bound(doc_length=rows.get("lengths"), docno=rows.get("docno"))
    weights = np.zeros((*mask.shape, mask.shape[1]))
    of_lists = bound.pair_weights(rows["labels"], rows["scores"], sizes[sizes > 0]) if mask.any() else []
    for number, of_list in zip(np.flatnonzero(sizes), of_lists, strict=True):
        at = np.flatnonzero(mask[number])
        weights[number][np.ix_(at, at)] = of_list
    return weights


def _objective(measure: Any, **options: Any) -> LambdaMART:
    found = measure_of(measure)
    if is_intent_aware(found):
        raise BadParameter(f"{found} reads intents, which labels do not have: train with LambdaMART(measure, qrels=…).")
    return LambdaMART(found, **options)


def _array(values: Any) -> Array:
    """Return a tensor, or values that convert to an array, as an array; floats are float64."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.double() if values.is_floating_point() else values).numpy()
    return np.asarray(values)
