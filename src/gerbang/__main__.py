"""`python -m gerbang`: the command line."""

from gerbang.cli import main

if __name__ == "__main__":
    main()
