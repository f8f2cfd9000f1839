"""Rules over a contract, and the linter that runs them."""
