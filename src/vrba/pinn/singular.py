"""Singular functions of a problem beside the inputs of its network."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..models import Embedding, SlabEmbedding
from ..problems import Formulation, Singular
from .polish import Polish, why_left_out


class SingularEmbedding(eqx.Module):
    """The inputs of the network, then the singular functions of a problem."""

    embedding: Embedding | SlabEmbedding
    functions: tuple[Singular, ...]
    positions: tuple[tuple[int, ...], ...]  # coordinates of each function

    def __call__(self, *point: Float[Array, ""]) -> Float[Array, " outputs"]:
        """Return all inputs of a polished network at one point."""
        each = zip(self.functions, self.positions, strict=True)
        values = [fn(*(point[k] for k in places)) for fn, places in each]
        return jnp.concatenate([self.embedding(*point), jnp.stack(values)])


def singular_functions(
    settings: Polish | None, formulation: Formulation
) -> tuple[Singular, ...]:
    """The singular functions that the linear stage has."""
    if settings is None or not settings.has_singular:
        return ()
    return formulation.singular


def with_singular(
    embedding: Embedding | SlabEmbedding | SingularEmbedding,
    settings: Polish,
    formulation: Formulation,
) -> Embedding | SlabEmbedding | SingularEmbedding:
    """The inputs of the polished network."""
    if isinstance(embedding, SingularEmbedding):
        embedding = embedding.embedding
    functions = singular_functions(settings, formulation)
    if not functions:
        return embedding
    names = formulation.domain.coordinates
    positions = tuple(
        tuple(names.index(name) for name in each.on or names) for each in functions
    )
    return SingularEmbedding(embedding, functions, positions)


def describe_singular(
    settings: Polish | None, dtype: str, formulation: Formulation
) -> str:
    """The singular functions of the linear stage in a sentence; else empty."""
    is_left_out = bool(why_left_out(settings, dtype, None))
    functions = () if is_left_out else singular_functions(settings, formulation)
    places = [f"({each.at[0]:g}, {each.at[1]:g})" for each in functions]
    if not places:
        return ""
    counts = [f"{places.count(one)} at {one}" for one in dict.fromkeys(places)]
    return f"Singular functions of the linear stage: {', '.join(counts)}."
