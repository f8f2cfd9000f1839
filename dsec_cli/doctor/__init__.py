"""Whether this machine is fit for runs, and what earlier ones left on it."""
