"""`python -m worldline` is the `worldline` program."""

from worldline.cli import main

if __name__ == "__main__":
    main()
