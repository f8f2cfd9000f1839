"""Answers for editors: what stands at the cursor, what may stand there, and where a Step is defined."""
