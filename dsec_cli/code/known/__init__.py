"""What calls of the standard library and of common libraries do, as tables by dotted name.

`()` in a name stands for the result of a call: `requests.Session().get`. What client libraries of
services do is in `knowledge`.
"""
