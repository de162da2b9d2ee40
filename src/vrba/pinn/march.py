"""The steps of time marching: train, halve, polish and sweep."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from ..runs import StopFlag, StopReason
from .marching import TimeMarching
from .marching_files import MarchFiles, MarchState
from .polisher import polished_network
from .slab_steps import SlabStep, SlabTraining, polish_slab, train_slab
from .slabs import Interval, Slabs, Start
from .sweeps import (
    estimate_of,
    join_parts,
    parts_of,
    relative_change,
    rounding,
    sweep_sentence,
)

_LEFT_OVER = 1.25  # so many lengths that are left become one slab
_PATIENCE = 3  # slabs after one that was stuck, before a longer one is tried
_TRAIN_SHARE = 0.6  # of a slab's share of the time

Report = Callable[[MarchState, str], None]


class March:
    """The steps of time marching, with the time that they have.

    `begun` and `max_seconds` are seconds of the run, as `clock` returns them. Sweeps
    end once a reliable estimate is below the `tolerance`.
    """

    def __init__(
        self,
        slabs: Slabs,
        settings: TimeMarching,
        files: MarchFiles,
        report: Report,
        flag: StopFlag,
        clock: Callable[[], float],
        begun: float,
        max_seconds: float,
        tolerance: float | None,
    ):
        self.slabs, self.settings, self.files = slabs, settings, files
        self.report, self.flag, self.clock = report, flag, clock
        self.begun, self.max_seconds, self.tolerance = begun, max_seconds, tolerance
        self.polish_seconds = 0.0  # of the last step of the linear stage

    def run(self, state: MarchState) -> MarchState:
        """All slabs that are left, then the sweeps."""
        while state.stop_reason is None:
            if self.flag.is_set:
                return self._saved(state)
            if state.trained:
                state = self._finished(state)
            elif self._reached(state) >= self.slabs.interval.end:
                state = self._saved(self._swept(state))
            elif self.clock() >= self.max_seconds:
                state = self._saved(state.with_(stop_reason=StopReason.time))
            else:
                state = self._trained(state)
        return state

    def _saved(self, state: MarchState) -> MarchState:
        state = state.with_(seconds=self.clock() - self.begun)
        self.files.save(state)
        return state

    def _reached(self, state: MarchState) -> float:
        return state.slabs[-1]["end"] if state.slabs else self.slabs.interval.start

    def _is_stopped(self) -> bool:
        return self.flag.is_set or self.clock() >= self.max_seconds

    def _trained(self, state: MarchState) -> MarchState:
        """The state after training on the next slab; the same if it was stopped."""
        begin, end = self._reached(state), self.slabs.interval.end
        is_last = end - begin <= _LEFT_OVER * state.length
        interval = Interval(begin, end if is_last else begin + state.length)
        now, left = self.clock(), self.max_seconds - self.clock()
        share = _TRAIN_SHARE * left * interval.length / (end - begin)
        done = train_slab(
            self.slabs,
            interval,
            self._initial_params(state),
            self._start(state),
            self.settings,
            is_stopped=self._is_stopped,
            is_late=lambda: self.clock() > now + share,
        )
        if done is None:
            return state
        is_stuck = done.is_stuck(self.settings)
        attempt = interval._asdict() | {
            "steps": done.num_steps,
            "residual": done.residual,
            "is_stuck": is_stuck,
        }
        tried = state.with_(attempts=(*state.attempts, attempt))
        self.report(tried, _sentence(len(state.slabs) + 1, attempt))
        if is_stuck:
            tried = tried.with_(length=interval.length / 2)
            least = self.settings.smallest * self.slabs.interval.length
            if tried.length < least:
                tried = tried.with_(stop_reason=StopReason.short_slab)
            return self._saved(tried)
        network = eqx.combine(done.params, self.slabs.whole.skeleton)
        length = self._next_length(tried, interval, done)
        slab = attempt | {"factors": done.factors}
        return tried.with_(length=length, trained=((slab, network),))

    def _next_length(
        self, state: MarchState, interval: Interval, done: SlabTraining
    ) -> float:
        last = [one["is_stuck"] for one in state.attempts[-_PATIENCE:]]
        grows = done.is_easy(self.settings) and not any(last)
        return (2 if grows else 1) * interval.length

    def _start(self, state: MarchState) -> Start:
        """The initial values of the next slab."""
        if not state.slabs:
            return self.slabs.first_values()
        last, network = state.intervals[-1], state.networks[-1]
        return self.slabs.values_of(last, network, self.settings.polish)

    def _initial_params(self, state: MarchState) -> Any:
        if not state.networks:
            return self.slabs.whole.initial_params()
        last = state.networks[-1]
        base = last if self.settings.polish is None else last.base
        return eqx.filter(base, eqx.is_inexact_array)

    def _finished(self, state: MarchState) -> MarchState:
        """The state after a step of the linear stage on the trained slab, if there is
        time for it; the same if it was stopped."""
        ((slab, network),) = state.trained
        interval, change = Interval(slab["start"], slab["end"]), None
        if (settings := self.settings.polish) is not None:
            factors, start = slab["factors"], self._start(state)
            found = None
            if self.clock() + self.polish_seconds <= self.max_seconds:
                found = self._step(interval, network, factors, start, 0)
            if found is None and self.flag.is_set:
                return state
            if found is not None and found.is_accepted:
                network, change = found.network, relative_change(found)
            else:
                params = eqx.filter(network, eqx.is_inexact_array)
                network = polished_network(settings, self.slabs.whole, params)
        return self._saved(
            state.with_(
                slabs=(*state.slabs, slab | {"change": change}),
                networks=(*state.networks, network),
                trained=(),
            )
        )

    def _step(
        self,
        interval: Interval,
        network: Any,
        factors: dict[str, float],
        start: Start,
        number: int,
    ) -> SlabStep | None:
        """A step of the linear stage; `None` if it was stopped."""
        settings: Any = self.settings.polish
        begun, stop = self.clock(), self._is_stopped
        found = polish_slab(
            self.slabs, interval, network, factors, start, settings, number, stop
        )
        if found is not None:
            self.polish_seconds = self.clock() - begun
        return found

    def _why_over(self, state: MarchState) -> StopReason | None:
        """Why no further step of a sweep follows."""
        if self.settings.polish is None:
            return StopReason.marched
        least = rounding(self.slabs.whole.dtype)
        estimate, is_reliable = estimate_of(state.sweeps, least)
        if estimate is not None and is_reliable:
            if self.tolerance is not None and estimate <= self.tolerance:
                return StopReason.tolerance
            if estimate == least:
                return StopReason.converged
        is_over = bool(state.sweeps) and not state.sweeps[-1]["is_accepted"]
        if is_over or len(state.sweeps) >= self.settings.max_sweeps:
            return StopReason.marched
        left = self.polish_seconds * (len(state.slabs) - len(state.swept))
        return StopReason.time if self.clock() + left > self.max_seconds else None

    def _swept(self, state: MarchState) -> MarchState:
        """The state after the next slab of a sweep, or with a reason to stop; the same
        if it was stopped."""
        if (reason := self._why_over(state)) is not None:
            return state.with_(stop_reason=reason)
        count, number = len(state.swept), len(state.sweeps) + 1
        interval, start = state.intervals[count], self.slabs.first_values()
        if count:
            before, polish = state.intervals[count - 1], self.settings.polish
            start = self.slabs.values_of(before, state.swept[-1], polish)
        factors = state.slabs[count]["factors"]
        found = self._step(interval, state.networks[count], factors, start, number)
        if found is None:
            is_late = not self.flag.is_set
            return state.with_(stop_reason=StopReason.time) if is_late else state
        swept, parts = (*state.swept, found.network), parts_of(found, interval)
        state = state.with_(swept=swept, swept_parts=(*state.swept_parts, parts))
        if len(swept) < len(state.slabs):
            return state
        sweep = join_parts(state.swept_parts, rounding(self.slabs.whole.dtype))
        networks = swept if sweep["is_accepted"] else state.networks
        sweeps = (*state.sweeps, sweep)
        state = state.with_(networks=networks, sweeps=sweeps, swept=(), swept_parts=())
        self.report(state, sweep_sentence(number, sweep))
        return state


def _sentence(number: int, attempt: dict[str, Any]) -> str:
    place = f"Slab {number} [{attempt['start']:.4g}, {attempt['end']:.4g}]"
    found = f"residual {attempt['residual']:.1e} after {attempt['steps']} steps"
    return f"{place}: {found}{', stuck: half as long' * attempt['is_stuck']}"
