"""One module per kind of file that can be imported; found because it is there."""
