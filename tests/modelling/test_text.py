"""LP and MPS text: canonical, and read back by a solver as the same model."""

from fractions import Fraction

import highspy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from small_models import described

from muri_opt.errors import InputError
from muri_opt.modelling import INFINITY, ModelBuilder, lp_text, mps_text

FORMATS = {".lp": lp_text, ".mps": mps_text}
formats = pytest.mark.parametrize("suffix", FORMATS)
# A function-scoped folder is fine here: each example overwrites the file of the one before.
shared_folder = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def read(model, suffix, folder):
    path = folder / f"model{suffix}"
    path.write_text(FORMATS[suffix](model))
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def columns_of(lp):
    """Return for each column name its cost, bounds, and whether it is whole."""
    kinds = lp.integrality_ or [highspy.HighsVarType.kContinuous] * lp.num_col_
    whole = [kind == highspy.HighsVarType.kInteger for kind in kinds]
    return dict(zip(lp.col_names_, zip(lp.col_cost_, lp.col_lower_, lp.col_upper_, whole, strict=True), strict=True))


def rows_of(solver):
    """Return for each row name its bounds and its terms."""
    lp = solver.getLp()
    found = {}
    for row, name in enumerate(lp.row_names_):
        _, columns, values = solver.getRowEntries(row)
        terms = {lp.col_names_[j]: v for j, v in zip(columns, values, strict=True) if v}
        found[name] = (lp.row_lower_[row], lp.row_upper_[row], terms)
    return found


def expected_columns(model):
    low = [-np.inf if x <= -INFINITY else x for x in model.lower.tolist()]
    high = [np.inf if x >= INFINITY else x for x in model.upper.tolist()]
    parts = zip(model.objective.tolist(), low, high, model.integer.tolist(), strict=True)
    return dict(zip(model.column_names, parts, strict=True))


def expected_rows(model):
    found = {}
    for family in model.rows:
        for row, index in enumerate(family.index.tolist()):
            span = slice(family.starts[row], family.starts[row + 1])
            names = [model.column_names[j] for j in family.columns[span]]
            low = -np.inf if family.sense == "<=" else family.rhs[row]
            high = np.inf if family.sense == ">=" else family.rhs[row]
            name = "_".join([family.label, *map(str, index)])
            found[name] = (low, high, dict(zip(names, family.coefficients[span].tolist(), strict=True)))
    return found


def same(model, suffix, folder):
    solver = read(model, suffix, folder)
    lp = solver.getLp()
    assert lp.sense_ == (highspy.ObjSense.kMaximize if model.maximise else highspy.ObjSense.kMinimize)
    assert lp.offset_ == 0
    assert columns_of(lp) == expected_columns(model)
    assert rows_of(solver) == expected_rows(model)
    return solver


@formats
@shared_folder
@given(it=described(most=2))
def test_a_solver_reads_the_same_model(suffix, tmp_path, it):
    same(it.model, suffix, tmp_path)


@formats
@shared_folder
@given(it=described(continuous=False, most=2))
def test_the_optimum_of_the_text_is_that_of_the_model(suffix, tmp_path, it):
    solver = read(it.model, suffix, tmp_path)
    solver.run()
    values = [it.value(point) for point in it.points() if not it.broken(point)]
    if not values:
        assert solver.getModelStatus() in {
            highspy.HighsModelStatus.kInfeasible,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        }
    else:
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        best = max(values) if it.model.maximise else min(values)
        assert Fraction(round(solver.getInfo().objective_function_value)) == best


@given(it=described())
def test_the_same_model_always_gives_the_same_text(it):
    assert lp_text(it.model) == lp_text(it.model)
    assert mps_text(it.model) == mps_text(it.model)


def knapsack():
    builder = ModelBuilder("two words")
    x = builder.add_columns("x", [0, 1], upper=[1, 3])
    y = builder.add_columns("y", [[0, 2]], lower=-INFINITY, upper=INFINITY, integer=False)
    builder.add_rows("gpus", [0], entries=(0, [*x, *y], [2, 3, -1]), sense="<=", rhs=4)
    builder.add_rows("least", [0], entries=(0, y, 1), sense=">=", rhs=-7)
    builder.add_rows("pick", [5], entries=(0, x[:1], 1), sense="<=", rhs=1)
    return builder.finish(maximise=True, columns=x, coefficients=[5, -4])


def test_the_text_of_a_model():
    assert lp_text(knapsack()) == (
        "\\ two words\n"
        "Maximize\n"
        " obj: + 5 x_0 - 4 x_1\n"
        "Subject To\n"
        " gpus_0: + 2 x_0 + 3 x_1 - 1 y_0_2 <= 4\n"
        " least_0: + 1 y_0_2 >= -7\n"
        " pick_5: + 1 x_0 <= 1\n"
        "Bounds\n"
        " 0 <= x_0 <= 1\n"
        " 0 <= x_1 <= 3\n"
        " -inf <= y_0_2 <= +inf\n"
        "General\n"
        " x_0 x_1\n"
        "End\n"
    )
    assert mps_text(knapsack()) == (
        "NAME two_words FREE\n"
        "OBJSENSE\n    MAX\n"
        "ROWS\n N obj\n L gpus_0\n G least_0\n L pick_5\n"
        "COLUMNS\n"
        " MARKER 'MARKER' 'INTORG'\n"
        " x_0 obj 5\n x_0 gpus_0 2\n x_0 pick_5 1\n"
        " x_1 obj -4\n x_1 gpus_0 3\n"
        " MARKER 'MARKER' 'INTEND'\n"
        " y_0_2 obj 0\n y_0_2 gpus_0 -1\n y_0_2 least_0 1\n"
        "RHS\n rhs gpus_0 4\n rhs least_0 -7\n rhs pick_5 1\n"
        "BOUNDS\n"
        " LO bound x_0 0\n UP bound x_0 1\n LO bound x_1 0\n UP bound x_1 3\n MI bound y_0_2\n PL bound y_0_2\n"
        "ENDATA\n"
    )


@formats
@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-INFINITY, INFINITY),
        (-INFINITY, 5),
        (-INFINITY, -5),
        (-INFINITY, 0),
        (-7, INFINITY),
        (3, INFINITY),
        (0, INFINITY),
        (-7, -5),
        (-7, 0),
        (0, 0),
        (4, 4),
        (0, 1),
    ],
)
def test_bounds_of_every_kind(suffix, tmp_path, integer, low, high):
    builder = ModelBuilder("bounds")
    x = builder.add_columns("x", [0], lower=low, upper=high, integer=integer)
    builder.add_columns("z", [0], integer=not integer)
    builder.add_rows("r", [0], entries=(0, x, 1), sense="<=", rhs=100)
    same(builder.finish(maximise=False, columns=x, coefficients=[0]), suffix, tmp_path)
    solver = same(builder.finish(maximise=True, columns=x, coefficients=[1]), suffix, tmp_path)
    solver.run()
    assert solver.getInfo().objective_function_value == min(high, 100)


@formats
@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize("rows", [0, 2])
def test_an_empty_objective_and_empty_rows(suffix, tmp_path, columns, rows):
    builder = ModelBuilder("empty")
    builder.add_columns("x", range(columns))
    for sense in ("<=", ">=", "="):
        label = {"<=": "le", ">=": "ge", "=": "eq"}[sense]
        builder.add_rows(label, range(rows), entries=([], [], []), sense=sense, rhs=0)
    same(builder.finish(maximise=True, columns=[], coefficients=[]), suffix, tmp_path)


@formats
def test_long_rows_are_wrapped(suffix, tmp_path):
    builder = ModelBuilder("a name\nof two lines " + "and many words " * 30)
    x = builder.add_columns("a_rather_long_label", [[7, k, 1000 + k] for k in range(400)], upper=9)
    builder.add_rows("r", [0], entries=(0, x, -(10**14)), sense=">=", rhs=-(10**14))
    model = builder.finish(maximise=True, columns=x, coefficients=np.arange(400))
    text = FORMATS[suffix](model)
    assert suffix == ".mps" or max(map(len, text.splitlines())) < 255
    solver = same(model, suffix, tmp_path)
    solver.run()
    assert solver.getInfo().objective_function_value == 399


@formats
@pytest.mark.parametrize(
    "label", ["e", "E1", "x1e5", "obj", "st", "free", "end", "max", "bin", "gen", "bounds", "rhs", "marker", "n", "i"]
)
def test_labels_that_look_like_words_of_the_format(suffix, tmp_path, label):
    builder = ModelBuilder(label)
    x = builder.add_columns(label, [0, 1], upper=5)
    builder.add_rows(label, [0], entries=(0, x, [3, 1]), sense="<=", rhs=7)
    solver = same(builder.finish(maximise=True, columns=x, coefficients=[2, 1]), suffix, tmp_path)
    solver.run()
    assert solver.getInfo().objective_function_value == 6


@formats
def test_names_that_stand_for_two_things_are_refused(suffix):
    builder = ModelBuilder("twice")
    builder.add_columns("x", [[1, 2]])
    builder.add_columns("x_1", [2])
    with pytest.raises(InputError, match="columns: found two of the name x_1_2"):
        FORMATS[suffix](builder.finish(maximise=True, columns=[], coefficients=[]))
    builder = ModelBuilder("twice")
    builder.add_columns("x", [0])
    for _ in range(2):
        builder.add_rows("r", [3], entries=(0, 0, 1), sense="<=", rhs=1)
    with pytest.raises(InputError, match="rows: found two of the name r_3"):
        FORMATS[suffix](builder.finish(maximise=True, columns=[], coefficients=[]))
