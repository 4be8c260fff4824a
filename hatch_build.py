"""Puts the archives of compiled kernels into a wheel.

Those in ``gpukit/kernels`` that fit the sources are taken. ``GPUKIT_KERNELS`` names more that are to be there:
``release`` for all, or some, as ``sm_90,compute_75``. They are made where the compiler is installed (extra
``build-kernels``, and a build without isolation); elsewhere the build fails.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    """The hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the archives that are asked for, and add what is there."""
        if self.target_name != "wheel" or version == "editable":
            return
        folder, asked = Path(self.root, "gpukit", "kernels"), os.environ.get("GPUKIT_KERNELS", "")
        if asked:
            command = [sys.executable, "-P", "-m", "gpukit.device.build", "--out", str(folder)]
            if asked != "release":
                command += [word for one in asked.split(",") for word in ("--architecture", one)]
            if subprocess.run(command, env={**os.environ, "PYTHONPATH": self.root}).returncode:
                raise RuntimeError(f"the wheel lacks archives of kernels that GPUKIT_KERNELS={asked} asks for")
        build_data["force_include"] |= {str(one): f"gpukit/kernels/{one.name}" for one in sorted(folder.glob("*.zip"))}
