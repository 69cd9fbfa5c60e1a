"""The interleaving of a group as a Gantt chart: one lane per resource, in the terminal or as SVG."""

from muri_opt.report.gantt.svg import gantt_svg
from muri_opt.report.gantt.text import gantt_text

__all__ = ["gantt_svg", "gantt_text"]
