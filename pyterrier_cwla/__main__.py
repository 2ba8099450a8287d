"""``python -m pyterrier_cwla`` is ``pyterrier-cwla``."""

from pyterrier_cwla.cli.app import main

if __name__ == "__main__":
    main()
