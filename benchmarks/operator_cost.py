"""What the policy adds to a step of each operator, and a DeepONet against torch.

Arms take turns, some steps each, in one run: what else the machine does meets all of
them. Torch is installed by name into an environment of its own, `build/torch`.
"""

import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np

import vrba
from vrba.core import use_precision
from vrba.data import Bubble, Kolmogorov, Pairs, Wave
from vrba.operators import OperatorTrainer, methods

TORCH = "torch==2.13.0"
ARMS = {
    "uniform": methods.uniform,
    "quadratic": lambda recipe: methods.adaptive(recipe, vrba.Quadratic()),
    "exponential": lambda recipe: methods.adaptive(recipe, vrba.Exponential()),
}


def random_pairs(kind, scale: str) -> Pairs:
    """Pairs of random numbers with the shapes of a data set: a step takes the same."""
    maker = kind(**kind.scales[scale])
    grid = tuple(map(len, maker.axes()))
    in_grid = tuple(n for n, name in zip(grid, maker.names, strict=True) if name != "t")
    in_grid = in_grid or (maker.num_sensors,)
    random = np.random.default_rng(0)
    shape = lambda part: (maker.num_funcs, *part, 1)
    return Pairs(
        random.standard_normal(shape(in_grid), np.float32),
        random.standard_normal(shape(grid), np.float32),
        maker.names,
        maker.axes(),
        None,
        maker.num_train,
        maker.num_valid,
        maker.num_test,
        provenance={"settings": {"class": kind.__name__}},
    )


class Arm:
    """One way to train, a few steps at a time; `seconds` are those of a step."""

    def __init__(self, pairs: Pairs, change, num_steps: int):
        recipe = change(vrba.operators.default_operator_recipe(pairs))
        self.trainer = OperatorTrainer(pairs, recipe, 0)
        self.num_steps = min(num_steps, self.trainer.resample_every)
        self.state = self.trainer.init()
        self.seconds: list[float] = []
        self.go()
        self.seconds.clear()

    def go(self) -> None:
        """A draw, as often as a run makes one, and some steps."""
        share = self.num_steps / self.trainer.resample_every
        start = time.perf_counter()
        state = jax.block_until_ready(self.trainer.resample(self.state))
        middle = time.perf_counter()
        self.state, _ = self.trainer.advance(state, self.num_steps)
        jax.block_until_ready(self.state)
        spent = share * (middle - start) + time.perf_counter() - middle
        self.seconds.append(spent / self.num_steps)


class Torch:
    """The same DeepONet in another process, which waits for its turn."""

    def __init__(self, num_steps: int):
        home = Path("build") / "torch"
        python = home / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            install = [str(python), "-m", "pip", "install", "-q", TORCH, "numpy"]
            subprocess.run(install, check=True)
        script = Path(__file__).with_name("torch_deeponet.py")
        self.process = subprocess.Popen(
            [str(python), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.about = self.answer()
        self.num_steps, self.seconds = num_steps, []
        self.go()
        self.seconds.clear()

    def answer(self) -> str:
        """The next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def go(self) -> None:
        """Some steps."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.num_steps}\n")
        self.process.stdin.flush()
        self.seconds.append(float(self.answer()) / self.num_steps)

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()


def compare(kind, scale: str, num_steps: int, num_turns: int, *, with_torch=False):
    """Medians of a step, and the median of the ratios to uniform turn by turn."""
    pairs = random_pairs(kind, scale)
    peer = Torch(num_steps) if with_torch else None
    with use_precision("float32"):
        arms = {name: Arm(pairs, change, num_steps) for name, change in ARMS.items()}
        turns = [*arms.values(), *([peer] if peer else [])]
        for _ in range(num_turns):
            for one in turns:
                one.go()
    first = arms["uniform"]
    model = type(first.trainer.recipe.model).__name__
    params = first.trainer.num_params
    print(f"{model}, {params} parameters, {scale} data, {num_turns} turns:")
    for name, arm in arms.items():
        _tell(name, arm.seconds, first.seconds)
    if peer is not None:
        _tell("torch", peer.seconds, first.seconds)
        print(f"  torch: parameters, version, threads {peer.about.strip()}")
        peer.close()


def _tell(name: str, seconds: list[float], baseline: list[float]) -> None:
    """The median of the ratios with an interval that holds it with 95 %."""
    ratios = np.array(seconds) / np.array(baseline)
    picks = np.random.default_rng(0).choice(ratios, (2000, len(ratios)))
    low, high = np.percentile(np.median(picks, axis=1), (2.5, 97.5))
    print(
        f"  {name:12} {1e3 * np.median(seconds):9.3f} ms a step, "
        f"{np.median(ratios):.3f} of uniform, 95 %: {low:.3f} to {high:.3f}",
        flush=True,
    )


def main() -> None:
    """All three models."""
    compare(Bubble, "paper", 24, 200, with_torch=True)
    compare(Kolmogorov, "laptop", 2, 40)
    compare(Wave, "laptop", 2, 40)


if __name__ == "__main__":
    main()
