"""The Snakemake workflow: its folder, its configuration, the demo and the report."""
