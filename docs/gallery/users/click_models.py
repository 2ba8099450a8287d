"""
What clicks say about ranks and documents
=========================================

A position-based click model separates two reasons for a click: the user examined the rank, and the document was
attractive. The first is compared with the share of users that measures expect at each rank. The log here is generated;
:doc:`/logs` describes the format of yours.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.behaviour import dbn_from_clicks, plot_positions, plot_relevance, position_model

log = demo.clicks(sessions=1000)
plot_positions(position_model(log), ["RBP(rel=1,p=0.8)", "nDCG@10"], depth=10)

# %%
# A dynamic Bayesian network also separates clicks from satisfaction, and predicts the relevance of documents:

plot_relevance(dbn_from_clicks(log))
