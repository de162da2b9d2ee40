"""jinns: Adam, self-scaled Broyden or natural gradients, with its refinement (RAR-D).

`jinns.solve` compiles its whole loop, anew in each call. So one call makes all steps of
an optimizer, and the error is measured by a validation module, which jinns calls every
few steps and which may stop it.
"""
# pyright: reportMissingImports=false

import warnings
from importlib.metadata import version
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax
from cases import CASES, END_WEIGHT, INITIAL_WEIGHT, Case, num_initial
from jax.experimental import io_callback
from jinns.data import CubicMeshPDENonStatio, CubicMeshPDEStatio, RARParameters
from jinns.optimizers import scale_by_SSBroyden_family, vanilla_ngd
from jinns.solver import GetJinnsVariableName
from jinns.validation import AbstractValidationModule
from log import Log, read_arguments

ADAM_SHARE = 0.1  # of the time, before self-scaled Broyden
MOST_STEPS = 1_000_000
EXPONENT = 1.0  # of the squared residual: k = 2 of Wu et al. (2023)


def residual_of(case: Case, point, u, params):
    """The residual at one point."""
    value = lambda place: jnp.squeeze(u(place, params))

    def derivative(*which):
        found = value
        for number in which:
            found = partial_of(found, number)
        return found(point)

    return case.residual(jnp, *point, value(point), derivative)[None]


def partial_of(function, number: int):
    """The derivative by one coordinate, forwards."""
    direction = jnp.zeros(2).at[number].set(1.0)
    return lambda place: jax.jvp(function, (place,), (direction,))[1]


class TimedEquation(jinns.loss.PDENonStatio):
    """An equation with time."""

    case: Any = eqx.field(static=True, kw_only=True)

    def equation(self, t_x, u, params):
        """Called by jinns for each point."""
        return residual_of(self.case, t_x, u, params)


class SteadyEquation(jinns.loss.PDEStatio):
    """An equation without time."""

    case: Any = eqx.field(static=True, kw_only=True)

    def equation(self, x, u, params):
        """Called by jinns for each point."""
        return residual_of(self.case, x, u, params)


class End(jinns.loss.BoundaryConditionAbstract):
    """Values at the upper end of the second coordinate, the last facet of jinns."""

    case: Any = eqx.field(static=True, kw_only=True)

    def equation_u(self, inputs, u, params):
        """Called by jinns for each time, with the points of both ends."""
        return (jnp.reshape(u(inputs[:, 1], params), (1,)),)

    def equation_f(self, inputs, params, gridify=False):
        """The values there."""
        return (jnp.reshape(self.case.end(jnp, inputs[0, 1]), (1,)),)


class Watch(AbstractValidationModule):
    """Calls back out of the compiled loop."""

    look: Any = eqx.field(static=True, kw_only=True)
    call_every: int = eqx.field(kw_only=True)
    count: Any = eqx.field(kw_only=True, converter=jnp.asarray, default=0)

    def __call__(self, params) -> Any:
        """The next module, whether to stop, a criterion, and whether it is the best."""
        shape = jax.ShapeDtypeStruct((), bool)
        is_over = io_callback(self.look, shape, self.count, params)
        new = eqx.tree_at(lambda w: w.count, self, self.count + self.call_every)
        return new, is_over, jnp.asarray(0.0), False


def callback_value(params, loss, batch):
    """The loss for the line search."""
    return loss(params, batch)[0]


def callback_gradient(params, loss, batch, **_):
    """Its gradient after the step."""
    return jax.grad(lambda p: loss(p, batch)[0])(params)


SSBROYDEN_EXTRAS = {
    "value": GetJinnsVariableName("train_loss_value"),
    "grad_pt": GetJinnsVariableName("grads"),
    "value_fn": callback_value,
    "grad_fn": callback_gradient,
    "loss": GetJinnsVariableName("loss"),
    "batch": GetJinnsVariableName("batch"),
}


class Stage(NamedTuple):
    """An optimizer, until which share of the time, and after how many steps to look."""

    optimizer: Any
    share: float
    look_every: int
    extras: dict[str, Any] | None = None


def stages_of(arm: str) -> list[Stage]:
    """By the name of the arm."""
    if arm == "jinns-ssbroyden":
        last = Stage(scale_by_SSBroyden_family(), 1.0, 5, SSBROYDEN_EXTRAS)
        return [Stage(optax.adam(1e-3), ADAM_SHARE, 10), last]
    if arm == "jinns-ngd":
        search = optax.scale_by_backtracking_linesearch(max_backtracking_steps=15)
        return [Stage(vanilla_ngd(linesearch=search), 1.0, 1)]
    return [Stage(optax.adam(1e-3), 1.0, 10)]


def make_parts(case: Case, asked, key):
    """The first parameters, the points and the loss."""
    network_key, data_key = jax.random.split(key)
    sizes = [case.num_inputs, *[asked.width] * asked.depth, 1]
    layers = []
    for before, after in zip(sizes, sizes[1:], strict=False):
        layers += [(eqx.nn.Linear, before, after), (jax.nn.tanh,)]
    is_timed = "t" in case.names
    u, weights = jinns.nn.PINN_MLP.create(
        key=network_key,
        eqx_list=tuple(layers[:-1]),
        eq_type="PDENonStatio" if is_timed else "PDEStatio",
        input_transform=lambda place, _: jnp.stack(case.inputs(jnp, place)),
        output_transform=lambda place, out, _: case.output(jnp, place, out),
    )
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    every = 15 if asked.arm == "jinns-ngd" else 100  # as vrba redraws
    refine = RARParameters(
        update_every=every, novelty_proportion=0.5, method="D", k=EXPONENT, c=0.0
    )
    common = {"key": data_key, "n": asked.points, "rar_parameters": refine}
    if not is_timed:
        data = CubicMeshPDEStatio(
            **common, dim=2, min_pts=case.lower, max_pts=case.upper
        )
        loss = jinns.loss.LossPDEStatio(
            u=u,
            dynamic_loss=SteadyEquation(case=case),
            loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=jnp.ones(())),
            params=params,
        )
        return params, data, loss
    data = CubicMeshPDENonStatio(
        **common,
        ni=num_initial(asked.points),
        nb=None if case.end is None else 2 * num_initial(asked.points),
        dim=1,
        min_pts=case.lower[1:],
        max_pts=case.upper[1:],
        tmin=case.lower[0],
        tmax=case.upper[0],
    )
    initial = case.initial
    weight = None if initial is None else jnp.asarray(INITIAL_WEIGHT)
    end_weight = None if case.end is None else jnp.asarray(END_WEIGHT)
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=TimedEquation(case=case),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(
            dyn_loss=jnp.ones(()),
            initial_condition=weight,
            boundary_loss=end_weight,
        ),
        boundary_condition=None if case.end is None else End(case=case),
        initial_condition_fun=initial and (lambda x: initial(jnp, x)),
        params=params,
    )
    return params, data, loss


def main() -> None:
    """Trains until the time is up."""
    asked = read_arguments()
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")  # of conditions that are in the ansatz
    log = Log(asked)
    key, solve_key = jax.random.split(jax.random.key(asked.seed))
    case = CASES[asked.problem]
    params, data, loss = make_parts(case, asked, key)
    leaves = jax.tree.leaves(params)
    log.about(
        versions={name: version(name) for name in ("jinns", "jax", "optax")},
        dtype=",".join(sorted({str(leaf.dtype) for leaf in leaves})),
        num_params=sum(leaf.size for leaf in leaves),
    )
    run = Run(loss, log, case, solve_key)
    for stage in stages_of(asked.arm):
        params, data = run.solve(params, data, stage)
    losses = np.concatenate(run.losses)
    log.end(lambda step: losses[step - 1])


class Run:
    """Calls of `jinns.solve`, one after another."""

    def __init__(self, loss, log: Log, case: Case, key):
        self.loss, self.log, self.case, self.key = loss, log, case, key
        self.losses: list[np.ndarray] = []
        self.limit = 0.0

    @property
    def num_done(self) -> int:
        """Steps of earlier stages."""
        return sum(map(len, self.losses))

    def look(self, count, params):
        """Measures without JAX, which is busy while it calls back."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
        predict = lambda points: values_at(self.case, leaves, points)
        self.log.look(self.num_done + int(count) + 1, None, predict)
        return np.asarray(self.log.clock() >= self.limit)

    def solve(self, params, data, stage: Stage):
        """One stage; returns parameters and points."""
        self.limit = stage.share * self.log.limit
        done = jinns.solve(
            n_iter=MOST_STEPS,
            init_params=params,
            data=data,
            loss=self.loss,
            optimizer=stage.optimizer,
            validation=Watch(look=self.look, call_every=stage.look_every),
            extra_optax_args_and_kwargs=stage.extras,
            verbose=False,
            key=self.key,
        )
        self.losses.append(np.asarray(done[1])[: self.log.step - self.num_done])
        return done[0], done[3]


def values_at(case: Case, leaves: list[np.ndarray], points: np.ndarray) -> np.ndarray:
    """The network by hand, from its weights and biases."""
    hidden = np.stack(case.inputs(np, points.T), axis=1)
    for weight, bias in zip(leaves[:-2:2], leaves[1:-2:2], strict=True):
        hidden = np.tanh(hidden @ weight.T + bias)
    out = hidden @ leaves[-2].T + leaves[-1]
    return case.output(np, points.T, out[:, 0])


if __name__ == "__main__":
    main()
