"""An agent with two tools; it is read by `dsec code`, and needs langchain and requests to run."""
