"""Command settings."""

import click

from rdmalab.cli.program import Exit, program


@program.command()
@click.argument("name", default="", metavar="[NAME]")
@click.argument("value", default="", metavar="[VALUE]")
def settings(*, name: str, value: str) -> int:
    """List the settings, print the setting NAME, or change it to VALUE.

    They are kept in one file, which the list names: a line NAME = VALUE each. The options --theme,
    --ascii and --no-mouse replace them for one start. Exit code 2: the name or value is not legal.
    """
    from rdmalab.recovery.user_paths import settings_file
    from rdmalab.workbench.settings import SETTINGS, WrongSetting, read, setting, write

    try:
        if value:
            print(f"{name} = {value}, in {write(name, value)}")
            return Exit.WELL
        if name:
            setting(name)
    except WrongSetting as wrong:
        raise click.UsageError(str(wrong)) from None
    now = read()
    for text in now.wrong:
        click.echo(text, err=True)
    if name:
        print(now.text(name))
        return Exit.WELL
    for each, row in SETTINGS.items():
        print(f"{each:<10} {now.text(each):<9} {row.sentence}\n{'':<20} {row.legal}")
    print(f"file       {settings_file()}")
    return Exit.WELL
