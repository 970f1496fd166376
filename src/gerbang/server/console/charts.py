"""Bar charts as numbers that a template draws: no script, no style, and the same figures as a table."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

WIDTH: Final = 720
HEIGHT: Final = 180
_LEFT: Final = 56
_BOTTOM: Final = 24
_TOP: Final = 20
_GAP: Final = 4
CLASSES: Final = ("first", "second", "third")
_EVERY: Final = 6
"""Every so many bars have their time written under them."""


class Bar(Struct, frozen=True):
    """A rectangle of the drawing. `kind` is the class of its colour, `told` what a pointer is told."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    told: str


class Chart(Struct, frozen=True):
    """A chart: its drawing, and its figures by the time in each row."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    times: tuple[tuple[float, str], ...]
    series: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    summary: str
    empty: bool
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    base: int = HEIGHT - _BOTTOM


def bars(
    name: str, title: str, labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]
) -> Chart:
    """Return the chart of one or more series over the same stretches of time."""
    top = max((value for _, values in series for value in values), default=0.0)
    scale = _round_up(top)
    base, room = HEIGHT - _BOTTOM, HEIGHT - _BOTTOM - _TOP
    step = (WIDTH - _LEFT) / max(1, len(labels))
    width = (step - _GAP) / len(series)
    drawn = [
        Bar(
            round(_LEFT + place * step + number * width, 2),
            round(base - room * value / scale, 2),
            round(width, 2),
            round(room * value / scale, 2),
            CLASSES[number],
            f"{labels[place]}: {label} {figure(value)}",
        )
        for number, (label, values) in enumerate(series)
        for place, value in enumerate(values)
        if value > 0
    ]
    ticks = [(round(base - room * part, 2), figure(scale * part)) for part in (0.0, 0.5, 1.0)]
    times = [(round(_LEFT + place * step, 2), labels[place]) for place in range(0, len(labels), _EVERY)]
    rows = [
        (label, tuple(figure(values[place]) for _, values in series))
        for place, label in enumerate(labels)
        if any(values[place] for _, values in series)
    ]
    said = "; ".join(f"{label}: max {figure(max(values, default=0.0))}" for label, values in series)
    return Chart(
        name,
        title,
        tuple(drawn),
        tuple(ticks),
        tuple(times),
        tuple((label, CLASSES[number]) for number, (label, _) in enumerate(series)),
        tuple(rows),
        f"{title}. {said}",
        top <= 0,
    )


def figure(value: float) -> str:
    """Return a number as people read it."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _round_up(top: float) -> float:
    """Return the end of the scale: 1, 2, 5 or 10 times a power of ten, not below the largest value."""
    if top <= 0:
        return 1.0
    top = min(max(top, 1e-9), 1e15)
    power = 1.0
    while power * 10 <= top:
        power *= 10
    while power > top:
        power /= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= top)
