"""
Compare all pairs of systems
============================

With ``pairs=True``, each pair of systems is compared. Tukey's HSD corrects for all pairs. The heat map shows the
differences, with numbers where they are significant.
"""

from pyterrier_cwla import compare, demo

made = demo.collection()
runs = {name: system(made.topics) for name, system in demo.systems(made).items()}
compared = compare(made.qrels, runs, ["nDCG@10"], pairs=True, test="tukey")
compared.plot_pairs()

# %%
# Topics that the first system of each pair wins, ties and loses:

compared.plot_wins()
