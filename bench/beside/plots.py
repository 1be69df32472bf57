# SPDX-License-Identifier: BSD-3-Clause
"""Plots as SVG, written by hand: axes with units, logarithmic scales, a legend, and a label at each line's end."""
import math

COLOURS = {"weft": "#1756a9", "weft-window": "#3aa0d8", "openmpi": "#c85a00", "mpich": "#2c7a3f", "gloo": "#8440a8",
           "exchange": "#0d8a8a", "limit": "#555555", "limit-window": "#999999"}
DASHES = {"exchange": "6 2", "limit": "5 4", "limit-window": "2 3", "weft-window": "9 3"}
GRID, INK, SOFT = "#e3e3e3", "#222222", "#666666"
FONT = "font-family='Helvetica, Arial, sans-serif'"


def bytes_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def time_text(us):
    return f"{us:g} µs" if us < 1000 else f"{us / 1000:g} ms" if us < 1e6 else f"{us / 1e6:g} s"


def ratio_text(ratio):
    return f"{ratio:g}"


def number_text(value):
    return f"{value:g}"


def escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(x, y, text, size=11, colour=INK, anchor="start", extra=""):
    return (f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{colour}' text-anchor='{anchor}' {FONT} "
            f"{extra}>{escape(text)}</text>")


class Scale:
    """One axis: from values to pixels."""

    def __init__(self, low, high, start, end, log=True):
        self.log, self.low, self.high, self.start, self.end = log, low, high, start, end

    def at(self, value):
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def log_ticks(low, high, steps):
    """Values of the form step times ten to the n between low and high."""
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [step * 10.0 ** power for step in steps]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def byte_ticks(low, high):
    ticks, size = [], 8
    while size <= high:
        if size >= low:
            ticks.append(size)
        size *= 8
    return ticks


def linear_ticks(high):
    step = 10 ** math.floor(math.log10(high / 4 if high > 0 else 1))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if high / (step * factor) <= 6)
    return [step * i for i in range(int(high / step) + 1)]


class Panel:
    """One plot in a picture. `lines` is a list of (key, label, {x: y})."""

    def __init__(self, title, y_title, lines, y_text, y_log=True, x_text=bytes_text, x_title="bytes of a rank's buffer",
                 mark=None, y_least=None, y_most=None):
        self.title, self.y_title, self.y_text, self.y_log = title, y_title, y_text, y_log
        self.lines = [line for line in lines if line[2]]
        self.x_text, self.x_title, self.mark, self.y_least, self.y_most = x_text, x_title, mark, y_least, y_most

    def ranges(self):
        xs = [x for line in self.lines for x in line[2]]
        ys = [y for line in self.lines for y in line[2].values()] + ([self.mark] if self.mark else [])
        low, high = min(ys), max(ys)
        if not self.y_log:
            return min(xs), max(xs), 0, self.y_most or high * 1.08
        low, high = low / 1.25, high * 1.25
        if high / low < 4:
            middle = math.sqrt(low * high)
            low, high = middle / 2, middle * 2
        return min(xs), max(xs), self.y_least or low, self.y_most or high

    def draw(self, x, y, width, height):
        if not self.lines:
            return [text_at(x + width / 2, y + height / 2, "no data", anchor="middle")]
        left, right, top, bottom = x + 58, x + width - 106, y + 34, y + height - 42
        x_low, x_high, y_low, y_high = self.ranges()
        across = Scale(x_low, max(x_high, x_low * 1.01), left, right)
        up = Scale(y_low, y_high, bottom, top, self.y_log)
        out = [text_at(x + 8, y + 16, self.title, 13, INK, extra="font-weight='bold'"),
               text_at(x + 8, y + 29, self.y_title, 10, SOFT)]
        out += self.draw_axes(across, up, left, right, top, bottom)
        out += self.draw_lines(across, up, right, top, bottom)
        return out

    def draw_axes(self, across, up, left, right, top, bottom):
        out = []
        if self.y_log:
            ticks = log_ticks(up.low, up.high, (1,))
            for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
                ticks = ticks if len(ticks) >= 4 else log_ticks(up.low, up.high, steps)
        else:
            ticks = linear_ticks(up.high)
        for value in ticks:
            at = up.at(value)
            out.append(f"<line x1='{left}' x2='{right}' y1='{at:.1f}' y2='{at:.1f}' stroke='{GRID}'/>")
            out.append(text_at(left - 5, at + 3.5, self.y_text(round(value, 9)), 10, SOFT, "end"))
        xs = sorted({x for line in self.lines for x in line[2]})
        ticks = byte_ticks(across.low, across.high) if self.x_text is bytes_text else xs
        if self.x_text is bytes_text and len(ticks) > 7:
            ticks = ticks[::2]
        for value in ticks:
            at = across.at(value)
            out.append(f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{bottom}' y2='{bottom + 4}' stroke='{SOFT}'/>")
            out.append(text_at(at, bottom + 16, self.x_text(value), 10, SOFT, "middle"))
        out.append(text_at((left + right) / 2, bottom + 32, self.x_title, 10, SOFT, "middle"))
        out.append(f"<path d='M{left} {top}V{bottom}H{right}' fill='none' stroke='{SOFT}'/>")
        if self.mark and up.low <= self.mark <= up.high:
            at = up.at(self.mark)
            out.append(f"<line x1='{left}' x2='{right}' y1='{at:.1f}' y2='{at:.1f}' stroke='{INK}' stroke-width='1.2'/>")
        return out

    def draw_lines(self, across, up, right, top, bottom):
        out, labels = [], []
        for key, label, points in sorted(self.lines, key=lambda line: line[0] == "weft"):
            colour, dash = COLOURS.get(key, key), DASHES.get(key)
            spots = [(across.at(x), up.at(min(max(y, up.low if self.y_log else 0), up.high)))
                     for x, y in sorted(points.items())]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
            style = f"stroke='{colour}' stroke-width='{2.4 if key == 'weft' else 1.6}'"
            style += f" stroke-dasharray='{dash}'" if dash else ""
            out.append(f"<path d='{path}' fill='none' {style} stroke-linejoin='round'/>")
            if not dash:
                out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{2.6 if key == 'weft' else 1.9}' fill='{colour}'/>"
                        for x, y in spots]
            labels.append([spots[-1][1], spots[-1], label, colour])
        return out + place_labels(labels, right, top, bottom)


def place_labels(labels, right, top, bottom):
    """Beside the ends of the lines, moved apart so that none covers another."""
    labels.sort(key=lambda label: label[0])
    for i, label in enumerate(labels):
        label[0] = max(label[0], top + 4, labels[i - 1][0] + 13 if i > 0 else 0)
    over = labels[-1][0] - bottom if labels else 0
    for i in range(len(labels) - 1, -1, -1):
        if over <= 0:
            break
        limit = bottom if i == len(labels) - 1 else labels[i + 1][0] - 13
        labels[i][0] = min(labels[i][0], limit)
    out = []
    for at, (x, y), label, colour in labels:
        out.append(f"<path d='M{x + 3:.1f} {y:.1f}L{right + 9:.1f} {at:.1f}' stroke='{colour}' stroke-width='0.6' "
                   "fill='none'/>")
        out.append(text_at(right + 12, at + 3.5, label, 11, colour, extra="font-weight='bold'"))
    return out


def picture(path, heading, panels, columns=2, note="", width=470, height=330):
    rows = (len(panels) + columns - 1) // columns
    wide, high = columns * width, rows * height + (34 if heading else 6) + (20 if note else 4)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{wide}' height='{high}' viewBox='0 0 {wide} {high}'>",
           f"<rect width='{wide}' height='{high}' fill='#ffffff'/>"]
    if heading:
        out.append(text_at(8, 22, heading, 15, INK, extra="font-weight='bold'"))
    for i, panel in enumerate(panels):
        out += panel.draw(i % columns * width, i // columns * height + (34 if heading else 6), width, height)
    if note:
        out.append(text_at(8, high - 8, note, 10, SOFT))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
