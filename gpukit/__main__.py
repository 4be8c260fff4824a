"""``python -m gpukit`` is the command ``gpukit``."""

import sys

from gpukit.cli.app import main

sys.exit(main())
