"""Hard problems of the benchmarks, which do not come with the package.

Each file is also one for the command line: `vrba solve benchmarks/problems/lorenz.py`.
"""

import inspect

from vrba.core import kebab_case
from vrba.problems import Problem

from .barenblatt import Barenblatt as Barenblatt
from .biharmonic import Biharmonic as Biharmonic
from .boundary_layer import BoundaryLayer as BoundaryLayer
from .cavity_400 import Cavity400 as Cavity400
from .cooled_disk import CooledDisk as CooledDisk
from .eikonal import Eikonal as Eikonal
from .fisher_kpp import FisherKPP as FisherKPP
from .heat_across_interface import HeatAcrossInterface as HeatAcrossInterface
from .heat_around_circles import HeatAroundCircles as HeatAroundCircles
from .heat_for_long import HeatForLong as HeatForLong
from .heat_in_two_materials import HeatInTwoMaterials as HeatInTwoMaterials
from .interior_layer import InteriorLayer as InteriorLayer
from .inverse_fisher import InverseFisher as InverseFisher
from .inverse_poisson import InversePoisson as InversePoisson
from .kovasznay import Kovasznay as Kovasznay
from .long_wave import LongWave as LongWave
from .lorenz import Lorenz as Lorenz
from .plain_burgers import PlainBurgers as PlainBurgers
from .porous_fisher import PorousFisher as PorousFisher
from .rotating_hill import RotatingHill as RotatingHill
from .short_waves import ShortWaves as ShortWaves
from .square_with_four_holes import SquareWithFourHoles as SquareWithFourHoles
from .swift_hohenberg import SwiftHohenberg as SwiftHohenberg
from .two_conductors import TwoConductors as TwoConductors
from .van_der_pol import VanDerPol as VanDerPol
from .wave_with_variable_speed import WaveWithVariableSpeed as WaveWithVariableSpeed


def all_problems() -> dict[str, type[Problem]]:
    """Return the exported problems by name, such as `boundary-layer`."""
    found = [
        value
        for value in globals().values()
        if inspect.isclass(value)
        and issubclass(value, Problem)
        and value is not Problem
    ]
    return {kebab_case(kind.__name__): kind for kind in found}
