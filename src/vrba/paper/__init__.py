"""Toscano et al. (2025): its experiments, tables and figures."""

from ._base import SCALES as SCALES
from ._base import CitedRow as CitedRow
from ._base import Experiment as Experiment
from ._base import PaperItem as PaperItem
from ._base import PaperRow as PaperRow
from .items import known_experiments as known_experiments
from .items import known_items as known_items
from .page import HOW_TO_READ as HOW_TO_READ
from .page import differences_text as differences_text
from .page import item_text as item_text
from .page import item_title as item_title
from .page import write_item_page as write_item_page
from .published import PublishedCurves as PublishedCurves
from .published import published_curves as published_curves
from .reproduction import ALL as ALL
from .reproduction import Reproduction as Reproduction
from .reproduction import reproduce as reproduce
from .result import result_of as result_of
