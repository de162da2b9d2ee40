"""The general rule: derivatives through any JAX function, in one pass over its code.

Each operation is met once. Linear ones act on every derivative, products follow
Leibniz, functions of one number Faa di Bruno; any other (a loop, a custom rule) is
differentiated by itself. What depends on no coordinate is computed once.
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
    composed,
    is_constant,
    multiplied,
    origin,
    tower,
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
# Functions of one number, on each number.
_UNARY = {
    "tanh", "sin", "cos", "tan", "exp", "exp2", "log", "log1p", "expm1", "sqrt",
    "rsqrt", "cbrt", "logistic", "sinh", "cosh", "asinh", "acosh", "atanh", "asin",
    "acos", "atan", "erf", "erfc", "erf_inv", "integer_pow", "square", "abs", "sign",
    "lgamma", "digamma",
}  # fmt: skip
# Programs inside the program.
_CALLS = {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint"}


def propagate(
    fn: Callable[..., Any], inputs: list[Jet], indices: frozenset[Index]
) -> Any:
    """The derivatives `indices` of `fn(*inputs)`: a pytree like its value, of jets.

    `indices` must hold all that lie below each of them (`closure`).
    """
    if isinstance(fn, AbstractPropagated) and len(inputs) == 1:
        return fn.propagate(inputs[0], indices)
    values = [value_of(jet) for jet in inputs]
    program, shape = jax.make_jaxpr(fn, return_shape=True)(*values)
    outputs = _run(program.jaxpr, program.consts, inputs, indices)
    outputs = jax.tree.map(jnp.asarray, outputs)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def _run(
    program: Jaxpr, constants: list[Any], inputs: list[Jet], indices: frozenset[Index]
) -> list[Jet]:
    zero = (0,) * len(next(iter(indices)))
    known: dict[Any, Jet] = {}

    def read(atom: Any) -> Jet:
        return {zero: atom.val} if isinstance(atom, Literal) else known[atom]

    for variable, value in zip(program.constvars, constants, strict=True):
        known[variable] = {zero: value}
    known.update(zip(program.invars, inputs, strict=True))
    for equation in program.eqns:
        outputs = _operate(equation, [read(v) for v in equation.invars], indices)
        known.update(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in program.outvars]


def _operate(equation: Any, jets: list[Jet], indices: frozenset[Index]) -> list[Jet]:
    """One operation on jets."""
    name, apply = equation.primitive.name, _bound(equation)
    is_smooth = any(_is_smooth(out.aval) for out in equation.outvars)
    if not is_smooth or all(is_constant(jet) for jet in jets):
        zero = (0,) * len(next(iter(indices)))
        return [{zero: out} for out in apply(*(value_of(jet) for jet in jets))]
    if name in _CALLS:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        if isinstance(inner, ClosedJaxpr):
            return _run(inner.jaxpr, inner.consts, jets, indices)
        return _run(inner, [], jets, indices)
    fixed = _fixed_operands(name, jets)
    if fixed is not None:
        return _linear(apply, jets, fixed, indices)
    one = lambda *values: apply(*values)[0]
    if name in _BILINEAR:
        return [multiplied(one, jets[0], jets[1], indices)]
    if name == "div":
        return [_divided(jets[0], jets[1], indices)]
    is_unary = name in _UNARY or (name == "pow" and is_constant(jets[1]))
    # The magnitude of a complex number has no complex derivative.
    if is_unary and (name != "abs" or not jnp.iscomplexobj(value_of(jets[0]))):
        fn = lambda value: one(value, *(value_of(jet) for jet in jets[1:]))
        order = max(sum(index) for index in indices)
        return [composed(tower(fn, value_of(jets[0]), order), jets[0], indices)]
    return _by_itself(apply, jets, indices)


def _is_smooth(value: Any) -> bool:
    """Whether an array can have derivatives: integers and truths have none."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def _bound(equation: Any) -> Callable[..., list[Any]]:
    """The operation as a function of arrays that returns a list."""
    primitive = equation.primitive

    def apply(*values):
        params = primitive.get_bind_params(equation.params)
        functions, params = params if isinstance(params, tuple) else ((), params)
        outputs = primitive.bind(*functions, *values, **params)
        return list(outputs) if primitive.multiple_results else [outputs]

    return apply


def _fixed_operands(name: str, jets: list[Jet]) -> range | None:
    """The operands that an operation, linear in the others, needs as they are: a
    condition, ids, a divisor. None if it is not linear here."""
    if name in _LINEAR:
        return range(0)
    if name not in ("select_n", "gather", "dynamic_slice", "div"):
        return None
    fixed = range(1) if name == "select_n" else range(1, len(jets))
    return fixed if all(is_constant(jets[k]) for k in fixed) else None


def _linear(
    apply: Callable[..., list[Any]],
    jets: list[Jet],
    fixed: range,
    indices: frozenset[Index],
) -> list[Jet]:
    """Each derivative by itself."""
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


def _divided(this: Jet, that: Jet, indices: frozenset[Index]) -> Jet:
    """A quotient as a product with the reciprocal."""
    order = max(sum(index) for index in indices)
    slopes = tower(lambda value: 1 / value, value_of(that), order)
    return multiplied(jnp.multiply, this, composed(slopes, that, indices), indices)


def _by_itself(
    apply: Callable[..., list[Any]], jets: list[Jet], indices: frozenset[Index]
) -> list[Jet]:
    """Derivatives of an operation along the polynomials that its operands are."""
    zero = origin(jets[0])

    def along(shift):
        outputs = apply(*(_polynomial(jet, shift) for jet in jets))
        return [out for out in outputs if _is_smooth(out)]

    found: list[Jet] = [{zero: out} for out in apply(*(value_of(jet) for jet in jets))]
    smooth = [jet for jet in found if _is_smooth(jet[zero])]
    dtype = next(value_of(jet).dtype for jet in jets if not is_constant(jet))
    start = jnp.zeros(len(zero), jnp.finfo(dtype).dtype)
    for index in sorted(indices)[1:]:
        fn = along
        for k, count in enumerate(index):
            for _ in range(count):
                fn = _derivative(fn, start.at[k].set(1))
        for jet, out in zip(smooth, fn(start), strict=True):
            jet[index] = out
    return found


def _derivative(fn, direction):
    return lambda shift: jax.jvp(fn, (shift,), (direction,))[1]


def _polynomial(jet: Jet, shift: Array) -> Any:
    """The function that has these derivatives at `shift = 0`."""
    if is_constant(jet):
        return value_of(jet)
    parts = []
    for index, part in jet.items():
        factor = jnp.ones((), shift.dtype)
        for k, count in enumerate(index):
            factor = factor * shift[k] ** count / math.factorial(count)
        parts.append(part * factor.astype(part.dtype))
    return sum(parts[1:], start=parts[0])
