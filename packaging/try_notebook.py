"""Run a notebook: graphs of NetworkX, pandas and SciPy, three lines each, and a campaign saved and taken up again."""

import nbformat
from nbclient import NotebookClient

CELLS = [
    "import gpukit as gk, networkx as nx, pandas as pd, scipy.sparse as sp\nclub = nx.karate_club_graph()",
    "gk.influence_maximization(club, k=3, seed=1)",
    "frame = pd.read_csv('friends.csv')\nG = gk.from_pandas(frame, 'from', 'to', undirected=True)\n"
    "gk.PageRankIndex(G, seed=1).top_k('ann@example.org', k=3)",
    "matrix = sp.csr_array(nx.to_scipy_sparse_array(club))\n"
    "gk.structural_diversity(matrix, k=1, model='comp', t=3, undirected=True)",
    "c = gk.Campaign(G, eta=7, batch=1, seed=1)\nfirst = c.next_batch()\nc.observe(first)\nc.save('campaign.h5')",
    "c = gk.load('campaign.h5', graph=G)\nsecond = c.next_batch()\nc.observe(second)\nthird = c.next_batch()\nc",
]


def main() -> None:
    """Run the cells, and print of each what a notebook shows of its last line."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=600).execute()
    for cell in notebook.cells:
        print("\n" + "\n".join(f">>> {line}" for line in cell.source.split("\n")))
        for output in cell.outputs:
            if output.output_type == "execute_result":
                print("\n".join(sorted(output.data)), output.data["text/plain"], sep="\n")


if __name__ == "__main__":
    main()
