"""Experiments: one file each, with what was published."""

from .allen_cahn_512 import ALLEN_CAHN_512 as ALLEN_CAHN_512
from .allen_cahn_adam import ALLEN_CAHN_ADAM as ALLEN_CAHN_ADAM
from .allen_cahn_own import ALLEN_CAHN_OWN as ALLEN_CAHN_OWN
from .allen_cahn_ssbroyden import ALLEN_CAHN_SSBROYDEN as ALLEN_CAHN_SSBROYDEN
from .bubble import BUBBLE as BUBBLE
from .burgers_own import BURGERS_OWN as BURGERS_OWN
from .burgers_ssbroyden import BURGERS_SSBROYDEN as BURGERS_SSBROYDEN
from .kolmogorov import KOLMOGOROV as KOLMOGOROV
from .wave import WAVE as WAVE
