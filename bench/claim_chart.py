"""
The figures as a picture: the literal rule and the asserted one side by side.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_LITERAL, _ASSERTED = "#b9b4a7", "#2f6f6a"


class Bar(NamedTuple):
    """
    One line of the chart: a label and both rules' figures, from 0 to 1; None where the literal rule has no list.
    """

    label: str
    literal: float | None
    asserted: float


def draw(scores: Sequence[Bar], noticed: Sequence[Bar], path: Path) -> None:
    """
    Draw *scores* (more is better) above *noticed* (less is better) into *path*, PNG or SVG by its ending.

    Raises:
        ImportError: the extra ``bench`` is not installed. Nothing was written.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    # The same picture for the same figures: no random names, no date inside.
    mpl.rcParams["svg.hashsalt"] = "claims"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        2,
        1,
        figsize=(8, 1.6 + 0.42 * (len(scores) + len(noticed))),
        height_ratios=[max(len(scores), 1), max(len(noticed), 1)],
        layout="constrained",
    )
    _bars(axes[0], scores, "F1 on labelled answers (more is better)")
    _bars(axes[1], noticed, "notices on answers of turns that wrote nothing (less is better)")
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _bars(axes: "object", bars: Sequence[Bar], title: str) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    places = range(len(bars))
    for offset, color, label, values in (
        (-0.2, _LITERAL, "literal rule", [bar.literal for bar in bars]),
        (0.2, _ASSERTED, "asserted claims", [bar.asserted for bar in bars]),
    ):
        heights = [place + offset for place in places]
        drawn = axes.barh(heights, [value or 0.0 for value in values], height=0.38, color=color, label=label)
        told = ["no list" if value is None else f"{value:.1%}" for value in values]
        axes.bar_label(drawn, labels=told, padding=3, fontsize=8)
    axes.set_yticks(list(places), [bar.label for bar in bars])
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlim(0, 1.12 if max((bar.asserted for bar in bars), default=0) > 0.5 else 0.6)
    axes.xaxis.set_visible(False)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
