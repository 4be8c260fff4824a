"""``config/datasets.yaml`` as dataclasses."""

import difflib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from gpukit.errors import InputError, UsageError
from gpukit.wording import spelled

# A wheel has the catalogue and the data inside the package; a checkout has them at its root.
_PACKAGE = Path(__file__).resolve().parent
_PROJECT = _PACKAGE.parent.parent


@dataclass(frozen=True)
class Dataset:
    """One graph of the catalogue.

    Attributes
    ----------
    name, title : str
        Name for the command line, and what the graph is.
    n, m : int
        Number of vertices, and of edge lines in the file.
    directed : bool
        Whether edges have a direction.
    used_by : dict of str to str
        Paper, and the name it prints.
    licence : str
        Terms of use, as far as known.
    page, url : str or None
        Description and download; without a url it must be downloaded by hand.
    member : str or None
        Pattern of the file inside an archive.
    shipped : str or None
        Path in the project.
    sha256 : str or None
        SHA-256 of the file that fetch writes.
    note : str or None
        Other facts that users must know.
    options : list of str
        Options of ``gpukit graph import``.
    stand_in, stand_in_clustered : dict or None
        ``{model, options}`` of a synthetic graph of the same size; the second also matches the number of triangles.
    approximate : bool
        Whether n and m are rounded.
    """

    name: str
    title: str
    n: int
    m: int
    directed: bool
    used_by: dict[str, str]
    licence: str
    page: str | None = None
    url: str | None = None
    member: str | None = None
    shipped: str | None = None
    sha256: str | None = None
    note: str | None = None
    options: list[str] = field(default_factory=list)
    stand_in: dict[str, Any] | None = None
    stand_in_clustered: dict[str, Any] | None = None
    approximate: bool = False

    @property
    def undirected(self) -> bool:
        """Whether import must use each line of the file for both directions."""
        return "--undirected" in self.options

    @property
    def vertices(self) -> int | None:
        """Number of vertices to give to import, if some have no edge."""
        return int(self.options[self.options.index("--vertices") + 1]) if "--vertices" in self.options else None

    def check_sizes(self, path: Path, n: int, m: int) -> None:
        """Check the numbers of vertices and edge lines of a file.

        Raises
        ------
        InputError
            If they differ from those of the data set. Rounded numbers are not compared, and an undirected edge may be
            listed once.
        """
        if self.undirected and 2 * m == self.m:
            m = self.m
        if not self.approximate and (n, m) != (self.n, self.m):
            raise InputError(
                f"{path} has {n:,} vertices and {m:,} edge lines, but {self.name} has {self.n:,} and {self.m:,}; give "
                f"the whole file of this data set, or leave {spelled('dataset')} out"
            )


def load_catalogue(path: Path | None = None) -> dict[str, Dataset]:
    """Return the data sets by name, in the order of the file.

    Parameters
    ----------
    path : Path or None
        The catalogue; the one of the project if not given.

    Raises
    ------
    InputError
        If it is missing or malformed.
    """
    path = path or _find("datasets.yaml", "config/datasets.yaml")
    known = {one.name for one in fields(Dataset)} - {"name", "options"} | {"import"}
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))["datasets"]
        catalogue = {}
        for name, entry in entries.items():
            unknown = entry.keys() - known
            if unknown:
                raise InputError(
                    f"{path}: {name} has the unknown key {min(unknown)!r}; known: {', '.join(sorted(known))}"
                )
            values = {key: value for key, value in entry.items() if key != "import"}
            catalogue[name] = Dataset(name=name, options=entry.get("import", []), **values)
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no catalogue of data sets: {' '.join(str(error).split())}") from None
    return catalogue


def find_dataset(name: str) -> Dataset:
    """Return the data set with a name; case does not matter.

    Raises
    ------
    UsageError
        If there is none; the message suggests similar names.
    """
    catalogue = {key.lower(): dataset for key, dataset in load_catalogue().items()}
    found = catalogue.get(name.lower())
    if found is None:
        near = [catalogue[key].name for key in difflib.get_close_matches(name.lower(), catalogue, cutoff=0.4)]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"no data set {name!r}; {hint}`gpukit data list` shows all")
    return found


def shipped_file(dataset: Dataset) -> Path:
    """Return the path of a shipped data set in the project; raises InputError if it is missing."""
    return _find(str(dataset.shipped), str(dataset.shipped))


def _find(packaged: str, checked_out: str) -> Path:
    for path in (_PACKAGE / packaged, _PROJECT / checked_out):
        if path.is_file():
            return path
    raise InputError(f"{_PROJECT / checked_out} is missing; install gpukit again, or run it from a checkout")
