"""The command `trex`, also as `python -m trex`; light, so that Ctrl-C during the imports of the app is caught, too."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is imported or set up says "stopped" and exits 130, as in a command."""
    try:
        from trex.commands.shell.app import app

        app(prog_name="trex")
    except KeyboardInterrupt:
        from trex.foundation.errors import STOPPED

        sys.stderr.write("stopped\n")
        sys.exit(STOPPED)
    finally:
        gc.freeze()  # else Python looks at every object of torch once more on its way out: 0.4 s


if __name__ == "__main__":
    main()
