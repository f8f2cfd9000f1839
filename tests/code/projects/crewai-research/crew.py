from crewai import Agent, Crew, Task
from crewai.tools import BaseTool, tool
from crewai_tools import SerperDevTool

from http_tools import fetch_page


@tool("Summarise")
def summarise(text: str) -> str:
    """Summarise a text."""
    return text[:100]


class Archive(BaseTool):
    name: str = "Archive"
    description: str = "Keep a page in the archive."
    folder: str = "archive"

    def _run(self, title: str, text: str) -> str:
        path = f"{self.folder}/{title}.txt"
        with open(path, "x") as file:
            file.write(text)
        return path


researcher = Agent(role="researcher", goal="find", backstory="", tools=[SerperDevTool(), fetch_page, summarise, Archive()])
crew = Crew(agents=[researcher], tasks=[Task(description="", expected_output="", agent=researcher)])

if __name__ == "__main__":
    crew.kickoff()
