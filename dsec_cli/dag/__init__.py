"""The Step graph: who needs whom, what loops, what a plan can make of it."""
