"""Where an equation holds: points inside, points on the boundary."""

from ._base import AbstractDomain as AbstractDomain
from ._patch import ON_BOUNDARY as ON_BOUNDARY
from .ball import Ball as Ball
from .box import Box as Box
from .difference import Difference as Difference
from .disk import Disk as Disk
from .intersection import Intersection as Intersection
from .mesh import Mesh as Mesh
from .point_cloud import PointCloud as PointCloud
from .polygon import Polygon as Polygon
from .product import Product as Product
from .union import Union as Union
