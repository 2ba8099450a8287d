"""The framework in plain loops: the score of one ranking from its gains and efforts, equation by equation.

"Eq." are the equations of Moffat et al. (2022); "TBG" is Smucker and Clarke (2012), "JA" is Jiang and Allan (2016).
"""

import math


class View:
    """View of a ranking: the values that C and A read at each rank, also at the unseen ranks below the list."""

    def __init__(self, gains, efforts=None, unseen=1.0, beyond=0.0, unretrieved=0.0):
        self.gains = list(gains)
        self.efforts = [1.0] * len(self.gains) if efforts is None else list(efforts)
        self.unseen = unseen  # effort of an item below the list
        self.beyond = beyond  # gain of an item below the list
        self.unretrieved = unretrieved  # gain of relevant documents that are not in the list
        self.expected_effort = None  # Σ V(j)·e_j, known after the walk

    @property
    def n(self):
        return len(self.gains)

    def r(self, i):
        """Return the gain of the item at rank i."""
        return self.gains[i - 1] if i <= self.n else self.beyond

    def e(self, i):
        """Return the effort of the item at rank i."""
        if i <= self.n:
            return self.efforts[i - 1]
        if self.unseen is None:
            raise ValueError("the value depends on the effort of unseen items: give unseen=")
        return self.unseen

    def G(self, i):
        """Return the cumulative gain Σ_{j≤i} r_j."""
        below = (i - self.n) * self.beyond if i > self.n else 0.0
        return math.fsum(self.gains[:i]) + below

    def E(self, i):
        """Return the cumulative effort Σ_{j≤i} e_j."""
        below = (i - self.n) * self.e(i) if i > self.n else 0.0
        return math.fsum(self.efforts[:i]) + below

    def later(self, i):
        """Return the gain that is still to come, Σ_{j>i} r_j."""
        return math.fsum([*self.gains[i:], self.unretrieved])

    def later_by_rank(self, i):
        """Return Σ_{j>i} r_j/j; gain that was not retrieved lies at an infinite rank and adds 0."""
        return math.fsum(r / j for j, r in enumerate(self.gains[i:], i + 1))


# Continuations: the probability C(i) that a user who has seen rank i goes on to rank i + 1.


def prec(view, i, k):
    """Eq. 7: read k documents."""
    return 1 if i < k else 0


def rbp(view, i, phi):
    """Eq. 8: always the same probability."""
    return phi


def dcg(view, i, k=None):
    """Eq. 9: V(i) = 1/log₂(i + 1)."""
    return math.log2(i + 1) / math.log2(i + 2) if k is None or i < k else 0


def ap1(view, i):
    """Eq. 10; C = 1 for queries without relevant documents."""
    here, after = view.later_by_rank(i - 1), view.later_by_rank(i)
    return after / here if here > 0 else 1 if view.later_by_rank(0) == 0 else 0


def ap2(view, i):
    """Eq. 22; C = 1 for queries without relevant documents."""
    here, after = view.later(i - 1), view.later(i)
    return after / here if here > 0 else 1 if view.later(0) == 0 else 0


def rr(view, i):
    """Eq. 12: r_i is the probability that the document satisfies the user."""
    return 1 - view.r(i)


def cascade(view, i, gamma):
    """γ(1 − r_i): as rr, and 1 − γ give up at each rank."""
    return gamma * (1 - view.r(i))


def inst(view, i, T):
    """Eq. 13: ((i + T + T_i − 1) / (i + T + T_i))² with T_i = T − G(i), the gain that the user still wants."""
    y = i + T + (T - view.G(i))
    if y <= 0:
        raise ValueError(f"inst(T={T}): more gain than T and the ranks bear")
    return ((y - 1) / y) ** 2


def insq(view, i, T):
    """Return ((i + 2T − 1) / (i + 2T))²."""
    return ((i + 2 * T - 1) / (i + 2 * T)) ** 2


def decay(view, i, half_life=224):
    """TBG, Eq. 7: 2^(−e_i/h), so that half of the users are left after each half-life."""
    return 2 ** (-view.e(i) / half_life)


# Aggregations: the value A(i) of the search for a user who leaves at rank i.


def etg(view, i):
    """Eq. 16: the total gain."""
    return view.G(i)


def erg(view, i):
    """Eq. 17, with effort: the total gain per effort that all users spend on average."""
    return per(view.G(i), view.expected_effort)


def err(view, i):
    """Eq. 18; with effort, JA's reciprocal rank."""
    return per(1.0, view.E(i))


def avg(view, i):
    """Eq. 19: gain per effort of this user."""
    return per(view.G(i), view.E(i))


def best(view, i):
    """Eq. 20, named max: the highest gain so far."""
    return max([*view.gains[:i], view.r(i)])


def fin(view, i):
    """Eq. 21: the last gain."""
    return view.r(i)


def fgt(view, i, delta):
    """Eq. 23: F(i) = δ·F(i−1) + r_i, memory that fades."""
    return math.fsum(delta ** (i - j) * view.r(j) for j in range(1, i + 1))


def pe(view, i, beta):
    """Eq. 24: between the peak and the end."""
    return beta * best(view, i) + (1 - beta) * fin(view, i)


def per(gain, effort):
    """Return gain per effort: 0 without gain, infinite for gain without effort."""
    if gain == 0:
        return 0.0
    return gain / effort if effort else math.copysign(math.inf, gain)


def walk(view, C, last=None):
    """Return the lists V (share of users who see each rank) and L (share who leave there).

    V has one value more: the share of users who never leave, or 0. With `last`, all leave at this rank at the latest.
    """
    V, L = [1.0], []
    while V[-1] > 1e-15 and len(L) != last:
        i = len(V)
        c = 0.0 if i == last else C(view, i)
        if i > view.n + 10_000:
            if c == 1:
                return V, L
            raise ValueError("users leave too slowly for a loop: this needs a closed form, or last=")
        L.append(V[-1] * (1 - c))  # Eq. 5
        V.append(V[-1] * c)  # Eq. 1
    return [*V[:-1], 0.0], L


def expected_value(view, C, A, last=None):
    """Return M = Σ L(i)·A(i), Eq. 15. Users who never leave contribute 0.

    Table 1 of the paper: the gains 0.7, 0.4, 0, 1, 0.5, 0.3 with C = 0.8, 1, 1, 0.7, 0.4, 0 have the erg 0.518.
    """
    V, L = walk(view, C, last)
    view.expected_effort = math.inf if V[-1] else math.fsum(v * view.e(j) for j, v in enumerate(V[:-1], 1))
    return math.fsum(left * A(view, i) for i, left in enumerate(L, 1) if left)
