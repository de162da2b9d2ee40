"""Published recipes for equations, under the names of their parts."""

from .adam_weighting import adam_weighting as adam_weighting
from .ssbroyden_sampling import ssbroyden_sampling as ssbroyden_sampling
