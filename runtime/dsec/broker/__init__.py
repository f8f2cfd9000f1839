"""The process that says which run of a user may use which GPU of this machine, and how it is reached."""
