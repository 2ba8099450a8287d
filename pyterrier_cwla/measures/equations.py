"""Full names and formulas of measures, and how notebooks show them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Floats
from ..errors import CWLAError
from ..errors.sanitise import harmless
from ..model import scoring
from ..model.language import Spec
from ..model.metric import Metric
from ..rendering.figures import COLOURS, notebook_formula, notebook_picture, small_axes
from .catalogue import Row
from .computing import Declaration, Equation
from .declarations import declaration_of, metric_of, row_of

_REL = r"$b_i$ is 1 if the document at rank $i$ is relevant (grade $g_i \ge$ ``rel``), else 0"
_R = r"$R$ is the number of relevant documents of the query, retrieved or not"
_E = "$e_i$ is the effort of the document at rank $i$ (``effort=``)"
_GAIN = "$r_i$ is the gain of the document at rank $i$ (``gain=``)"
_SCALED = (
    r"$r_i = (g_i - g_{min}) / (g_{max} - g_{min})$ is the gain of the grade $g_i$ at rank $i$, and 0 for lower grades;"
    r" $g_{min}$ and $g_{max}$ are ``min_rel`` and ``max_rel``"
)
_NOVEL = (
    r"$N_t(i)$ is $(1 - \alpha)^m$ if the document at rank $i$ is relevant to intent $t$, $m$ the number of such"
    r" documents above it, else 0; $T$ is the number of intents with a relevant document; $\alpha$ is the intolerance"
    r" of redundancy (``alpha``)"
)
_A = "$a$ is the number of relevant documents that are retrieved"
_N = "$n$ is the number of retrieved documents"
_RETRIEVED = "$n$ is the number of retrieved documents, or ``cutoff`` if that is smaller"
_SATISFIED = r"is the probability that the grade at rank $i$ satisfies the user"
_NERR_WHERE = "$V(i)$ is the share of users who see rank $i$; {}; {}. The sums are over 1000 ranks."
_NERR = r"\text{{{}}} &= \frac{{\sum_i V(i)\,r_i}}{{\sum_i V(i)}} \\ V(i) &= {}\prod_{{j<i}} (1 - r_j){}"
_IFT = r"\text{{{}}} &= \frac{{\sum_i V(i)\,r_i}}{{\sum_i V(i)\,e_i}}, \quad V(i) = \prod_{{j<i}} {} \\ "
_GOAL = r"C_1(j) &= 1 - \frac{1}{1 + b_1\,e^{(T - G(j))\,R_1}}"
_RATE = r"C_2(j) &= \frac{1}{1 + b_2\,e^{(A - G(j)/E(j))\,R_2}}"
_IFT_WHERE = (
    f"$V(i)$ is the share of users who see rank $i$; {_GAIN}; {_E}; $G(j)$ and $E(j)$ are the gain and the"
    " effort of ranks 1 to $j$"
)
_LEAVE = (
    r"$L(i) = (1 - C(i)) \prod_{j<i} C(j)$ is the share of users who leave at rank $i$ (``C=``);"
    " $r_i$ is the gain of the document at rank $i$ (``gain=``)"
)

#: Full names and usual formulas of measures, by name; the others are in the declarations of their measures.
EQUATIONS = {
    "CWLA": Equation(
        "any user model with any aggregation (C/W/L/A)",
        r"M &= \frac{1}{N} \sum_{i \ge 1} L(i)\,A(i) \\ L(i) &= (1 - C(i)) \prod_{j<i} C(j)",
        "$C(i)$ is the probability of continuing after rank $i$ (``C=``), $L(i)$ the share of users who leave at rank"
        " $i$, $A(i)$ the value for these users (``A=``), and $N$ the normaliser (``norm=``, by default 1)",
    ),
    "TBG": Equation(
        "time-biased gain",
        r"\text{TBG} &= \frac{1}{N} \sum_{k \ge 1} g_k\,D(T(k)), \quad D(t) = 2^{-t/h} \\"
        r" T(k) &= \sum_{j<k} \left( T_S + P(C{=}1 \mid R{=}r_j)\,(a\,l_j + b) \right)",
        r"$g_k = P(C{=}1 \mid R{=}1)\,P(S{=}1 \mid R{=}1)$ if the document at rank $k$ is relevant, else 0; $D(t)$ is"
        " the share of users who are still there after $t$ seconds, with half-life $h$; $T(k)$ is the time until rank"
        " $k$; $T_S$ is the time to read a summary; $l_j$ is the length of the document at rank $j$ in words, and"
        r" $a\,l_j + b$ the time to read it; $N$ is the normaliser (``norm=``, by default 1)",
    ),
    "GradedTBG": Equation(
        "time-biased gain with grades",
        r"\text{TBG} &= \frac{1}{N} \sum_{k \ge 1} P(C \mid g_k)\,P(S \mid g_k)\,2^{-T(k)/h} \\"
        r" T(k) &= \sum_{j<k} \left( T_S + P(C \mid g_j)\,s(g_j) \right)",
        r"$g_k$ is the grade at rank $k$; $P(C \mid g)$ and $P(S \mid g)$ are the probabilities of a click on a"
        " document of this grade, and of saving it then (``p_click``, ``p_save``); $s(g)$ is the time to read it"
        " (``seconds``); $T_S$ is the time to read a summary; $h$ is the half-life; $N$ is the normaliser (``norm=``,"
        " by default 1)",
    ),
    "UMeasure": Equation(
        "U-measure",
        r"U = \frac{1}{N} \sum_{i \ge 1} r_i\,\max\left(0,\, 1 - \frac{E(i)}{T}\right), \quad"
        r" E(i) = \sum_{j \le i} e_j",
        f"{_GAIN}; $E(i)$ is the effort up to the end of this document (``effort=``), $T$ the effort after which all"
        " users have left, and $N$ the normaliser (``norm=``, by default 1)",
    ),
    "AdaptiveP": Equation(
        "precision with adaptive effort",
        r"\text{AdaptiveP@}k = \frac{\sum_{i=1}^{m} b_i}{\sum_{i=1}^{m} e_i}",
        f"{_REL}; {_E}; $m$ is $k$, or the number of retrieved documents if that is smaller",
    ),
    "AdaptiveGP": Equation(
        "graded precision with adaptive effort",
        r"\text{AdaptiveGP@}k = \frac{\sum_{i=1}^{m} r_i}{\sum_{i=1}^{m} e_i}",
        f"{_GAIN}; {_E}; $m$ is $k$, or the number of retrieved documents if that is smaller",
    ),
    "AdaptiveAP": Equation(
        "average precision with adaptive effort",
        r"\text{AdaptiveAP} = \frac{1}{R} \sum_{k=1}^{n} b_k\,\frac{\sum_{i=1}^{k} b_i}{\sum_{i=1}^{k} e_i}",
        f"{_REL}; {_E}; {_R}; {_RETRIEVED}",
    ),
    "AdaptiveGAP": Equation(
        "graded average precision with adaptive effort",
        r"\text{AdaptiveGAP} = \frac{1}{\sum_d r_d} \sum_{k=1}^{n} b_k\,\frac{\sum_{i=1}^{k} r_i}{\sum_{i=1}^{k} e_i}",
        rf"$b_k$ is 1 if the grade at rank $k$ is at least 1, else 0; {_GAIN}; {_E}; $\sum_d r_d$ is the gain of all"
        f" judged documents of the query; {_RETRIEVED}",
    ),
    "AdaptiveRBP": Equation(
        "rank-biased precision with adaptive effort",
        r"\text{AdaptiveRBP} = \frac{\sum_{i=1}^{n} p^{i-1}\,b_i}{\sum_{i=1}^{n} p^{i-1}\,e_i}",
        f"{_REL}; {_E}; $p$ is the probability of going on to the next document; {_RETRIEVED}",
    ),
    "AdaptiveGRBP": Equation(
        "graded rank-biased precision with adaptive effort",
        r"\text{AdaptiveGRBP} = \frac{\sum_{i=1}^{n} p^{i-1}\,r_i}{\sum_{i=1}^{n} p^{i-1}\,e_i}",
        f"{_GAIN}; {_E}; $p$ is the probability of going on to the next document; {_RETRIEVED}",
    ),
    "AdaptiveRR": Equation(
        "reciprocal rank with adaptive effort",
        r"\text{AdaptiveRR} = \frac{1}{\sum_{i=1}^{k_1} e_i}",
        f"$k_1$ is the rank of the first relevant document; {_E}. Without a relevant document the score is 0.",
    ),
    "AdaptiveERR": Equation(
        "expected reciprocal rank with adaptive effort",
        r"\text{AdaptiveERR} = \sum_{k=1}^{n} \frac{1}{\sum_{i=1}^{k} e_i}\,R_k \prod_{i<k} (1 - R_i), \quad"
        r" R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}",
        f"$R_i$ {_SATISFIED}; $g_{{max}}$ is ``max_rel``; {_E}; {_RETRIEVED}",
    ),
    "AdaptiveDCG": Equation(
        "discounted cumulative gain with adaptive effort",
        r"\text{AdaptiveDCG} = \frac{\sum_{i=1}^{n} (2^{g_i} - 1) / \log_2(i+1)}{\sum_{i=1}^{n} e_i / \log_2(i+1)}",
        f"$g_i$ is the grade at rank $i$; {_E}; {_RETRIEVED}",
    ),
    "AdaptivenDCG": Equation(
        "normalised discounted cumulative gain with adaptive effort",
        r"\text{AdaptivenDCG} = \frac{\text{DCG}}{\text{IDCG}}, \quad \text{DCG} ="
        r" \frac{\sum_{i=1}^{n} (2^{g_i} - 1) / \log_2(i+1)}{\sum_{i=1}^{n} e_i / \log_2(i+1)}",
        "IDCG is the DCG of the ideal ranking: all judged documents in descending order of grade; $g_i$ is the grade"
        f" at rank $i$; {_E}; $n$ is the number of documents of the ranking, or ``cutoff`` if that is smaller",
    ),
    "Cascade": Equation(
        "cascade model with abandonment",
        r"\text{Cascade} = \sum_{i=1}^{n} \varphi(i)\,\gamma^{i-1}\,R_i \prod_{j<i} (1 - R_j)",
        r"$R_i$ is the probability that the document at rank $i$ satisfies the user (``gain=``), $\gamma$ the"
        r" probability that a user who is not satisfied goes on (``gamma``), and $\varphi(i)$ the value of being"
        f" satisfied at rank $i$ (``phi``, by default $1/i$); {_RETRIEVED}",
    ),
    "DynamicBPM": Equation(
        "dynamic Bejeweled player model",
        r"\text{BPM} &= \frac{G(s)}{E(s)}, \quad s = \min\{\, i : G(i) \ge T_i \text{ or } E(i) \ge K_i \,\} \\"
        r" T_i &= T + h_b \sum_{j<i} (r_j - m), \quad K_i = K + h_c \sum_{j<i} (r_j - m)",
        r"$G(i) = \sum_{j \le i} r_j$ is the gain (``gain=``) and $E(i) = \sum_{j \le i} e_j$ the effort"
        " (``effort=``) of ranks 1 to $i$; users leave at rank $s$, where the gain reaches the target $T_i$ or the"
        " effort reaches the budget $K_i$; gains above $m$ raise both limits",
    ),
    "IFTGoal": Equation(
        "information foraging with a goal",
        _IFT.format("IFTGoal", "C_1(j)") + _GOAL,
        f"{_IFT_WHERE}; $C_1(j)$ is the probability of continuing after rank $j$; $T$ is the goal",
    ),
    "IFTRate": Equation(
        "information foraging with a rate of gain",
        _IFT.format("IFTRate", "C_2(j)") + _RATE,
        f"{_IFT_WHERE}; $C_2(j)$ is the probability of continuing after rank $j$; $A$ is the rate of gain that users"
        " expect",
    ),
    "IFT": Equation(
        "information foraging with a goal and a rate of gain",
        _IFT.format("IFT", r"C_1(j)\,C_2(j)") + _GOAL + r", \quad " + _RATE.replace("&", ""),
        rf"{_IFT_WHERE}; $C_1(j)\,C_2(j)$ is the probability of continuing after rank $j$; $T$ is the goal, and $A$"
        " the rate of gain that users expect",
    ),
    "ExpectedUtility": Equation("expected utility, Carterette's model 1", r"M = \sum_{i \ge 1} L(i)\,r_i", _LEAVE),
    "ExpectedTotalUtility": Equation(
        "expected total utility, Carterette's model 2", r"M = \sum_{i \ge 1} L(i) \sum_{j \le i} r_j", _LEAVE
    ),
    "ExpectedEffort": Equation(
        "expected effort, Carterette's model 3",
        r"M = \sum_{i \ge 1} \frac{1}{i}\,\theta\,b_i\,(1 - \theta)^{B(i-1)}, \quad B(i) = \sum_{j \le i} b_j",
        rf"{_REL}; $\theta$ is the probability that a relevant document satisfies the user (``theta``)",
    ),
    "ExpectedAverageUtility": Equation(
        "expected average utility, Carterette's model 4",
        r"M = \sum_{i \ge 1} L(i)\,\frac{1}{i} \sum_{j \le i} r_j",
        _LEAVE,
    ),
    "SET": Equation(
        "search economic theory",
        r"\text{SET@}k = \frac{\sum_{i=1}^{k} w(i)\,r_i}{\sum_{i=1}^{k} w(i)\,e_i}, \quad"
        r" w(i) = (i + 1)^\beta - i^\beta",
        rf"$w(i)$ is the worth of the document at rank $i$ relative to others; $\beta$ is the exponent (``beta``);"
        rf" {_GAIN}; {_E}",
    ),
    "TrAP": Equation(
        "average precision over retrieved relevant documents",
        r"\text{TrAP} = \frac{1}{R_n} \sum_{k=1}^{n} b_k\,P(k), \quad P(k) = \frac{1}{k} \sum_{i=1}^{k} b_i,"
        r" \quad R_n = \sum_{i=1}^{n} b_i",
        f"$P(k)$ is the precision at rank $k$; {_REL}; {_RETRIEVED}; $R_n$ is the number of relevant documents that are"
        " retrieved",
    ),
    "SetP": Equation(
        "set precision",
        r"\text{SetP} = \frac{a}{n}",
        f"{_A}; {_N}; with ``relative``, $n$ is at most the number of relevant documents",
    ),
    "SetR": Equation("set recall", r"\text{SetR} = \frac{a}{R}", f"{_A}; {_R}"),
    "SetF": Equation(
        "set F measure",
        r"\text{SetF} = \frac{(\beta + 1)\,P\,S}{S + \beta\,P}, \quad P = \frac{a}{n}, \quad S = \frac{a}{R}",
        rf"{_A}; {_N}; {_R}; $\beta$ is the weight of the recall $S$ (``beta``)",
    ),
    "SetAP": Equation("set average precision", r"\text{SetAP} = \frac{a}{n} \cdot \frac{a}{R}", f"{_A}; {_N}; {_R}"),
    "IPrec": Equation(
        "interpolated precision",
        r"\text{IPrec@}\rho = \max_{j \ge c} \frac{j}{k_j}, \quad c = \lfloor \rho R + 0.9 \rfloor",
        rf"$\rho$ is the recall (``recall``); $k_j$ is the rank of the $j$-th relevant document; the value is 0 if"
        rf" fewer than $c$ are retrieved; {_R}",
    ),
    "Accuracy": Equation(
        "ranked pairs",
        r"\text{Accuracy} = 1 - \frac{1}{a\,(n - a)} \sum_{k=1}^{n} b_k\,m_k",
        f"{_A}; {_RETRIEVED}; {_REL}; $m_k$ is the number of documents above rank $k$ that are not relevant",
    ),
    "alpha_DCG": Equation(
        "alpha-DCG",
        r"\alpha\text{-DCG@}k = \frac{1}{Z} \sum_{i=1}^{k} \frac{\sum_t N_t(i)}{\log_2 (i + 1)}, \quad"
        r" Z = T \sum_{i=1}^{k} \frac{(1 - \alpha)^{i-1}}{\log_2 (i + 1)}",
        f"{_NOVEL}; $Z$ is 1 for $k = 1$",
    ),
    "alpha_nDCG": Equation(
        "alpha-nDCG",
        r"\alpha\text{-nDCG@}k = \frac{D}{D^*}, \quad D = \sum_{i=1}^{k} \frac{\sum_t N_t(i)}{\log_2 (i + 1)}",
        f"{_NOVEL}; $D^*$ is $D$ of the greedy ideal ranking",
    ),
    "ERR_IA": Equation(
        "intent-aware expected reciprocal rank",
        r"\text{ERR-IA@}k = \frac{1}{Z} \sum_{i=1}^{k} \frac{1}{i} \sum_t N_t(i), \quad"
        r" Z = T \sum_{i=1}^{k} \frac{1}{i\,2^{i-1}}",
        rf"{_NOVEL}; $\alpha$ is 1/2; $Z$ is 1 for $k = 1$",
    ),
    "nERR_IA": Equation(
        "normalised intent-aware expected reciprocal rank",
        r"\text{nERR-IA@}k = \frac{E}{E^*}, \quad E = \sum_{i=1}^{k} \frac{1}{i} \sum_t N_t(i)",
        rf"{_NOVEL}; $\alpha$ is 1/2; $E^*$ is $E$ of the greedy ideal ranking",
    ),
    "NRBP": Equation(
        "novelty- and rank-biased precision",
        r"\text{NRBP} = \frac{1 - (1 - \alpha)\beta}{T} \sum_{i=1}^{n} \beta^{i-1} \sum_t N_t(i)",
        rf"{_NOVEL}; $\beta$ is the persistence (``beta``); {_N}",
    ),
    "nNRBP": Equation(
        "normalised novelty- and rank-biased precision",
        r"\text{nNRBP} = \frac{B}{B^*}, \quad B = \sum_{i=1}^{n} \beta^{i-1} \sum_t N_t(i)",
        rf"{_NOVEL}; $\beta$ is the persistence (``beta``); {_N}; $B^*$ is $B$ of the greedy ideal ranking",
    ),
    "AP_IA": Equation(
        "intent-aware average precision",
        r"\text{AP-IA} = \frac{1}{T} \sum_t \text{AP}_t",
        r"$\text{AP}_t$ is the average precision with the judgments of intent $t$; $T$ is the number of intents with a"
        r" relevant document",
    ),
    "P_IA": Equation(
        "intent-aware precision",
        r"\text{P-IA@}k = \frac{1}{T} \sum_t \text{P@}k_t",
        r"$\text{P@}k_t$ is the precision with the judgments of intent $t$; $T$ is the number of intents with a"
        r" relevant document",
    ),
    "StRecall": Equation(
        "subtopic recall",
        r"\text{StRecall@}k = \frac{c}{T}",
        "$c$ is the number of intents with a relevant document among the first $k$; $T$ is the number of intents with a"
        " relevant document",
    ),
    "AP11pt": Equation(
        "11-point interpolated average precision",
        r"\text{AP11pt} = \frac{1}{11} \sum_{\rho \in \{0, 0.1, \ldots, 1\}} \text{IPrec}(\rho)",
        r"$\rho$ is the recall, and $\text{IPrec}(\rho)$ the interpolated precision, the measure ``IPrec``",
    ),
    "SetUtility": Equation(
        "utility of the retrieved set",
        r"U = w\,a - o\,b - m\,c + s\,d",
        "$a$ and $b$ are the numbers of relevant and of other documents that are retrieved, and $c$ and $d$ those that"
        " are not; $w$, $o$, $m$ and $s$ are ``relevant``, ``other``, ``missed`` and ``spared``; for $d$, the number of"
        " documents in the collection is needed (``documents``)",
    ),
    "ESL": Equation(
        "expected search length",
        r"\text{ESL} = j + i\,\frac{s}{r + 1}, \quad s = K - r_{\text{above}}",
        r"The documents are in groups of one score. In the group that contains the $K$-th relevant document"
        r" (``wanted``), $r$ are relevant and $i$ are not; $r_{\text{above}}$ and $j$ are these numbers in all groups"
        r" above. If there is no $K$-th one, the value is the larger of ``failed`` and the number of retrieved"
        r" non-relevant documents",
    ),
    "QMeasure": Equation(
        "Q-measure",
        r"Q = \frac{1}{\min(k, R)} \sum_{i=1}^{n} b_i\,\frac{B(i) + \beta\,cg(i)}{i + \beta\,cg^*(i)}, \quad"
        r" B(i) = \sum_{j \le i} b_j",
        rf"{_REL}; {_R}; $k$ is ``cutoff``; without it, and with ``normalise='R'``, the divisor is $R$; $cg(i)$ is"
        rf" the sum of the gains at ranks 1 to $i$ (``gain=``), and $cg^*(i)$ that sum for the ideal ranking; $\beta$"
        rf" weights gains against counts (``beta``); {_RETRIEVED}",
    ),
    "Residual": Equation(
        "how much unjudged documents could raise a score",
        r"\text{Residual} = M^+ - M",
        "$M$ is the score of the measure (``measure=``), and $M^+$ its score if all unjudged and all unseen documents"
        " had the best gain",
    ),
    "GeometricMean": Equation(
        "geometric mean over queries (GMAP)",
        r"\text{GM} = \exp\left( \frac{1}{|Q|} \sum_{q \in Q} \ln \max(M_q, \varepsilon) \right)",
        r"$M_q$ is the score of query $q$ (``measure=``), $Q$ is the set of queries, and $\varepsilon$ replaces lower"
        " scores (``floor``)",
    ),
    "IntentAware": Equation(
        "expected score over intents",
        r"M_{\text{IA}} = \sum_t P(t \mid q)\,M_t",
        r"$P(t \mid q)$ is the probability of intent $t$ of query $q$ (``weights=``), and $M_t$ the score with the"
        " judgments of this intent alone (``measure=``)",
    ),
    "Mixture": Equation(
        "expected score over classes of users",
        r"M = \sum_u p_u\,M_u",
        "$p_u$ is the share of users of class $u$ (``weights=``), and $M_u$ the score by the measure of this class"
        " (``measures=``)",
    ),
    "ByTopic": Equation(
        "another measure with its own parameters for each topic",
        r"M_q = M(q;\, \theta_q)",
        r"$M$ is the measure (``measure=``), and $\theta_q$ are its parameters for topic $q$ (``parameters=``)",
    ),
    "AP": Equation(
        "average precision",
        r"\text{AP} = \frac{1}{R} \sum_{k=1}^{n} b_k\,P(k), \quad P(k) = \frac{1}{k} \sum_{i=1}^{k} b_i",
        f"$P(k)$ is the precision at rank $k$; {_REL}; {_R}; {_RETRIEVED}",
    ),
    "P": Equation("precision at k", r"\text{P@}k = \frac{1}{k} \sum_{i=1}^{k} b_i", _REL),
    "R": Equation("recall at k", r"\text{R@}k = \frac{1}{R} \sum_{i=1}^{k} b_i", f"{_REL}; {_R}"),
    "RR": Equation(
        "reciprocal rank (MRR)",
        r"\text{RR} = \frac{1}{k_1}",
        "$k_1$ is the rank of the first relevant document. Without a relevant document the score is 0."
        " The mean over queries is the MRR.",
    ),
    "Success": Equation("success at k (hit rate)", r"\text{Success@}k = \max_{i \le k} b_i", _REL),
    "nDCG": Equation(
        "normalised discounted cumulative gain",
        r"\text{nDCG} = \frac{\text{DCG}}{\text{IDCG}}, \quad \text{DCG} = \sum_{i=1}^{n} \frac{r_i}{\log_2(i+1)}",
        "IDCG is the DCG of the ideal ranking: all judged documents in descending order of gain; $r_i$"
        " is the grade"
        ' $g_i$ at rank $i$, or $2^{g_i} - 1$ with ``dcg="exp-log2"``; $n$ is the number of documents of'
        " the ranking, or"
        " ``cutoff`` if that is smaller",
    ),
    "SDCG": Equation(
        "scaled discounted cumulative gain",
        r"\text{SDCG@}k = \frac{\sum_{i=1}^{k} r_i / \log_2(i+1)}{\sum_{i=1}^{k} 1 / \log_2(i+1)}",
        _SCALED,
    ),
    "RBP": Equation(
        "rank-biased precision",
        r"\text{RBP} = (1 - p) \sum_{i \ge 1} p^{i-1}\,b_i",
        f"{_REL}; $p$ is the probability of going on to the next document. As in ir_measures, users leave at rank"
        " 1000, which divides the score by $1 - p^{1000}$.",
    ),
    "INST": Equation(
        "adaptive inverse squares",
        r"\text{INST} &= \frac{\sum_i V(i)\,r_i}{\sum_i V(i)} \\ V(i) &= \prod_{j<i} \left( \frac{j + T + T_j - 1}{j"
        r" + T + T_j} \right)^2, \quad T_j = T - \sum_{m \le j} r_m",
        "$V(i)$ is the share of users who see rank $i$; $T$ is the gain that users want, and $T_j$ the part of it"
        f" that is still missing after rank $j$; {_SCALED}. The sums are over 1000 ranks.",
    ),
    "INSQ": Equation(
        "inverse squares",
        r"\text{INSQ} = \frac{\sum_i r_i / (i + 2T - 1)^2}{\sum_i 1 / (i + 2T - 1)^2}",
        f"$T$ is the number of relevant documents that users want; {_SCALED}. The sums are over 1000 ranks.",
    ),
    "BPM": Equation(
        "Bejeweled player model",
        r"\text{BPM@}k = \frac{1}{s} \sum_{i=1}^{s} r_i, \quad s = \min(k,\, s_T)",
        "Users leave at rank $s$: at rank $k$, or at the first rank $s_T$ at which the sum of the gains reaches the"
        f" target $T$, whichever is first; {_SCALED}",
    ),
    "NERR8": Equation(
        "not but nearly expected reciprocal rank, Eq. 8",
        _NERR.format("NERR8@k", "", r", \quad i \le k"),
        _NERR_WHERE.format("$V(i) = 0$ for $i > k$", _SCALED),
    ),
    "NERR9": Equation(
        "not but nearly expected reciprocal rank, Eq. 9",
        _NERR.format("NERR9@k", r"\frac{1}{i} ", r", \quad i \le k"),
        _NERR_WHERE.format("$V(i) = 0$ for $i > k$", _SCALED),
    ),
    "NERR10": Equation(
        "not but nearly expected reciprocal rank, Eq. 10",
        _NERR.format("NERR10", r"p^{i-1} ", ""),
        _NERR_WHERE.format("$p$ is the patience of RBP", _SCALED),
    ),
    "NERR11": Equation(
        "not but nearly expected reciprocal rank, Eq. 11",
        _NERR.format("NERR11", r"\left( \frac{2T}{i + 2T - 1} \right)^2 ", ""),
        _NERR_WHERE.format("$T$ is the target of INSQ", _SCALED),
    ),
    "ERR": Equation(
        "expected reciprocal rank",
        r"\text{ERR} = \sum_{i=1}^{n} \frac{1}{i}\,R_i \prod_{j<i} (1 - R_j), \quad R_i = \frac{2^{g_i} - 1}{2^4}",
        f"$R_i$ {_SATISFIED}; {_RETRIEVED}",
    ),
    "NumQ": Equation(
        "number of queries",
        r"\text{NumQ} = |Q|",
        "$Q$ is the set of queries that the run answers; each has the value 1",
    ),
    "NumRel": Equation(
        "number of relevant documents",
        r"\text{NumRel} = \sum_d [\,g_d \ge \text{rel}\,]",
        "The sum is over the judged documents $d$ of the query, and $g_d$ is the grade",
    ),
    "NumRet": Equation(
        "number of retrieved documents",
        r"\text{NumRet} = n, \quad \text{NumRet(rel)} = \sum_{i=1}^{n} [\,g_i \ge \text{rel}\,]",
        "$n$ is the number of retrieved documents, and $g_i$ the grade at rank $i$",
    ),
    "Rprec": Equation("R-precision", r"\text{Rprec} = \frac{1}{R} \sum_{i=1}^{R} b_i", f"{_REL}; {_R}"),
    "Judged": Equation(
        "share of judged documents",
        r"\text{Judged} = \frac{1}{n} \sum_{i=1}^{n} j_i",
        f"$j_i$ is 1 if the document at rank $i$ is judged, else 0; {_RETRIEVED}",
    ),
    "Bpref": Equation(
        "binary preference",
        r"\text{bpref} = \frac{1}{R} \sum_x \left( 1 - \frac{\min(R,\, n_x)}{\min(R,\, N)} \right)",
        "The sum is over the retrieved relevant documents $x$; $n_x$ is the number of judged non-relevant documents"
        f" above $x$; {_R}; $N$ is the number of judged non-relevant documents. The fraction is 0 if $n_x$ is 0.",
    ),
    "infAP": Equation(
        "inferred average precision",
        r"\text{infAP} = \frac{1}{R} \sum_x \left( \frac{1}{p} + \frac{|J|}{p} \cdot"
        r" \frac{|\text{Rel}| + \varepsilon}{|\text{Rel}| + |\text{Non}| + 2\varepsilon} \right)",
        "The sum is over the retrieved relevant documents $x$; $p$ is the rank of $x$; $J$ are the pooled documents"
        r" above $x$, Rel and Non the relevant and the non-relevant ones among them; $\varepsilon = 10^{-5}$;"
        f" {_R}. The term is 1 for $p = 1$.",
    ),
    "Compat": Equation(
        "compatibility",
        r"\text{Compat} = \frac{\text{RBO}(L, I)}{\text{RBO}(I, I)}, \quad"
        r" \text{RBO}(L, I) = \frac{\sum_{d=1}^{D} p^{d-1}\,X_d / d}{\sum_{d=1}^{D} p^{d-1}}",
        "$L$ is the ranking and $I$ the ideal ranking: the documents of grades above 0 in descending order of grade,"
        " and of score where grades are equal. $X_d$ is the number of documents that both have in the first $d$ places,"
        " and $D$ is the length of the longer one. Without ``normalize``, the value is $RBO(L, I)$.",
    ),
    "sDCG": Equation(
        "session discounted cumulative gain",
        r"\text{sDCG} = \sum_{q \ge 1} \frac{1}{\log_{bq}(q + bq - 1)}"
        r" \sum_{i=1}^{n} \frac{2^{g_{q,i}} - 1}{\log_b(i + b - 1)}",
        "$g_{q,i}$ is the grade at rank $i$ of the session's $q$-th query; $b$ and $bq$ are the bases of the"
        f" discounts by rank and by query; {_RETRIEVED}",
    ),
    "nsDCG": Equation(
        "normalised session discounted cumulative gain",
        r"\text{nsDCG} = \frac{\text{sDCG}}{\text{sDCG of the ideal session}}",
        "In the ideal session, every query retrieves the judged documents in descending order of grade",
    ),
    "esNDCG": Equation(
        "expected session nDCG",
        r"\text{esNDCG} &= \sum_w P(w)\,\frac{\text{DCG}(w)}{\text{IDCG}(w)} \\"
        r" \text{DCG}(w) &= \sum_{j=1}^{|w|} (2^{g_j} - 1)\,d(j), \quad d(j) = \frac{1}{\log_2(j + 1)}",
        "$w$ is a path through the session: from a result to the next with probability $P_{down}$, and from a list to"
        " the next query with probability $P_{reform}$; $g_j$ is the grade of the $j$-th of the $|w|$ documents on"
        " the path; IDCG is the DCG of the topic's $|w|$ best documents",
    ),
    "SessionCWLA": Equation(
        "gain of a session",
        r"\text{etg} &= \sum_q (1 - \rho_q)\,m_q, \quad \text{erg} = \frac{\text{etg}}{\sum_q u_q N_q} \\"
        r" m_q &= F_q\,\rho_{q-1}\,\delta\,m_{q-1} + u_q T_q, \quad u_q = \rho_{q-1} F_{q-1} u_{q-1}",
        "$q$ is the number of a query in its session; $u_q$ is the share of users who reach it ($u_1$ is 1), and $m_q$"
        " the gain that users have when they leave its list, times their share ($m_0$ is 0); $T_q$ and $N_q$ are the"
        " expected total gain and the expected effort of its list alone, and $F_q$ is the share of its users who leave"
        r" it; $\rho_q$ is the probability of reformulating after query $q$, 0 after the last; $\delta$ is the share"
        " of the gain that is remembered at the next query",
    ),
}


_RANKS = 20  # ranks of the chart
_WORDS = 500  # length of the documents of the chart
_SECONDS = 30  # known cost of all documents
_ROLES = {"gain": "gain of a grade", "effort": "effort", "C": "continuation C", "A": "aggregation A"}
_NORMS = {
    "ideal": "the score of the best ranking",
    "all": "the gain of all relevant documents",
    "mean": "the mean gain of the relevant documents",
    "unlimited": "the score of a list without end of the best documents",
}


def equation_of(declaration: Declaration) -> Equation | None:
    """Return the full name and the usual formula of a measure."""
    return declaration.equation or EQUATIONS.get(declaration.name)


def measure_html(measure: Measure) -> str | None:
    """Return a measure for a notebook, or None if this package does not compute it.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package or of ir_measures.

    Returns
    -------
    str or None
        HTML with name, formula, choices or parameters, and a chart of the discount of ranks. Without matplotlib, the
        formula is LaTeX and there is no chart.
    """
    declaration = declaration_of(measure)
    if declaration is None:
        return None
    equation, row = equation_of(declaration), row_of(measure)
    label = getattr(measure, "label", None)
    head = f"<b>{escape(str(measure))}</b>" + (f" = <code>{escape(repr(measure))}</code>" if label else "")
    parts = [f"<p>{head}{': ' + escape(equation.title) if equation else ''}</p>"]
    if equation is not None:
        parts.append(notebook_formula(equation.latex))
    parts.append(f"<p>{escape(row.says if row else getattr(measure, 'SHORT_DESC', None) or '')}</p>")
    metric = None
    if row is not None:
        with suppress(CWLAError, AssertionError):  # a required parameter is missing
            metric = metric_of(measure)
    rows = list(_choices(metric, row) if metric is not None and row is not None else _parameters(measure))
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(head)}</th><td style="text-align: left">{text}</td></tr>'
        for head, text in rows
    )
    parts.append(f"<table>{cells}</table>" if cells else "")
    if metric is not None:
        parts.append(_chart(metric))
    return harmless(f'<div class="cwla-measure">{"".join(parts)}</div>')


def _choices(metric: Metric, row: Row) -> Iterator[tuple[str, str]]:
    """Yield the choices of a metric that are not trivial, unit and source, as HTML."""
    for role, head in _ROLES.items():
        spec: Spec = getattr(metric, role)
        says = inspect.cleandoc(spec.part.__doc__ or "").partition("\n")[0].removeprefix("Return ").replace("``", "")
        yield head, f"<code>{escape(str(spec))}</code>" + (f" — {escape(says)}" if says else "")
    if metric.norm != "none":
        yield "divided by", escape(_NORMS[metric.norm])
    if metric.end == "stop":
        yield "end", "all users leave at the last result"
    elif metric.end != "open":
        yield "end", f"all users leave at rank {metric.end:,}"
    if metric.cutoff is not None:
        yield "results scored", f"the first {metric.cutoff:,}"
    yield "unit, range", escape(f"{row.units}, {row.range}")
    yield "source", escape(row.source)


def _parameters(measure: Measure) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a measure, as HTML."""
    for name, info in measure.SUPPORTED_PARAMS.items():
        if name in measure.params:
            yield name, f"<code>{escape(str(measure.params[name]))}</code>"
        elif info.required:
            yield name, f"to be given: {escape(info.desc or 'a value')}"


def discounts(metric: Metric) -> Floats:
    """Return the score of lists with one relevant document, at rank 1, 2, …, relative to the first of these.

    The document has the best grade, and all documents have 500 words and cost 30 seconds.

    Raises
    ------
    CWLAError
        If the metric has no such score.
    """
    metric = replace(metric, lengths=None, default_lengths=None, duplicates=None, doc_seconds=None)
    grade = 1.0
    with suppress(CWLAError):  # no highest grade
        grade = metric.best[1]
    ids = [f"{number:03}" for number in range(_RANKS)]
    scores = {doc_id: float(_RANKS - at) for at, doc_id in enumerate(ids)}
    judged = Judgments({q: {d: grade if d == q else 0.0 for d in ids} for q in ids})
    lists: Any = [
        {"query_id": q, "doc_id": d, "score": scores[d], "doc_length": float(_WORDS)} for q in ids for d in ids
    ]
    import pandas as pd

    known = pd.DataFrame(lists).assign(doc_seconds=float(_SECONDS))
    found = scoring.score(metric, judged.align(known, all_judged=True))
    relative: Floats = found / found[0]
    return relative


def _chart(metric: Metric) -> str:
    """Return a bar chart of the discounts, or an empty text if there are none."""
    try:
        with np.errstate(all="ignore"):
            weights = discounts(metric)
    except CWLAError:
        return ""
    if not np.isfinite(weights).all():
        return ""
    ranks = np.arange(1, _RANKS + 1)

    def draw(ax: Any) -> None:
        ax.bar(ranks, weights, width=0.75, color=COLOURS[0])
        ax.set_xticks([1, 5, 10, 15, 20])
        small_axes(ax, "rank of the only relevant document", "score, relative\nto rank 1")

    words = f" Documents have {_WORDS} words." if metric.needs_words else ""
    words += f" Documents cost {_SECONDS} seconds." if metric.needs_seconds else ""
    said = ", ".join(f"{weights[rank - 1]:.2f} at rank {rank}" for rank in (1, 5, 10, 20))
    label = f"Score of a list with one relevant document, relative to that at rank 1: {said}."
    picture = notebook_picture(draw, (4.2, 1.5), label)
    return f"{picture}<p><small>{escape(label + words)}</small></p>" if picture else ""
