"""Small random models, each with a plain description that says the same in dictionaries."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from muri_opt.modelling import Model, ModelBuilder

HOLDS = {"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "=": lambda a, b: a == b}


@dataclass
class Described:
    """A model and, apart from its arrays, its bounds, objective and rows (label, index, terms, sense, rhs)."""

    model: Model
    bounds: list = field(default_factory=list)  # (label, index, lower, upper, integer)
    objective: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)

    def points(self):
        """Return every whole point of the box."""
        return product(*(range(low, high + 1) for _, _, low, high, _ in self.bounds))

    def value(self, point):
        return sum(Fraction(c) * Fraction(point[j]) for j, c in self.objective.items())

    def broken(self, point):
        """Return how far the point is from each constraint it breaks."""
        found = []
        for (label, index, low, high, integer), x in zip(self.bounds, map(Fraction, point), strict=True):
            by = max(low - x, x - high, abs(x - round(x)) if integer else 0)
            if by > 0:
                found.append((label, index, by))
        for label, index, terms, sense, rhs in self.rows:
            left = sum(Fraction(c) * Fraction(point[j]) for j, c in terms.items())
            if not HOLDS[sense](left, rhs):
                found.append((label, index, abs(left - rhs)))
        return found


@st.composite
def described(draw, *, size=3, continuous=True, most=3):
    """Draw a model with coefficients up to ``size``: families b (binary), x (whole) and y (any), and rows."""
    builder = ModelBuilder("small")
    it = Described(model=None)
    coefficient = st.integers(-size, size)
    for label in ("b", "x", "y")[: 3 if continuous else 2]:
        low, high = [], []
        for _ in range(draw(st.integers(1 if label == "b" else 0, most))):
            low.append(0 if label == "b" else draw(st.integers(-2, 1)))
            high.append(1 if label == "b" else low[-1] + draw(st.integers(0, 2)))
        index = [[k, 2 * k] for k in range(len(low))]
        builder.add_columns(label, index, lower=low, upper=high, integer=label != "y")
        it.bounds += [(label, tuple(i), a, b, label != "y") for i, a, b in zip(index, low, high, strict=True)]
    total = len(it.bounds)
    position = st.integers(0, total - 1)
    entry = st.tuples(position, coefficient)

    def family():
        """Draw rows as triplets, with equal places and zeros among them."""
        count = draw(st.integers(0, 2))
        terms = [draw(st.lists(entry, max_size=4)) for _ in range(count)]
        rhs = [draw(st.integers(-2 * size, 2 * size)) for _ in range(count)]
        triplets = [(r, j, c) for r, row in enumerate(terms) for j, c in row]
        triplets = draw(st.permutations(triplets))
        parts = tuple([list(part) for part in zip(*triplets, strict=True)] or ([], [], []))
        sums = [{j: sum(c for k, c in row if k == j) for j, _ in row} for row in terms]
        return count, parts, rhs, sums

    for number, sense in enumerate(draw(st.lists(st.sampled_from(["<=", ">=", "="]), max_size=4))):
        count, parts, rhs, sums = family()
        builder.add_rows(f"r{number}", range(count), entries=parts, sense=sense, rhs=rhs)
        it.rows += [(f"r{number}", (k,), sums[k], sense, rhs[k]) for k in range(count)]
    costs = draw(st.lists(entry, max_size=4))
    it.objective = {j: sum(c for k, c in costs if k == j) for j, _ in costs}
    it.model = builder.finish(
        maximise=draw(st.booleans()), columns=[j for j, _ in costs], coefficients=[c for _, c in costs]
    )
    return it
