"""Coefficients from noisy readings: `vrba solve examples/inverse.py --minutes 0.5`."""

import numpy as np

from vrba import Ansatz, Box, Data, Problem, Reference, Unknown

DAMPING, STIFFNESS, NOISE = 0.4, 9.0, 0.01
FREQUENCY = np.sqrt(STIFFNESS - DAMPING**2 / 4)


def displacement(t):
    """The truth that the readings are of."""
    turned = np.cos(FREQUENCY * t) + DAMPING / 2 / FREQUENCY * np.sin(FREQUENCY * t)
    return np.exp(-DAMPING * t / 2) * turned


class Oscillator(Problem):  # let go at rest, then read 100 times
    domain = Box(t=(0, 5))
    unknowns = {"damping": Unknown(0.0), "stiffness": Unknown(5.0, is_positive=True)}

    def equations(self, u, t, damping, stiffness):
        return {"motion": u.tt + damping * u.t + stiffness * u}

    def conditions(self):
        t = np.linspace(0, 5, 100)
        readings = displacement(t) + NOISE * np.random.default_rng(0).normal(size=100)
        return [Ansatz(lambda t, N: 1 + t**2 * N), Data(t[:, None], readings)]

    def reference(self):  # only to see how well it went
        t = np.linspace(0, 5, 501)
        true = {"damping": DAMPING, "stiffness": STIFFNESS}
        return Reference({"t": t}, displacement(t), unknowns=true)
