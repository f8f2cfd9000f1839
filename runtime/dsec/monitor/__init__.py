"""The monitor: a process beside the executor that looks at what the run does to the machine.

It may be slow, and the driver's library may hang or crash it: the executor goes on without it and
starts another one. It decides nothing; it tells what it sees, and the executor acts.
"""
