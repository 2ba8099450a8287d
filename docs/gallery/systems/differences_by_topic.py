"""
On which topics do two systems differ?
======================================

A difference of means is a mean of differences by topic. This picture shows all topics, sorted, and how many of them
each system wins.
"""

from pyterrier_cwla import compare, demo

made = demo.collection()
runs = {name: system(made.topics) for name, system in demo.systems(made).items()}
compared = compare(made.qrels, runs, ["nDCG@10"], baseline="BM25")
compared.plot_topics("BM25, length ignored", "BM25", topics=made.topics)
