from smolagents import CodeAgent, InferenceClientModel, Tool, tool


@tool
def distance(start: str, end: str) -> float:
    """How far is it.

    Args:
        start: from
        end: to
    """
    return 1.0


class Downloads(Tool):
    name = "downloads"
    description = "The most downloaded model."
    inputs = {"task": {"type": "string", "description": "the task"}}
    output_type = "string"

    def forward(self, task: str):
        from huggingface_hub import list_models

        return next(iter(list_models(filter=task))).id


agent = CodeAgent(tools=[distance, Downloads()], model=InferenceClientModel())
agent.run("Which way?")
