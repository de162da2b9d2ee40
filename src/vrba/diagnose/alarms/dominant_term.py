"""One term of the loss has all the gradient."""

from ._base import AbstractAlarm, Record, last_with

_KEY = "gradient "


class DominantTerm(AbstractAlarm):
    """The gradient of one term is `ratio` times as long as all the others together, in
    `count` measurements in a row. A condition that is met exactly has no gradient and
    does not count."""

    ratio: float = 100.0
    count: int = 5

    @property
    def advice(self) -> str:
        """Balance."""
        return (
            "Lower the weight of that term (`Penalty(weight=...)`), let gradient norms "
            "balance the terms (`GradientNorms()`), or make its condition exact with "
            "an `Ansatz`."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        names = [key for key in (record[-1] if record else {}) if key.startswith(_KEY)]
        last = last_with(record, self.count, *names) if len(names) > 1 else None
        if last is None:
            return None
        for name in names:
            others = [sum(e[n] for n in names if n != name) for e in last]
            lengths = [entry[name] for entry in last]
            pairs = zip(lengths, others, strict=True)
            if all(length > self.ratio * other > 0 for length, other in pairs):
                return (
                    f"The term `{name.removeprefix(_KEY)}` dominates the loss: its "
                    f"gradient is {lengths[-1] / others[-1]:.3g} times as "
                    "long as those of all others together."
                )
        return None
