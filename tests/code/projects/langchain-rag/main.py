from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from rag import TOOLS

model = ChatOpenAI(model="gpt-4o-mini", base_url="http://localhost:8000/v1")


def main() -> None:
    agent = create_react_agent(model, tools=TOOLS)
    agent.invoke({"messages": [("user", "What is new?")]})


if __name__ == "__main__":
    main()
