"""What every command line does alike: its log on stdout, its mistakes in one line on stderr."""

import logging
import sys
from collections.abc import Callable


def told(prog: str, run: Callable[[], int]) -> int:
    """The exit status of `run()`: its own; 2 after a mistake, told in one line; 130 after Ctrl-C.

    A mistake is a ValueError, an OSError, of which the file is named, or more than memory holds.
    Any other exception is a mistake of ours, and is shown whole.

    >>> told("train.py", lambda: 0)
    0
    """
    for shown in (sys.stdout, sys.stderr):  # on old consoles, and for names that are no text
        if hasattr(shown, "reconfigure"):
            shown.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        return run()
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
    except ValueError as error:
        what = error
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):  # torch's own says so
            raise
        what = f"out of memory; make what is asked for smaller ({error!s:.200})"
    except KeyboardInterrupt:
        print(f"{prog}: stopped by Ctrl-C; what was written is whole", file=sys.stderr)
        return 130
    print(f"{prog}:", " ".join(str(what).split()), file=sys.stderr)
    return 2
