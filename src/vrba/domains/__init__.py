"""Where an equation holds: points inside, points on the boundary."""

from ._base import AbstractDomain as AbstractDomain
from ._regions import ON_BOUNDARY as ON_BOUNDARY
from .balls import Ball as Ball
from .balls import Disk as Disk
from .box import Box as Box
from .combinations import Difference as Difference
from .combinations import Intersection as Intersection
from .combinations import Union as Union
from .mesh import Mesh as Mesh
from .point_cloud import PointCloud as PointCloud
from .polygon import Polygon as Polygon
from .product import Product as Product
from .quadrature import make_quadrature as make_quadrature
