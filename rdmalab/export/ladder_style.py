"""The style sheet of ladders that are drawn; a page with many of them has it once."""

from collections.abc import Mapping

from rdmalab.guide.svg import INKS, coloured, day_and_night

NAME = "rdmalab-ladder"
"""The class of every drawing; its rules concern nothing else on a page."""

RULES = """
.NAME text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  fill: $ink }
.NAME .node { font-size: 15px; font-weight: 700 }
.NAME .life { stroke: $quiet; stroke-width: 1.5 }
.NAME .time { font-size: 11.5px; fill: $quiet; font-variant-numeric: tabular-nums }
.NAME .label { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  paint-order: stroke; stroke: $paper; stroke-width: 4px; stroke-linejoin: round }
.NAME .remark { paint-order: stroke; stroke: $paper; stroke-width: 3px }
.NAME .remark.bad { fill: $err } .NAME .remark.odd { fill: $auto }
.NAME .remark.good { fill: $step }
.NAME .remark.program { fill: $quiet;
  font: 11.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.NAME .gap { font-style: italic; fill: $quiet; paint-order: stroke; stroke: $paper;
  stroke-width: 8px }
.NAME .wire { stroke: $reset; stroke-width: 1.8; fill: none } .NAME .head { fill: $reset }
.NAME .good .wire { stroke: $step } .NAME .good .head { fill: $step }
.NAME .bad .wire { stroke: $err } .NAME .bad .head { fill: $err }
.NAME .odd .wire { stroke: $auto } .NAME .odd .head { fill: $auto }
.NAME .lost .wire, .NAME .flying .wire { stroke-dasharray: 6 4 }
.NAME .cross { stroke: $err; stroke-width: 2.2; fill: none }
""".replace("NAME", NAME)
"""The style sheet; `$ink` and the like are names of INKS."""


def style(colours: Mapping[str, str] | None = None) -> str:
    """The rules with these colours by name; None: those of day, and of night for a dark screen."""
    return day_and_night(RULES) if colours is None else coloured(RULES, colours)


def paper_rules() -> str:
    """The background by night; `!important`, because the element has one for the day."""
    night = f".{NAME} .paper {{ fill: {INKS['paper'].night} !important }}"
    return f"@media (prefers-color-scheme: dark) {{ {night} }}\n"
