"""Contracts made of what people have already: workflows, pipelines, job scripts, service files."""
