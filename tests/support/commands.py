"""All commands of the command line."""

from pyterrier_cwla.cli.app import loaded_app


def all_commands():
    """Return the records of all commands that typer has, including those of groups such as ``study``."""
    app = loaded_app()
    of_groups = [command for group in app.registered_groups for command in group.typer_instance.registered_commands]
    return [*app.registered_commands, *of_groups]
