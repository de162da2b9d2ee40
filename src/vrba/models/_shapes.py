"""Shapes that do not suit an operator, refused in the same words everywhere."""

from ..core import InputError

Shape = tuple[int, ...]


def check_shapes(in_shape: Shape, out_shape: Shape, dim: int) -> None:
    """Each shape is a grid and channels, nothing is empty."""
    for name, shape in {"in_shape": in_shape, "out_shape": out_shape}.items():
        if len(shape) < 2 or min(shape) < 1:
            raise InputError(
                f"`{name}` must have one or more axes of a grid and then the number of "
                f"channels, all at least 1, got {shape}: a function of one channel on "
                "200 points has (200, 1)."
            )
    if dim < 1:
        raise InputError(f"`dim` must be at least 1, got {dim}.")


def check_call(name: str, shape: Shape, expected: tuple[int | None, ...]) -> None:
    """An argument of a call has the shape that was built for; None: any length."""
    is_fitting = len(shape) == len(expected) and all(
        want in (None, length) for length, want in zip(shape, expected, strict=True)
    )
    if not is_fitting:
        wanted = ", ".join("any" if want is None else str(want) for want in expected)
        raise InputError(
            f"`{name}` must have the shape ({wanted}) that the model was built for, "
            f"got {shape}: map over several functions with `jax.vmap`."
        )
