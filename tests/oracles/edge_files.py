"""A second reader of small edge files: NetworkX, SciPy and pandas if they read them correctly, else plain Python.

It is given what the product has to detect: the format, by the name of the file, and the meaning of each column.
"""

import io
import json
import re

import networkx as nx
import pandas as pd
import scipy.io


def matches(pattern, text):
    return re.search(pattern, text) is not None


def ends(graph):
    """Return the edges of a NetworkX graph as pairs of names, in both directions if it is undirected."""
    pairs = {(str(u), str(v)) for u, v in graph.edges()}
    return pairs if graph.is_directed() else pairs | {(v, u) for u, v in pairs}


def of_graphml(text):
    """Return the edges of all graphs in GraphML, nested or not, found by regular expressions."""
    default = re.search(r"edgedefault=['\"](\w+)", text)[1]
    found = set()
    for edge in re.findall(r"<(?:\w+:)?edge\b[^>]*>", text):
        u, v = (re.search(rf"{side}=['\"]([^'\"]*)", edge)[1] for side in ("source", "target"))
        own = re.search(r"directed=['\"](\w+)", edge)
        found |= {(u, v)} | (set() if (own[1] == "true" if own else default == "directed") else {(v, u)})
    return found


def of_gexf(text):
    default = re.search(r"defaultedgetype=['\"](\w+)", text)
    found = set()
    for edge in re.findall(r"<edge\b[^>]*>", text):
        u, v = (re.search(rf"{side}=['\"]([^'\"]*)", edge)[1] for side in ("source", "target"))
        kind = re.search(r"\btype=['\"](\w+)", edge) or default
        found |= {(u, v)} | ({(v, u)} if kind is None or kind[1] != "directed" else set())
    return found


def of_gml(text):
    graph = nx.parse_gml(re.sub(r"graph\s*\[", "graph [ multigraph 1", text, count=1), label="id")
    names = [graph.nodes[node].get("label") for node in graph]
    unique = None not in names and len(set(names)) == len(names)
    return ends(nx.relabel_nodes(graph, dict(zip(graph, names, strict=True))) if unique else graph)


def of_json(text):
    data = json.loads(text)
    nodes = [node.get("id", place) for place, node in enumerate(data["nodes"])]
    data["nodes"] = [{"id": node} for node in nodes]
    key = "links" if "links" in data else "edges"
    return ends(nx.node_link_graph(data, edges=key))


def of_pajek(text):
    """Return the edges of Pajek, section by section."""
    text = re.split(r"(?im)^\*(?:partition|vector)", text.replace("\r\n", "\n").replace("\r", "\n"))[0]
    parts = re.split(r"(?m)^\*", text)
    sizes = [
        int(one) for one in re.findall(r"\d+", next(p for p in parts if p.lower().startswith("vert")).split("\n")[0])
    ]
    listed = next(p for p in parts if p.lower().startswith("vert")).split("\n")[1:]
    names = dict(re.findall(r'(?m)^(\d+)\s+"?((?<=")[^"]*|[^"\s]+)', "\n".join(listed)))
    if len(names) < sizes[0] or len(set(names.values())) < sizes[0]:
        names = {str(i): str(i) for i in range(1, sizes[0] + 1)}
    found = set()
    for part in parts:
        head, *lines = part.split("\n")
        head, rows = head.split()[0].lower() if head.split() else "", [line.split() for line in lines if line.split()]
        pairs = set()
        if head in ("arcs", "edges"):
            pairs = {(row[0], row[1]) for row in rows}
        elif head in ("arcslist", "edgeslist"):
            pairs = {(row[0], one) for row in rows for one in row[1:]}
        elif head == "matrix":
            before = sizes[1] if len(sizes) > 1 else 0
            pairs = {
                (str(i), str(j + before))
                for i, row in enumerate(rows, 1) for j, one in enumerate(row, 1) if float(one)
            }  # fmt: skip
        pairs |= {(v, u) for u, v in pairs} if head.startswith("edges") else set()
        found |= {(names[u], names[v]) for u, v in pairs}
    return found


def of_metis(text):
    head, *lines = [line for line in text.split("\n") if not line.startswith("%")]
    n, _, *form = head.split()
    form = (form[0] if form else "0").zfill(3)
    before, step = (1 if form[1] == "1" else 0), (2 if form[2] == "1" else 1)
    return {(str(i), v) for i, line in enumerate(lines[: int(n)], 1) for v in line.split()[before::step]}


def of_adjacency(text):
    return ends(nx.parse_adjlist(text.split("\n"), create_using=nx.DiGraph))


def of_dimacs(text):
    found = set()
    for line in text.split("\n"):
        words = line.split()
        if words and words[0] not in ("c", "p", "n"):
            u, v = words[words[0] in "ae" :][:2]
            found |= {(u, v)} if words[0] == "a" else {(u, v), (v, u)}
    return found


def of_sif(text):
    rows = [re.split(r"\t" if "\t" in text else r"\s+", line) for line in text.split("\n") if line]
    return {(row[0], one) for row in rows for one in row[2:]}


def of_triples(text):
    found = re.findall(r"(?m)^(<\S+>|_:\S+) <\S+> (<\S+>|_:\S+)", text)
    return {(u.strip("<>"), v.strip("<>")) for u, v in found}


def of_matrix(text):
    matrix = scipy.io.mmread(io.StringIO(re.sub("^%+", "%%", text))).tocoo()
    return {(str(u + 1), str(v + 1)) for u, v in zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)}


def of_konect(text):
    rows = [line.split()[:2] for line in text.split("\n") if line and not line.startswith("%")]
    if text.startswith("% bip"):
        stated = re.search(r"\n% \d+ (\d+) \d+", text)
        left = int(stated[1]) if stated else max(int(u) for u, _ in rows)
        rows = [(u, str(int(v) + left)) for u, v in rows]
    found = {(u, v) for u, v in rows}
    return found if text.startswith("% asym") else found | {(v, u) for u, v in found}


def of_table(text):
    frame = pd.read_csv(io.StringIO(text), sep=None, engine="python", dtype=str)
    names = {name.lower(): name for name in frame.columns}
    found = set(zip(frame[names["source"]], frame[names["target"]], strict=True))
    if "type" not in names:
        return found
    both = frame[names["type"]].str.lower() == "undirected"
    return found | set(zip(frame[names["target"]][both], frame[names["source"]][both], strict=True))


BY_NAME = {
    r"\.(net|paj)$": of_pajek,
    r"graphml$|prefix\.xml$": of_graphml,
    r"\.gexf$": of_gexf,
    r"gml(\.txt)?$": of_gml,
    r"\.json$|^miserables$": of_json,
    r"^metis|^ring_of": of_metis,
    r"adjlist$|^neighbours|_neighbours\.txt$": of_adjacency,
    r"\.(col|gr|max)$": of_dimacs,
    r"\.sif$": of_sif,
    r"^facts|^quads": of_triples,
    r"\.mtx$": of_matrix,
    r"^out\.": of_konect,
    r"^(gephi|hashtags|percent)\w*\.csv$": of_table,
}


def reads(case):
    """Return whether there is a second reader for a case."""
    return case["name"] != "hashtags_said.csv" and any(re.search(name, case["name"]) for name in BY_NAME)


def read(path, case):
    """Return the edges as pairs of names; an undirected edge appears in both directions."""
    text = path.read_bytes().decode(case.get("encoding", "utf-8-sig"))
    return next(reader for name, reader in BY_NAME.items() if re.search(name, case["name"]))(text)
