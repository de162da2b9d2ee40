"""The general rule: derivatives of any JAX function, in one pass over its jaxpr.

The pass visits each operation once. It applies linear operations to every derivative,
Leibniz' rule to products and Faa di Bruno's rule to elementwise functions. It
differentiates any other operation (a loop, a custom rule) by nested `jvp`. Values that
depend on no coordinate are computed once.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jaxtyping import Array

from ._base import AbstractPropagated
from .jet import (
    Index,
    Jet,
    compose,
    is_constant,
    multiply,
    origin,
    repeated_derivatives,
    value_of,
)

# Linear in all their operands together.
_LINEAR = {
    "add", "add_any", "sub", "neg", "reshape", "broadcast_in_dim", "transpose", "stack",
    "squeeze", "slice", "reduce_sum", "convert_element_type", "copy", "concatenate",
    "rev", "expand_dims", "cumsum", "real", "imag", "copy_p", "pad", "unstack",
    "complex", "conj", "split",
}  # fmt: skip
# Linear in each of their two operands.
_BILINEAR = {"mul", "dot_general", "conv_general_dilated"}
# Elementwise functions.
_UNARY = {
    "tanh", "sin", "cos", "tan", "exp", "exp2", "log", "log1p", "expm1", "sqrt",
    "rsqrt", "cbrt", "logistic", "sinh", "cosh", "asinh", "acosh", "atanh", "asin",
    "acos", "atan", "erf", "erfc", "erf_inv", "integer_pow", "square", "abs", "sign",
    "lgamma", "digamma",
}  # fmt: skip
# Operations that hold a jaxpr.
_CALL = {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint"}


def propagate(
    fn: Callable[..., Any], inputs: list[Jet], indices: frozenset[Index]
) -> Any:
    """Return the derivatives `indices` of `fn(*inputs)`: a pytree of jets.

    `indices` must hold all lower derivatives too (see `downward_closure`).
    """
    if isinstance(fn, AbstractPropagated) and len(inputs) == 1:
        return fn.propagate(inputs[0], indices)
    values = [value_of(jet) for jet in inputs]
    program, shape = jax.make_jaxpr(fn, return_shape=True)(*values)
    outputs = _propagate_jaxpr(program.jaxpr, program.consts, inputs, indices)
    outputs = jax.tree.map(jnp.asarray, outputs)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def _propagate_jaxpr(
    jaxpr: Jaxpr, constants: list[Any], inputs: list[Jet], indices: frozenset[Index]
) -> list[Jet]:
    zero = (0,) * len(next(iter(indices)))
    known: dict[Any, Jet] = {}

    def read(atom: Any) -> Jet:
        return {zero: atom.val} if isinstance(atom, Literal) else known[atom]

    for variable, value in zip(jaxpr.constvars, constants, strict=True):
        known[variable] = {zero: value}
    known.update(zip(jaxpr.invars, inputs, strict=True))
    for equation in jaxpr.eqns:
        outputs = _propagate_operation(
            equation, [read(v) for v in equation.invars], indices
        )
        known.update(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _propagate_operation(
    equation: Any, jets: list[Jet], indices: frozenset[Index]
) -> list[Jet]:
    """Apply one operation to jets."""
    name, apply = equation.primitive.name, _as_function(equation)
    is_smooth = any(_is_smooth(out.aval) for out in equation.outvars)
    if not is_smooth or all(is_constant(jet) for jet in jets):
        zero = (0,) * len(next(iter(indices)))
        return [{zero: out} for out in apply(*(value_of(jet) for jet in jets))]
    if name in _CALL:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        if isinstance(inner, ClosedJaxpr):
            return _propagate_jaxpr(inner.jaxpr, inner.consts, jets, indices)
        return _propagate_jaxpr(inner, [], jets, indices)
    fixed = _fixed_operands(name, jets)
    if fixed is not None:
        return _propagate_linear(apply, jets, fixed, indices)
    apply_single = lambda *values: apply(*values)[0]
    if name in _BILINEAR:
        return [multiply(apply_single, jets[0], jets[1], indices)]
    if name == "div":
        return [_divide(jets[0], jets[1], indices)]
    is_unary = name in _UNARY or (name == "pow" and is_constant(jets[1]))
    # The magnitude of a complex number has no complex derivative.
    if is_unary and (name != "abs" or not jnp.iscomplexobj(value_of(jets[0]))):
        fn = lambda value: apply_single(value, *(value_of(jet) for jet in jets[1:]))
        order = max(sum(index) for index in indices)
        outer = repeated_derivatives(fn, value_of(jets[0]), order)
        return [compose(outer, jets[0], indices)]
    return _differentiate_nested(apply, jets, indices)


def _is_smooth(value: Any) -> bool:
    """Whether an array can have derivatives; integers and booleans have none."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def _as_function(equation: Any) -> Callable[..., list[Any]]:
    """Return the operation as a function of arrays with a list of results."""
    primitive = equation.primitive

    def apply(*values):
        params = primitive.get_bind_params(equation.params)
        functions, params = params if isinstance(params, tuple) else ((), params)
        outputs = primitive.bind(*functions, *values, **params)
        return list(outputs) if primitive.multiple_results else [outputs]

    return apply


def _fixed_operands(name: str, jets: list[Jet]) -> range | None:
    """Return the operands that enter by value if the operation is linear in the rest.

    These are a condition, indices or a divisor. None if the operation is not linear.
    """
    if name in _LINEAR:
        return range(0)
    if name not in ("select_n", "gather", "dynamic_slice", "div"):
        return None
    fixed = range(1) if name == "select_n" else range(1, len(jets))
    return fixed if all(is_constant(jets[k]) for k in fixed) else None


def _propagate_linear(
    apply: Callable[..., list[Any]],
    jets: list[Jet],
    fixed: range,
    indices: frozenset[Index],
) -> list[Jet]:
    """Apply a linear operation to each derivative separately."""
    values = [value_of(jet) for jet in jets]
    found: list[Jet] = [{origin(jets[0]): out} for out in apply(*values)]
    for index in sorted(indices)[1:]:
        if any(index in jet for jet in jets):
            parts = [
                values[k] if k in fixed else jet.get(index, jnp.zeros_like(values[k]))
                for k, jet in enumerate(jets)
            ]
            for jet, out in zip(found, apply(*parts), strict=True):
                jet[index] = out
    return found


def _divide(left: Jet, right: Jet, indices: frozenset[Index]) -> Jet:
    """Return a quotient as a product with the reciprocal."""
    order = max(sum(index) for index in indices)
    outer = repeated_derivatives(lambda value: 1 / value, value_of(right), order)
    return multiply(jnp.multiply, left, compose(outer, right, indices), indices)


def _differentiate_nested(
    apply: Callable[..., list[Any]], jets: list[Jet], indices: frozenset[Index]
) -> list[Jet]:
    """Differentiate by nested `jvp`, with Taylor polynomials as operands."""
    zero = origin(jets[0])

    def along(shift):
        outputs = apply(*(_taylor_polynomial(jet, shift) for jet in jets))
        return [out for out in outputs if _is_smooth(out)]

    found: list[Jet] = [{zero: out} for out in apply(*(value_of(jet) for jet in jets))]
    smooth = [jet for jet in found if _is_smooth(jet[zero])]
    dtype = next(value_of(jet).dtype for jet in jets if not is_constant(jet))
    start = jnp.zeros(len(zero), jnp.finfo(dtype).dtype)
    for index in sorted(indices)[1:]:
        fn = along
        for k, count in enumerate(index):
            for _ in range(count):
                fn = _directional_derivative(fn, start.at[k].set(1))
        for jet, out in zip(smooth, fn(start), strict=True):
            jet[index] = out
    return found


def _directional_derivative(fn, direction):
    return lambda shift: jax.jvp(fn, (shift,), (direction,))[1]


def _taylor_polynomial(jet: Jet, shift: Array) -> Any:
    """Evaluate the Taylor polynomial of a jet at `shift`."""
    if is_constant(jet):
        return value_of(jet)
    parts = []
    for index, part in jet.items():
        factor = jnp.ones((), shift.dtype)
        for k, count in enumerate(index):
            factor = factor * shift[k] ** count / math.factorial(count)
        parts.append(part * factor.astype(part.dtype))
    return sum(parts[1:], start=parts[0])
