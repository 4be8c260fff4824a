"""The layout of help: plain text in sections, as wide as the terminal, which shows every option completely.

Typer's default layout uses rich. Importing rich takes longer than all other imports for help, and its columns cut
texts.
"""

from typing import Any

import typer
import typer.core

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
"""Settings of the root command; other commands inherit them."""


class Command(typer.core.TyperCommand):
    """A command whose help is plain text."""

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **more | {"rich_markup_mode": None})

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options; each panel gets its own section."""
        _write_options(self, ctx, formatter)


class Group(typer.core.TyperGroup):
    """A group whose help is plain text, which it also prints if no command is named."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more | {"rich_markup_mode": None, "no_args_is_help": False})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Treat a line without a command as a request for help."""
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else ["--help"])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options, and every command with the first sentence of its help."""
        _write_options(self, ctx, formatter)
        for title, names in self.sections(ctx).items():
            found = [(name, one) for name in names if (one := self.get_command(ctx, name))]
            with formatter.section(title):
                formatter.write_dl([(name, " ".join(one.get_short_help_str(10**6).split())) for name, one in found])

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        """Return the names of the commands by the title of the section that shows them."""
        return {"Commands": self.list_commands(ctx)}


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(ctx):
        usual = "Arguments" if one.param_type_name == "argument" else "Options"
        row = one.get_help_record(ctx)
        if row is not None:
            sections.setdefault(one.rich_help_panel or usual, []).append(row)
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows)


def dress(app: typer.Typer) -> None:
    """Make a Typer application, and all applications below it, use the commands and groups of this module."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        assert group.typer_instance is not None
        dress(group.typer_instance)
