"""The `gerbang` command."""


def main() -> None:
    """Run the command line and end the process with the promised exit code."""
    from gerbang.cli import app  # here, so that one part of the command line can be imported without all

    app.main()
