"""An agent that may run what its model writes."""

import subprocess

from langchain_core.tools import tool


@tool
def run_command(command: str) -> str:
    """Run a shell command and return what it prints."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


@tool("calculate")
def calculator(expression: str) -> str:
    """Work out an expression."""
    return str(eval(expression))


def history() -> str:
    return subprocess.check_output(["git", "log", "--oneline"], text=True)


if __name__ == "__main__":
    print(history())
