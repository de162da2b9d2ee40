"""Measured claims: `make bench`. Each is a ratio of two things timed in one run."""
