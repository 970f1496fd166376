"""The `gerbang` command."""


def main() -> None:
    """Run the command line and end the process with the promised exit code."""
    import signal  # before all else: loading the rest takes long enough for Ctrl-C to fall into it

    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from gerbang.cli import app  # here, so that one part of the command line can be imported without all

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
    app.main()


def _leave(_signal: int, _frame: object) -> None:
    """End at once: nothing has begun yet, so there is nothing to record or to put away."""
    import os

    os._exit(130)
