"""The page of the linear stage."""


def write_page() -> None:
    pass
