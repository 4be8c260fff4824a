"""Puts the archives of compiled kernels into a wheel, and a list of what else it carries.

Those in ``gpukit/kernels`` that fit the sources are taken. ``GPUKIT_KERNELS`` names more that are to be there:
``release`` for all, or some, as ``sm_90,compute_75``. They are made where the compiler is installed (extra
``build-kernels``, and a build without isolation); elsewhere the build fails.

The list is a software bill of materials (PEP 770, CycloneDX 1.6): the data sets with their sources, and the archives
with the compilers that made them.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

Part = dict[str, Any]


class Kernels(BuildHookInterface):
    """The hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the archives that are asked for, and add what is there and the list."""
        if self.target_name != "wheel" or version == "editable":
            return
        folder, asked = Path(self.root, "gpukit", "kernels"), os.environ.get("GPUKIT_KERNELS", "")
        if asked:
            command = [sys.executable, "-P", "-m", "gpukit.device.build", "--out", str(folder)]
            if asked != "release":
                command += [word for one in asked.split(",") for word in ("--architecture", one)]
            if subprocess.run(command, env={**os.environ, "PYTHONPATH": self.root}).returncode:
                raise RuntimeError(f"the wheel lacks archives of kernels that GPUKIT_KERNELS={asked} asks for")
        archives = sorted(folder.glob("*.zip"))
        build_data["force_include"] |= {str(one): f"gpukit/kernels/{one.name}" for one in archives}
        self.aside = tempfile.TemporaryDirectory()  # removed with the hook
        place = Path(self.aside.name, "gpukit.cdx.json")
        listed = materials(self.metadata.version, Path(self.root), archives)
        place.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", "utf-8")
        build_data["sbom_files"].append(str(place))


def materials(version: str, root: Path, archives: Sequence[Path]) -> Part:
    """Return what a wheel carries beside its own sources, as CycloneDX 1.6."""
    own = {"type": "library", "bom-ref": "gpukit", "name": "gpukit", "version": version}
    own |= {"purl": f"pkg:pypi/gpukit@{version}", "licenses": [{"license": {"id": "MIT"}}]}
    kernels, made_by = list[Part](), dict[str, list[str]]()
    for archive in archives:
        kernels.append(_archive(archive))
        made_by[kernels[-1]["bom-ref"]] = _compilers(archive)
    compilers = [
        {"type": "application", "bom-ref": f"pkg:pypi/{one}", "name": name, "version": number}
        | {"purl": f"pkg:pypi/{one}", "scope": "excluded", "description": "compiled the kernels; not in the wheel"}
        for one in sorted({one for each in made_by.values() for one in each})
        for name, _, number in [one.partition("@")]
    ]
    parts = [*_data_sets(root), *kernels]
    refers = [{"ref": "gpukit", "dependsOn": [one["bom-ref"] for one in parts]}]
    refers += [{"ref": ref, "dependsOn": [f"pkg:pypi/{one}" for one in each]} for ref, each in made_by.items()]
    about = {"lifecycles": [{"phase": "build"}], "component": own}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        **{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": about},
        **{"components": [*parts, *compilers], "dependencies": refers},
    }


def _data_sets(root: Path) -> Iterator[Part]:
    """Yield the graphs that the package carries."""
    for name, said in yaml.safe_load((root / "config/datasets.yaml").read_text("utf-8"))["datasets"].items():
        if said.get("shipped"):
            file = said["shipped"]
            links = {"website": said.get("page"), "distribution": said.get("url")}
            yield {
                **{"type": "data", "bom-ref": file, "name": name, "description": said["title"]},
                "hashes": _hashes(root / file),
                "licenses": [{"license": {"name": said["licence"]}}],
                "externalReferences": [{"type": kind, "url": one} for kind, one in links.items() if one],
                "properties": [{"name": "gpukit:file", "value": f"gpukit/datasets/{file}"}],
            }


def _archive(path: Path) -> Part:
    """Return an archive of kernels, which contains parts of NVIDIA's libdevice and libcudadevrt."""
    said = f"compiled kernels for {path.stem}, with the code of libdevice and libcudadevrt that they call"
    known = {
        "gpukit:file": f"gpukit/kernels/{path.name}",
        "gpukit:compilers": "listed" if _compilers(path) else "unknown",
    }
    return {
        **{"type": "file", "bom-ref": f"kernels/{path.name}", "name": path.name, "description": said},
        "hashes": _hashes(path),
        "properties": [{"name": name, "value": value} for name, value in known.items()],
    }


def _compilers(path: Path) -> list[str]:
    """Return what made an archive, as ``numba-cuda@0.30.4``; nothing if the archive does not say."""
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(path) as file:
        return [f"{name}@{number}" for name, number in json.loads(file.read("compilers.json"))]
    return []


def _hashes(path: Path) -> list[Part]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]
