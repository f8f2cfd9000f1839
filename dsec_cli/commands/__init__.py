"""One file per command: options in, the pipeline called, an exit code out."""
