import json
import os

from openai import OpenAI

client = OpenAI(api_key=os.getenv("LLM_KEY"), base_url=os.environ.get("LLM_URL") or "https://llm.example.com/v1")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_rate",
            "description": "Exchange rate of two currencies.",
            "parameters": {"type": "object", "properties": {"base": {"type": "string"}}},
        },
    },
    {"name": "lookup", "description": "Look it up.", "input_schema": {"type": "object"}},
]


def get_rate(base: str, to: str) -> float:
    import requests

    session = requests.Session()
    return session.get("https://rates.example.com/latest", params={"base": base}).json()[to]


def answer(question: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[], tools=TOOLS)
    for call in reply.choices[0].message.tool_calls:
        return str(globals()[call.function.name](**json.loads(call.function.arguments)))
    return ""
