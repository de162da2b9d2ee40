"""Find coefficients from noisy data: `vrba solve examples/inverse.py --minutes 0.5`."""

import numpy as np

from vrba import Ansatz, Box, Data, Problem, Reference, Unknown

DAMPING, STIFFNESS, NOISE = 0.4, 9.0, 0.01
FREQUENCY = np.sqrt(STIFFNESS - DAMPING**2 / 4)


def displacement(t):
    """The exact solution, which is measured with noise."""
    phase, ratio = FREQUENCY * t, DAMPING / 2 / FREQUENCY
    return np.exp(-DAMPING * t / 2) * (np.cos(phase) + ratio * np.sin(phase))


class Oscillator(Problem):  # released at rest, measured 100 times
    domain = Box(t=(0, 5))
    unknowns = {"damping": Unknown(0.0), "stiffness": Unknown(5.0, is_positive=True)}

    def equations(self, u, t, damping, stiffness):
        return {"motion": u.tt + damping * u.t + stiffness * u}

    def conditions(self):
        t = np.linspace(0, 5, 100)
        readings = displacement(t) + NOISE * np.random.default_rng(0).normal(size=100)
        return [Ansatz(lambda t, N: 1 + t**2 * N), Data(t[:, None], readings)]

    def reference(self):  # only for the error; not used in training
        t = np.linspace(0, 5, 501)
        true = {"damping": DAMPING, "stiffness": STIFFNESS}
        return Reference({"t": t}, displacement(t), unknowns=true)
