"""Writes docs/cli.md and docs/settings.md from the program itself: `make docs`."""

from __future__ import annotations

from pathlib import Path

from humangate.cli.main import COMMANDS, parser_of
from humangate.settings import SETTINGS

HERE = Path(__file__).parent

EXIT_CODES = {
    0: "answered; an approval: approved",
    1: "unexpected failure; never a decision",
    2: "usage: the command line itself is wrong",
    3: "timed out; a declared default stands on stdout",
    4: "cancelled",
    5: "not found",
    6: "already answered, or otherwise settled",
    7: "refused: not allowed, or the answer does not fit",
    8: "store trouble: it cannot be read or written",
    10: "rejected",
    11: "not answered yet; the ask stays pending",
    130: "interrupted (Ctrl+C); a wait that is interrupted ends with 11 instead",
}


def cli_page() -> str:
    """The reference of every command."""
    parts = [
        "# The command line",
        "",
        "Written by `make docs` from the program itself. `--json` shapes are in [json.md](json.md).",
        "",
        "| exit code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()),
        "",
    ]
    for name, about in COMMANDS.items():
        parser = parser_of(name)
        parts += [f"## gate {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
        parts += ["| argument | meaning |", "|---|---|"]
        for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
            if action.dest != "help":
                parts.append(_row(action.option_strings, action))
        parts.append("")
    return "\n".join(parts)


def _row(flags: list[str], action) -> str:  # noqa: ANN001 - argparse's own class is private
    value = f" {action.metavar}" if action.metavar and flags else ""
    choices = ", ".join(map(str, action.choices)) if action.choices else ""
    text = (action.help or choices).replace("|", "or")
    return f"| `{', '.join(flags) or action.dest}{value}` | {text} |"


def settings_page() -> str:
    """The reference of every setting."""
    rows = [
        f"| `{s.name}` | `{s.variable}` | {s.default or '(see there)'} | {s.meaning} |"
        for s in SETTINGS
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            "Written by `make docs`. A variable wins over the settings file, the file over the default;",
            "`gate config` shows what holds and where it comes from. The file is",
            "`~/.config/humangate/config.toml` (or under `$XDG_CONFIG_HOME`), with lines like",
            "`agent_wait_seconds = 500`.",
            "",
            "| setting | variable | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "Not settings, but looked at: `GATE_TOKEN` (a personal token), `NO_COLOR`, `VISUAL` and",
            "`EDITOR`, `XDG_DATA_HOME`, and the variables by which an agent's shell is recognised",
            "([trust.md](trust.md)).",
            "",
        ]
    )


if __name__ == "__main__":
    (HERE / "cli.md").write_text(cli_page(), encoding="utf-8")
    (HERE / "settings.md").write_text(settings_page(), encoding="utf-8")
