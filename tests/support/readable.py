"""Checks that a reader can read all texts of a figure: none lies on another one, and none is cut."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

SLACK = 1.0  # pixels by which boxes may overlap: glyphs do not fill their boxes


def assert_readable(figure, least=5.0):
    """Draw the figure; fail if two texts overlap, a text is cut, or a font is smaller than ``least`` points."""
    texts = drawn_texts(figure)
    assert texts, "the figure has no text"
    small = sorted({text.get_text() for text, _ in texts if text.get_fontsize() < least})
    assert not small, f"smaller than {least} points: {small}"
    cut = [text.get_text() for text, box in texts if _is_cut(text, box, figure)]
    assert not cut, f"cut at the edge: {cut}"
    on_another = [
        (one.get_text(), other.get_text())
        for (one, box), (other, other_box) in combinations(texts, 2)
        if _overlap(box, other_box)
    ]
    assert not on_another, f"texts on texts: {on_another}"


def drawn_texts(figure):
    """Return all texts that are drawn, with the corners of their boxes in pixels, shape (4, 2)."""
    canvas, drawn = FigureCanvasAgg(figure), {}
    draw = Text.draw

    def recorded(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn[id(self)] = self
        return draw(self, renderer, *args, **kwargs)

    with patch.object(Text, "draw", recorded):
        canvas.draw()
    return [(text, _corners(text, canvas.get_renderer())) for text in drawn.values()]


def _corners(text, renderer):
    box = Text.get_window_extent(text, renderer)
    middle, turn = (box.min + box.max) / 2, text.get_rotation()
    if turn % 90:  # the box above is larger than the turned text
        text.set_rotation(0)
        box = Text.get_window_extent(text, renderer)
        text.set_rotation(turn)
    else:
        turn = 0
    half = np.maximum(np.array([box.width, box.height]) / 2 - SLACK / 2, 0)
    radians = np.radians(turn)
    rotation = np.array([[np.cos(radians), np.sin(radians)], [-np.sin(radians), np.cos(radians)]])
    return middle + (half * [[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ rotation


def _overlap(one, other):
    """Two rectangles overlap unless the direction of a side separates them."""
    for box in (one, other):
        for side in (box[1] - box[0], box[3] - box[0]):
            if (one @ side).max() <= (other @ side).min() or (other @ side).max() <= (one @ side).min():
                return False
    return True


def _is_cut(text, box, figure):
    outer = [figure.bbox]
    if text.get_clip_on() and text.get_clip_box() is not None:
        outer.append(text.get_clip_box())
    return any((box < frame.min - SLACK).any() or (box > frame.max + SLACK).any() for frame in outer)
