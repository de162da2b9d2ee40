"""DeepXDE: Adam, then rounds of Adam and L-BFGS, with points drawn anew before each by
the density of the residual (RAD, Wu et al. 2023, as its authors do it with DeepXDE).

The drawn points replace all others with `replace_with_anchors`: `PDEPointResampler`
would draw evenly, and under the default Hammersley points nothing at all.
"""
# pyright: reportMissingImports=false

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch
import torch._dynamo  # which torch would import in the first step
from cases import CASES, END_WEIGHT, INITIAL_WEIGHT, num_initial
from log import Log, read_arguments

ADAM_SHARE = 0.1  # of the time, or 15,000 steps
ROUND_ITERATIONS = 1000  # of Adam, then of L-BFGS
LOOK_EVERY = 200  # iterations of L-BFGS that DeepXDE makes without a callback
EXPONENT, CONSTANT = 1.0, 1.0  # k and c of RAD


class Watch(dde.callbacks.Callback):
    """Measures, and ends a stage when its time is up."""

    def __init__(self, log: Log, predict):
        super().__init__()
        self.log, self.predict, self.limit = log, predict, log.limit

    def on_epoch_end(self):
        """After a step of Adam or some of L-BFGS."""
        step = self.model.train_state.step
        self.log.look(step, lambda: loss_of(self.model), self.predict)
        if self.log.clock() >= self.limit:
            self.model.stop_training = True


def loss_of(model) -> float:
    """The loss on the points at work, with its weights."""
    losses = model.outputs_losses_train(*model.data.train_next_batch())[1]
    return float(torch.sum(losses).detach())


def main() -> None:
    """Trains until the time is up."""
    asked = read_arguments()
    case = CASES[asked.problem]
    torch.set_num_threads(asked.threads)
    dde.config.set_default_float("float64")
    dde.config.set_random_seed(asked.seed)
    log = Log(asked)
    is_timed = "t" in case.names
    order = (1, 0) if is_timed else (0, 1)  # time is the last coordinate in DeepXDE
    columns = lambda x: (x[:, order[0], None], x[:, order[1], None])

    def pde(x, u):
        def derivative(*which):
            if len(which) == 1:
                return dde.grad.jacobian(u, x, i=0, j=order[which[0]])
            return dde.grad.hessian(u, x, i=order[which[0]], j=order[which[1]])

        return case.residual(torch, *columns(x), u, derivative)

    data = make_data(case, pde, asked, is_timed)
    sizes = [case.num_inputs, *[asked.width] * asked.depth, 1]
    net = dde.nn.FNN(sizes, "tanh", "Glorot normal")
    net.apply_feature_transform(
        lambda x: torch.cat(case.inputs(torch, columns(x)), dim=1)
    )
    net.apply_output_transform(lambda x, y: case.output(torch, columns(x), y))
    model = dde.Model(data, net)
    weights = [1.0]
    weights += [INITIAL_WEIGHT] if case.initial is not None else []
    weights += [END_WEIGHT] if case.end is not None else []
    predict = lambda points: model.predict(points[:, list(order)])
    watch = Watch(log, predict)
    train(model, data, pde, asked, log, watch, weights, net)
    log.end()


def make_data(case, pde, asked, is_timed: bool):
    """Points of the first stage, and the values that are in the loss."""
    count = {"num_domain": asked.points, "train_distribution": "pseudo"}
    if not is_timed:
        shape = dde.geometry.Rectangle(list(case.lower), list(case.upper))
        return dde.data.PDE(shape, pde, [], **count)
    space = dde.geometry.Interval(case.lower[1], case.upper[1])
    time = dde.geometry.TimeDomain(case.lower[0], case.upper[0])
    shape = dde.geometry.GeometryXTime(space, time)
    if case.end is not None:
        times = np.random.uniform(  # noqa: NPY002  (the seed that DeepXDE has set)
            case.lower[0], case.upper[0], (num_initial(asked.points), 1)
        )
        places = np.hstack([np.full_like(times, case.upper[1]), times])
        given = dde.icbc.PointSetBC(places, case.end(np, times))
        return dde.data.TimePDE(shape, pde, [given], **count)
    if case.initial is None:
        return dde.data.TimePDE(shape, pde, [], **count)
    values = lambda x: case.initial(np, x[:, :1])
    start = dde.icbc.IC(shape, values, lambda _, is_initial: is_initial)
    count["num_initial"] = num_initial(asked.points)
    return dde.data.TimePDE(shape, pde, [start], **count)


def train(model, data, pde, asked, log, watch, weights, net) -> None:
    """Adam, then rounds of both, each on points drawn by the residual; what is no
    number ends it."""
    options = dde.optimizers.config.LBFGS_options
    dde.optimizers.set_LBFGS_options(maxiter=ROUND_ITERATIONS)
    # `set_LBFGS_options` leaves these two as they were when DeepXDE was imported
    options["iter_per_step"], options["fun_per_step"] = LOOK_EVERY, 2 * LOOK_EVERY
    model.compile("adam", lr=1e-3, loss_weights=weights, verbose=0)
    dtypes = sorted({str(p.dtype) for p in net.parameters()})
    num_params = sum(p.numel() for p in net.parameters())
    versions = {"deepxde": dde.__version__, "torch": torch.__version__}
    log.about(versions=versions, dtype=",".join(dtypes), num_params=num_params)
    watch.limit = ADAM_SHARE * log.limit
    settings = {"callbacks": [watch], "verbose": 0}
    model.train(iterations=15_000, display_every=10**9, **settings)
    watch.limit = log.limit
    while not log.is_over() and resample(model, data, pde, asked):
        model.compile("adam", lr=1e-3, loss_weights=weights, verbose=0)
        model.train(iterations=ROUND_ITERATIONS, display_every=10**9, **settings)
        model.compile("L-BFGS", loss_weights=weights, verbose=0)
        model.train(display_every=10**9, **settings)
    log.measure(model.train_state.step, loss_of(model), watch.predict)


def resample(model, data, pde, asked) -> bool:
    """Points by the density `|r|^k / mean + c`, none of them twice; returns whether
    there is such a density."""
    pool = data.geom.random_points(asked.pool)
    size = np.abs(model.predict(pool, operator=pde))[:, 0] ** EXPONENT
    if not np.all(np.isfinite(size)):
        return False
    density = size / np.mean(size) + CONSTANT
    picks = np.random.choice(  # noqa: NPY002  (the seed that DeepXDE has set)
        len(pool), asked.points, replace=False, p=density / np.sum(density)
    )
    data.replace_with_anchors(pool[picks])
    return True


if __name__ == "__main__":
    main()
