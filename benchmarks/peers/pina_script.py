"""PINA: its residual-based attention with Adam, as its tutorials do it.

Without a batch size there is one batch with all points, always in the same order, so
that a weight belongs to a point. The weights start at zero and multiply squares of
residuals.
"""
# pyright: reportMissingImports=false

import warnings
from importlib.metadata import version

import torch
from cases import CASES, INITIAL_WEIGHT, Case, num_initial
from lightning.pytorch import seed_everything
from lightning.pytorch.callbacks import Callback
from log import Log, read_arguments
from pina import Condition, LabelTensor, Trainer
from pina.domain import CartesianDomain
from pina.equation import Equation
from pina.model import FeedForward
from pina.operator import fast_grad
from pina.problem import SpatialProblem, TimeDependentProblem
from pina.solver import RBAPhysicsInformedSingleModelSolver
from pina.weighting import ScalarWeighting


class Network(torch.nn.Module):
    """PINA's network between the inputs and the form of the solution."""

    def __init__(self, case: Case, width: int, depth: int):
        super().__init__()
        self.case = case
        self.inner = FeedForward(
            case.num_inputs, 1, inner_size=width, n_layers=depth, func=torch.nn.Tanh
        )

    def forward(self, points):
        """Values at points with labels."""
        columns = [points.extract([name]).tensor for name in self.case.names]
        inputs = torch.cat(self.case.inputs(torch, columns), dim=1)
        found = self.case.output(torch, columns, self.inner(inputs))
        return LabelTensor(found, ["u"])


class Watch(Callback):
    """Measures after a step, and ends the run."""

    def __init__(self, log: Log, predict):
        self.record, self.predict = log, predict  # Lightning takes `log` for itself

    def on_train_batch_end(self, trainer, module, outputs, *_):
        """A step was made."""
        loss = lambda: float(outputs["loss"])
        if self.record.look(trainer.global_step, loss, self.predict):
            trainer.should_stop = True


def make_problem(case: Case):
    """The problem as PINA wants it."""
    ends = dict(zip(case.names, zip(case.lower, case.upper, strict=True), strict=True))
    ends = {name: list(pair) for name, pair in ends.items()}

    def equation(points, u):
        def derivative(*which):
            found = u
            for number in which:
                labels = list(found.labels)
                found = fast_grad(found, points, labels, [case.names[number]])
            return found.tensor

        columns = [points.extract([name]).tensor for name in case.names]
        return case.residual(torch, *columns, u.tensor, derivative)

    def start(points, u):
        assert case.initial is not None
        return u.tensor - case.initial(torch, points.extract(["x"]).tensor)

    inside = {"inside": CartesianDomain(ends)}
    terms = {"inside": Condition(domain="inside", equation=Equation(equation))}
    if case.initial is not None:
        inside["start"] = CartesianDomain(ends | {"t": 0.0})
        terms["start"] = Condition(domain="start", equation=Equation(start))
    is_timed = "t" in case.names
    places = [name for name in case.names if name != "t"]
    content = {
        "output_variables": ["u"],
        "spatial_domain": CartesianDomain({name: ends[name] for name in places}),
        "domains": inside,
        "conditions": terms,
    }
    bases = (TimeDependentProblem, SpatialProblem) if is_timed else (SpatialProblem,)
    if is_timed:
        content["temporal_domain"] = CartesianDomain({"t": ends["t"]})
    return type("Problem", bases, content)()


def main() -> None:
    """Trains until the time is up."""
    asked = read_arguments()
    case = CASES[asked.problem]
    warnings.simplefilter("ignore")  # of Lightning, about workers and logs
    torch.set_num_threads(asked.threads)
    torch.set_default_dtype(torch.float64)
    seed_everything(asked.seed)
    log = Log(asked)
    problem = make_problem(case)
    problem.discretise_domain(n=asked.points, mode="random", domains="inside")
    if case.initial is not None:
        count = num_initial(asked.points)
        problem.discretise_domain(n=count, mode="random", domains="start")
    network = Network(case, asked.width, asked.depth)
    solver = RBAPhysicsInformedSingleModelSolver(
        problem=problem,
        model=network,
        weighting=ScalarWeighting({"start": INITIAL_WEIGHT}),
    )

    def predict(points):
        with torch.no_grad():
            return network(LabelTensor(torch.tensor(points), list(case.names))).tensor

    trainer = Trainer(
        solver,
        precision="64-true",
        accelerator="cpu",
        max_epochs=10**9,
        callbacks=[Watch(log, predict)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    told = versions()
    dtypes = {str(p.dtype) for p in network.parameters()}
    dtypes |= {str(tensor.dtype) for tensor in solver.buffers()}
    num_params = sum(p.numel() for p in network.parameters())
    log.about(versions=told, dtype=",".join(sorted(dtypes)), num_params=num_params)
    trainer.train()
    log.end()


def versions() -> dict[str, str]:
    """Of the packages that do the work."""
    return {name: version(name) for name in ("pina-mathlab", "lightning", "torch")}


if __name__ == "__main__":
    main()
