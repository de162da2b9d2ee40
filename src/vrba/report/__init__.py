"""Figures, pages and terminal output of runs; the only home of matplotlib and rich."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
