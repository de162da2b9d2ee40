"""Domains: points inside, boundaries and their normals, combinations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.path import Path
from scipy.spatial import ConvexHull, Delaunay

from tests.rooms import concrete
from vrba.domains import (
    AbstractDomain,
    Ball,
    Box,
    Difference,
    Disk,
    Intersection,
    Mesh,
    PointCloud,
    Polygon,
    Product,
    Union,
)

RANDOM = np.random.default_rng(0)
HULLS = {dim: ConvexHull(RANDOM.uniform(-1, 1, (30, dim))) for dim in (2, 3)}
MESHES = {
    dim: Mesh(hull.points, Delaunay(hull.points).simplices, "xyz"[:dim])
    for dim, hull in HULLS.items()
}
SQUARE, L_SHAPE = (
    Box(x=(0, 2), y=(0, 2)),
    [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)],
)
BITE = Disk(0.5, x=2, y=1)  # half of it is in the square
LENS = 2 * math.pi / 3 - math.sqrt(3) / 2  # of two unit disks a radius apart
# Each shape with its volume and that of its boundary.
SHAPES = {
    "interval": (Box(x=(-1, 2)), 3.0, 2.0),
    "box": (Box(t=(0, 1), x=(-1, 2)), 3.0, 8.0),
    "box in space": (Box(x=(0, 1), y=(0, 2), z=(0, 3)), 6.0, 22.0),
    "ball on a line": (Ball(2, x=1), 4.0, 2.0),
    "ball": (Ball(0.5, x=0, y=1, z=2), math.pi / 6, math.pi),
    "ball in 5-D": (
        Ball(1, a=0, b=1, c=0, x=0, y=0),
        8 * math.pi**2 / 15,
        8 * math.pi**2 / 3,
    ),
    "disk": (Disk(2, x=1, y=0), 4 * math.pi, 4 * math.pi),
    "polygon": (Polygon(L_SHAPE[::-1]), 3.0, 8.0),
    "bitten square": (SQUARE - BITE, 4 - math.pi / 8, 7 + math.pi / 2),
    "square with a hole": (
        SQUARE - Disk(0.5, x=1, y=1),
        4 - math.pi / 4,
        8 + math.pi,
    ),
    "corner cut off": (SQUARE - Box(x=(1, 2), y=(1, 2)), 3.0, 8.0),
    "side by side": (Box(x=(0, 1), y=(0, 2)) | Box(x=(1, 2), y=(0, 2)), 4.0, 8.0),
    "overlapping": (SQUARE | Box(x=(1, 3), y=(0, 2)), 6.0, 10.0),
    "lens": (Disk(1) & Disk(1, x=1, y=0), LENS, 4 * math.pi / 3),
    "stadium": (
        (SQUARE | Disk(1, x=0, y=1)) | Disk(1, x=2, y=1),
        4 + math.pi,
        4 + 2 * math.pi,
    ),
    "cut mesh": (MESHES[2] & Disk(3), HULLS[2].volume, HULLS[2].area),
    "cylinder": (Box(t=(0, 3)) * Disk(1), 3 * math.pi, 8 * math.pi),
    "holed prism": (
        (SQUARE - Disk(0.5, x=1, y=1)) * Box(z=(0, 2)),
        8 - math.pi / 2,
        16 + 2 * math.pi + 8 - math.pi / 2,
    ),
    "mesh": (MESHES[2], HULLS[2].volume, HULLS[2].area),
    "mesh in space": (MESHES[3], HULLS[3].volume, HULLS[3].area),
}
EDGE, OUT = Disk(1).boundary(60, seed=0)
CLOUD = PointCloud(Disk(1).sample(300, seed=0), "xy", boundary=EDGE, normals=OUT)


@pytest.fixture(params=list(SHAPES))
def case(request):
    return SHAPES[request.param]


def test_every_domain_is_tested():
    found = {type(shape) for shape, _, _ in SHAPES.values()} | {type(CLOUD)}
    assert found == set(concrete("vrba.domains", AbstractDomain))


def bounding(shape):
    return np.array([shape.bounds(name) for name in shape.coordinates]).T


def test_points_are_inside_and_depend_on_the_seed(case):
    shape, _, _ = case
    for num_points in (1, 300):
        points = shape.sample(num_points, seed=1)
        assert points.shape == (num_points, len(shape.coordinates))
        assert shape.contains(points).all()
        np.testing.assert_array_equal(points, shape.sample(num_points, seed=1))
    assert np.abs(points - shape.sample(300, seed=2)).max() > 0.1
    lower, upper = bounding(shape)
    assert np.all((points >= lower) & (points <= upper))
    far = np.stack([lower - 0.1, upper + 0.1, np.full(lower.shape, np.nan)])
    assert not shape.contains(far).any()


def test_volumes_are_known(case):
    shape, volume, _ = case
    assert shape.measure() == pytest.approx(volume, rel=2e-3)


def test_boundaries_have_the_known_measure(case):
    shape, _, area = case
    assert shape.boundary_measure() == pytest.approx(area, rel=2e-3)


def test_normals_point_outwards(case):
    shape, _, _ = case
    points, normals = shape.boundary(400, seed=3)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-12)
    assert shape.contains(points).all()
    step = 1e-5 * normals
    assert shape.contains(points - step).all()
    assert not shape.contains(points + step).any()
    np.testing.assert_allclose(shape.normal(points), normals, rtol=0, atol=1e-12)
    again, _ = shape.boundary(400, seed=3)
    np.testing.assert_array_equal(points, again)


def flow(points):
    """Return a vector field and its divergence."""
    first, rest = points[:, :1], np.roll(points, 1, axis=1)
    vectors = points**2 / 2 + np.sin(rest) + first * points
    divergence = np.sum(points, axis=1) + np.sum(first, axis=1) * points.shape[1]
    divergence = divergence + points[:, 0]
    if points.shape[1] == 1:
        divergence = divergence + np.cos(points[:, 0])
    return vectors, divergence


def test_divergence_theorem(case):
    """The boundary is complete, in the right proportions, and oriented outwards."""
    shape, volume, area = case
    num_points = 4096
    points, normals = shape.boundary(num_points, seed=4)
    out = np.sum(flow(points)[0] * normals, axis=1)
    sources = flow(shape.sample(num_points, seed=5))[1]
    random = area * np.std(out) + volume * np.std(sources)
    gap = area * np.mean(out) - volume * np.mean(sources)
    assert abs(gap) < 0.6 * random / math.sqrt(num_points) + 1e-9


def test_means_have_smaller_errors_than_those_of_independent_points(case):
    """Every second point, or the first half, is at least as good as random points."""
    shape, _, _ = case
    num_points, seeds = 512, range(12)
    height = lambda p: np.sum(np.cos(p + 0.3), axis=1)
    truth, spread = (f(height(shape.sample(2**15, seed=99))) for f in (np.mean, np.std))
    drawn = [height(shape.sample(num_points, seed=seed)) for seed in seeds]
    size = lambda parts: math.sqrt(np.mean([(np.mean(p) - truth) ** 2 for p in parts]))
    assert size(drawn) < 0.4 * spread / math.sqrt(num_points)
    for part in (slice(None, None, 2), slice(None, num_points // 2)):
        bound = 2 * spread / math.sqrt(num_points / 2)
        assert size([values[part] for values in drawn]) < bound


def test_boundary_points_have_low_discrepancy():
    points, _ = Disk(1).boundary(64, seed=0)
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    assert np.diff(angles).max() < 2 * 2 * math.pi / 64
    points, _ = (SQUARE - BITE).boundary(700, seed=0)
    share = np.mean(np.linalg.norm(points - [2, 1], axis=1) < 0.5 + 1e-9)
    assert share == pytest.approx(math.pi / 2 / (7 + math.pi / 2), abs=2 / 700)


# Parts of the boundary.


def test_parts_of_a_boundary():
    shape = SQUARE - BITE
    assert shape.planes("x") == [0.0, 2.0] and shape.planes("y") == [0.0, 2.0]
    assert shape.boundary_measure("x") == pytest.approx(3.0, rel=1e-3)
    assert shape.boundary_measure(BITE) == pytest.approx(math.pi / 2, rel=1e-3)
    assert shape.boundary_measure(SQUARE) == pytest.approx(7.0, rel=1e-3)
    points, normals = shape.boundary(50, seed=0, on=BITE)
    np.testing.assert_allclose(normals, (BITE.middle() - points) / 0.5, atol=1e-12)
    upper = lambda points: points[:, 1] > 1.5
    points, normals = shape.boundary(50, seed=0, on="x", where=upper)
    assert points[:, 1].min() > 1.5 and set(points[:, 0]) == {0.0, 2.0}
    np.testing.assert_array_equal(normals[:, 0], points[:, 0] - 1)


def test_boundaries_and_slices_of_products():
    disk = Disk(1)
    shape = Box(t=(0, 3)) * disk
    points, normals = shape.boundary(200, seed=0, on=disk)
    np.testing.assert_allclose(normals[:, 1:], points[:, 1:], atol=1e-12)
    assert not normals[:, 0].any() and np.ptp(points[:, 0]) > 2.9
    start = shape.sample_face(200, "t", 0.0, seed=0)
    assert not start[:, 0].any() and disk.contains(start[:, 1:]).all()
    assert shape.boundary_measure("t") == pytest.approx(2 * math.pi, rel=2e-3)
    cut = shape.sample_face(100, "x", 0.6, seed=0)
    assert np.all(cut[:, 1] == 0.6) and np.abs(cut[:, 2]).max() < 0.8 + 1e-12
    assert np.abs(cut[:, 2]).max() > 0.75


@pytest.mark.parametrize("union", [Union, Intersection, Difference])
def test_combinations_follow_boolean_logic(union):
    one, two = Polygon(L_SHAPE), Disk(0.9, x=1.1, y=0.8)
    points = RANDOM.uniform(-0.5, 2.5, (4000, 2))
    in_one = Path(L_SHAPE).contains_points(points)
    in_two = np.hypot(points[:, 0] - 1.1, points[:, 1] - 0.8) < 0.9
    logic = {
        Union: in_one | in_two,
        Intersection: in_one & in_two,
        Difference: in_one & ~in_two,
    }
    shape = union(one, two)
    np.testing.assert_array_equal(shape.contains(points), logic[union])
    operators = {Union: one | two, Intersection: one & two, Difference: one - two}
    assert type(operators[union]) is union and operators[union] == shape


@pytest.mark.parametrize("reach", [10.0, 300.0])
def test_a_large_box_cuts_like_a_half_plane(reach):
    half = Disk(1.0) & Box(x=(0, reach), y=(-reach, reach))
    assert half.boundary_measure() == pytest.approx(np.pi + 2, rel=2e-2)
    points, normals = half.boundary(50, seed=0, on="x")
    np.testing.assert_allclose(points[:, 0], 0.0)
    np.testing.assert_allclose(normals, np.tile([-1.0, 0.0], (50, 1)))


def test_shared_edges_are_counted_once():
    """Both parts share the lower edge; the wall between them is not on the boundary."""
    shape = Box(x=(0, 1), y=(0, 2)) | Box(x=(0, 2), y=(0, 1))
    assert shape.boundary_measure("y") == pytest.approx(4.0, rel=1e-3)
    points, _ = shape.boundary(800, seed=0)
    assert np.mean(points[:, 1] == 0) == pytest.approx(2 / 8, abs=2 / 800)
    hole = SQUARE - Box(
        x=(0, 1), y=(0, 2)
    )  # the wall of the second is oriented inwards
    points, normals = hole.boundary(100, seed=0, on="x")
    assert set(points[:, 0]) == {1.0, 2.0}
    np.testing.assert_array_equal(normals[:, 0], 2 * points[:, 0] - 3)


# Polygons, meshes, clouds.


@st.composite
def stars(draw):
    """Corners around the origin at increasing angles: never self-intersecting."""
    count = draw(st.sampled_from([3, 7]))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    share = np.cumsum(random.uniform(0.6, 1.0, count))
    angles = 2 * math.pi * share / share[-1]
    radii = random.uniform(0.3, 1.5, count)
    corners = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    return corners[:: random.choice([-1, 1])]


@given(stars())
def test_polygons_agree_with_matplotlib_and_the_shoelace(corners):
    shape = Polygon(corners)
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (500, 2))
    expected = Path(corners).contains_points(points)
    np.testing.assert_array_equal(shape.contains(points), expected)
    x, y = corners.T
    area = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    assert shape.boundary_measure() == pytest.approx(np.sum(sides), rel=1e-12)
    points, normals = shape.boundary(
        512, seed=0
    )  # by the divergence theorem, twice the area
    flux = np.sum(sides) * np.mean(np.sum(points * normals, axis=1))
    assert flux == pytest.approx(2 * area, rel=0.02)


@pytest.mark.parametrize("dim", [2, 3])
def test_meshes_agree_with_their_triangulation(dim):
    mesh = MESHES[dim]
    points = RANDOM.uniform(-1.1, 1.1, (2000, dim))
    cells = Delaunay(mesh.points)
    expected = cells.find_simplex(points) >= 0
    np.testing.assert_array_equal(mesh.contains(points), expected)
    inside = mesh.sample(1000, seed=0)
    count = len(cells.simplices)
    shares = np.bincount(cells.find_simplex(inside), minlength=count) / 1000
    corners = mesh.points[cells.simplices]
    volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
    np.testing.assert_allclose(shares, volumes / volumes.sum(), atol=0.01)


@pytest.mark.parametrize("dim", [2, 3])
def test_meshes_are_read_from_files(dim, tmp_path):
    import meshio

    mesh = MESHES[dim]
    kind = {2: "triangle", 3: "tetra"}[dim]
    space = np.pad(mesh.points, ((0, 0), (0, 3 - dim)))
    meshio.Mesh(space, [(kind, mesh.cells)]).write(tmp_path / "mesh.vtu")
    found = Mesh.read(tmp_path / "mesh.vtu", coordinates=mesh.coordinates)
    np.testing.assert_array_equal(found.points, mesh.points)
    np.testing.assert_array_equal(found.cells, mesh.cells)
    with pytest.raises(ValueError, match=f"holds {kind}, but the coordinates"):
        Mesh.read(tmp_path / "mesh.vtu", coordinates="xyz"[: 5 - dim])


def test_reading_without_meshio_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "meshio", None)
    with pytest.raises(ImportError, match="pip install meshio"):
        Mesh.read("mesh.vtu", coordinates="xy")


def test_a_cloud_returns_each_of_its_points_once():
    assert CLOUD.num_available == 300 and CLOUD.num_on_boundary() == 60
    points = CLOUD.sample(300, seed=0)
    expected = sorted(map(tuple, CLOUD.points))
    assert sorted(map(tuple, points)) == expected
    assert np.any(points != CLOUD.points) and CLOUD.contains(points).all()
    edge, normals = CLOUD.boundary(60, seed=0)
    np.testing.assert_allclose(edge, normals, atol=1e-12)
    np.testing.assert_array_equal(CLOUD.normal(edge), normals)
    assert not CLOUD.contains(np.array([[1.5, 0.0], [np.nan, 0.0]])).any()
    with pytest.raises(
        ValueError, match="`num_points` must be at most 300, .* got 301"
    ):
        CLOUD.sample(301, seed=0)
    with pytest.raises(ValueError, match="`num_points` must be at most 60, .* got 61"):
        CLOUD.boundary(61, seed=0)


def test_a_cloud_over_time():
    shape = Box(t=(0, 1)) * CLOUD
    assert shape.num_available is None and shape.num_on_face("t", 0.0) == 300
    points = shape.sample(1000, seed=0)
    assert CLOUD.contains(points[:, 1:]).all() and np.ptp(points[:, 0]) > 0.99
    walls, normals = shape.boundary(500, seed=0, on=CLOUD)
    np.testing.assert_allclose(walls[:, 1:], normals[:, 1:], atol=1e-12)
    start = shape.sample_face(300, "t", 0.0, seed=0)
    assert len(np.unique(start, axis=0)) == 300 and not start[:, 0].any()


def test_shapes_of_any_size_and_place():
    for scale in (1e-6, 1e6):
        shape = Box(x=(0, 2 * scale), y=(0, scale)) - Disk(
            0.1 * scale, x=scale, y=scale / 2
        )
        assert shape.measure() == pytest.approx(1.9686 * scale**2, rel=2e-3)
        points, normals = shape.boundary(200, seed=0)
        assert not shape.contains(points + 1e-5 * scale * normals).any()
    small = Box(x=(0, 1), y=(0, 1)) - Disk(1e-4, x=0.5, y=0.5)
    assert small.boundary_measure() == pytest.approx(4 + 2e-4 * math.pi, rel=1e-9)


# Errors.

ERRORS = [
    (lambda: Disk(1) | Ball(1, x=0, y=0, z=0), r"got \(x, y\) and \(x, y, z\)"),
    (lambda: Disk(1) - Disk(1, y=0, x=0), "same coordinates, .* product"),
    (lambda: Disk(1) & 3, "`Intersection` needs two domains, got 3"),
    (lambda: Disk(1) * SQUARE, "different coordinates, but both have x, y"),
    (lambda: Disk(1) * 3, "`Product` needs two domains, got 3"),
    (lambda: Disk(1) * Box(xy=(0, 1)), "`xy` is also a derivative"),
    (lambda: Disk(1) - CLOUD, "a PointCloud is a list of points"),
    (lambda: CLOUD * PointCloud([[0], [1]], "z"), "two lists of points"),
    (
        lambda: (Disk(1) - Disk(2)).sample(3, seed=0),
        "Only 0 of 3 points were found inside",
    ),
    (lambda: (Disk(1) & Disk(1, x=5, y=0)).sample(3, seed=0), "intersection is empty"),
    (lambda: Disk(1).sample_face(3, "x", 2.0, seed=0), "found in the Disk at x = 2"),
    (lambda: Disk(1).boundary(3, seed=0, on="x"), "no face across `x` of the boundary"),
    (lambda: Disk(1).boundary(3, seed=0, on="z"), "`z` is no coordinate"),
    (lambda: Disk(1).boundary(3, seed=0, on=Disk(2)), "that lies on the boundary of"),
    (lambda: Disk(1).normal(np.zeros((1, 2))), "is not on the boundary of the Disk"),
    (lambda: Disk(0), "`radius` must be positive and finite, got 0"),
    (lambda: Disk(1, x=0, y=np.nan), r"`Disk\(y=...\)` must be finite"),
    (lambda: Disk(1, x=0), "`Disk` has two coordinates, got x"),
    (lambda: Ball(1), "`Ball` has no centre"),
    (lambda: Ball(1, d=0), "cannot be called `d`"),
    (lambda: Polygon([(0, 0), (1, 1)]), "at least three pairs"),
    (
        lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]),
        "corner 0, .* corner 2, .*meet",
    ),
    (lambda: Polygon([(0, 0), (1, 0), (1, 0), (0, 1)]), "corner 1, .* has no length"),
    (lambda: Polygon([(0, 0), (2, 0), (1, 0), (1, 1)]), "reverses direction"),
    (lambda: Polygon([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)]), "meet"),
    (lambda: Polygon([(0, 0), (1, 0), (np.inf, 1)]), "must be finite"),
    (lambda: Polygon(L_SHAPE, "xyz"), "`coordinates` must be two names"),
    (lambda: Mesh(np.zeros((3, 2)), [[0, 1, 2]], "xy"), "row 0 has no volume"),
    (lambda: Mesh(np.eye(3)[:, :2], [[0, 1, 3]], "xy"), "the 3 rows of `points`"),
    (lambda: Mesh(np.eye(3), [[0, 1, 2]], "xy"), "`points` must have 2 columns"),
    (lambda: Mesh(np.eye(3)[:, :2], [[0, 1]], "xy"), "rows of 3 indices"),
    (lambda: Mesh(np.zeros((3, 1)), [[0, 1]], "x"), "2 or 3 coordinates"),
    (lambda: PointCloud([[0, 0]], "xy"), "at least two rows"),
    (lambda: PointCloud([[0, 0], [1, 0]], "xy"), "no coordinate may be equal"),
    (lambda: PointCloud([0, 1], "xy"), "`points` must be rows of 2 finite"),
    (
        lambda: PointCloud(EDGE, "xy", boundary=EDGE, normals=OUT[1:]),
        "one for each row of `boundary`, which has 60; got 59",
    ),
    (lambda: PointCloud(EDGE, "xy").boundary(3, seed=0), "There is no boundary of the"),
    (
        lambda: PointCloud(EDGE, "xy", boundary=EDGE).normal(EDGE),
        "or has no normal there",
    ),
]


def test_errors_explain_the_mistake(as_a_user):
    for mistake, words in ERRORS:
        with pytest.raises(ValueError, match=words):
            mistake()


def test_products_are_found():
    assert isinstance(Box(t=(0, 1)) * Disk(1), Product)
