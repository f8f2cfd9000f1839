"""A run as it goes on, drawn line by line for a terminal: from values to text, without touching either."""
