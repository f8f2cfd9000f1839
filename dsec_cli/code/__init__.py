"""What the agent's Python does: tools, environment, network and files, read as syntax and never imported."""
