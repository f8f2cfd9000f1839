import subprocess
from typing import Annotated

import autogen
from autogen import AssistantAgent, UserProxyAgent, register_function
from autogen_core.tools import FunctionTool

assistant = AssistantAgent("assistant", llm_config={"config_list": autogen.config_list_from_json("OAI_CONFIG_LIST")})
user_proxy = UserProxyAgent("user", code_execution_config={"work_dir": "coding"})


@user_proxy.register_for_execution()
@assistant.register_for_llm(name="python_version", description="Tell the version of a Python.")
def version(executable: Annotated[str, "path of the Python"]) -> str:
    return subprocess.run([executable, "--version"], capture_output=True, text=True).stdout


def weather(city: str) -> str:
    """Say what the weather is."""
    import urllib.request

    with urllib.request.urlopen(f"https://wttr.example.com/{city}?format=3") as answer:
        return answer.read().decode()


register_function(weather, caller=assistant, executor=user_proxy, name="weather", description="Ask for the weather.")


def disk_free(path: str = "/") -> str:
    return subprocess.getoutput("df -h " + path)


user_proxy.register_function(function_map={"disk_free": disk_free})
stock = FunctionTool(lambda ticker: ticker, description="Price of a share.", name="stock")
