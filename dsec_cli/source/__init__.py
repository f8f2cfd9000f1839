"""From bytes to a located YAML tree."""
