"""Asks the model one question."""

from langchain.agents import create_agent

from agent.tools import keep, page, search


def main():
    """Ask it."""
    agent = create_agent("openai:gpt-4o-mini", tools=[search, page, keep])
    agent.invoke({"messages": [("user", "What is new?")]})


if __name__ == "__main__":
    main()
