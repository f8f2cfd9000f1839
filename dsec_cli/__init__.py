"""DSec command line: contract text in, findings, graphs, plans and runs out."""
