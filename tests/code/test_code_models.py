"""Which hosts the models of agents are asked at, by how agents are told of them."""

from __future__ import annotations

import pytest

OPENAI, MISTRAL = "api.openai.com:443", "api.mistral.ai:443"
MODELS = {
    "crew-agent": (
        "from crewai import Agent; Agent(role='r', llm='openai/gpt-4o')",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "crew-bare": (
        "from crewai import Agent; Agent(llm='o3-mini')",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "crew-manager": ("import crewai; crewai.Crew(manager_llm='gpt-4o')", {OPENAI}, {"OPENAI_API_KEY"}),
    "crew-local": ("from crewai import Agent; Agent(llm='ollama/llama3')", {"localhost:11434"}, set()),
    "crew-llm": ("from crewai import LLM; LLM(model='openai/gpt-4o', api_key='x')", {OPENAI}, set()),
    "crew-llm-base": (
        "from crewai import LLM; LLM('openai/m', base_url='https://h.com/v1')",
        {"h.com:443"},
        set(),
    ),
    "crew-variable": (
        "from crewai import Agent\nm = 'groq/x'\nAgent(llm=m)",
        {"api.groq.com:443"},
        {"GROQ_API_KEY"},
    ),
    "crew-made": (
        "from crewai import Agent, LLM\nAgent(llm=LLM(model='gpt-4o'))",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "autogen-list": (
        "from autogen import AssistantAgent\n"
        "c = [{'model': 'gpt-4o', 'api_key': 'x'}, {'model': 'm', 'api_type': 'mistral'}]\n"
        "AssistantAgent('a', llm_config={'config_list': c})",
        {OPENAI, MISTRAL},
        {"MISTRAL_API_KEY"},
    ),
    "autogen-one": (
        "import autogen; autogen.ConversableAgent('a', llm_config={'model': 'gpt-4o'})",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "autogen-base": (
        "import autogen as a; a.AssistantAgent('a', llm_config={'model': 'm', 'base_url': 'http://h.com:8000/v1'})",
        {"h.com:8000"},
        set(),
    ),
    "langchain-init": (
        "from langchain.chat_models import init_chat_model; init_chat_model('openai:gpt-5')",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "langchain-provider": (
        "from langchain.chat_models import init_chat_model\n"
        "init_chat_model('mistral-large', model_provider='mistralai', api_key='x')",
        {MISTRAL},
        set(),
    ),
    "langchain-agent": (
        "from langchain.agents import create_agent; create_agent('google_genai:gemini-2.5-pro', tools=[])",
        {"generativelanguage.googleapis.com:443"},
        {"GOOGLE_API_KEY"},
    ),
    "langchain-base": (
        "from langchain.chat_models import init_chat_model\n"
        "init_chat_model('m', model_provider='openai', base_url='http://h.com:8000/v1')",
        {"h.com:8000"},
        set(),
    ),
    "langgraph": (
        "from langgraph.prebuilt import create_react_agent; create_react_agent(model='ollama:llama3:8b', tools=[])",
        {"localhost:11434"},
        set(),
    ),
    "pydantic-ai": (
        "from pydantic_ai import Agent; Agent('openai-responses:gpt-5')",
        {OPENAI},
        {"OPENAI_API_KEY"},
    ),
    "pydantic-ai-none": ("from pydantic_ai import Agent; Agent(output_type=str)", set(), set()),
    "litellm": ("import litellm; litellm.completion('xai/grok-4')", {"api.x.ai:443"}, {"XAI_API_KEY"}),
    "smolagents": (
        "from smolagents import LiteLLMModel; LiteLLMModel(model_id='groq/x')",
        {"api.groq.com:443"},
        {"GROQ_API_KEY"},
    ),
    "autogen-endpoint": (
        "from autogen_ext.models.openai import AzureOpenAIChatCompletionClient as C\n"
        "C(model='m', azure_endpoint='https://corp.example.com/')",
        {"corp.example.com:443"},
        set(),
    ),
    "autogen-http": (
        "from autogen_ext.tools.http import HttpTool; HttpTool('a', host='h.com', port=8443, json_schema={})",
        {"h.com:8443"},
        set(),
    ),
    "no-model": (
        "from langchain_core.embeddings import FakeEmbeddings\nfrom langchain_core.prompts import ChatPromptTemplate\n"
        "from pydantic_ai.models.test import TestModel\nFakeEmbeddings(), ChatPromptTemplate([]), TestModel()",
        set(),
        set(),
    ),
    "autogen-none": ("import autogen as a; a.UserProxyAgent('a', llm_config=False)", set(), set()),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_agents_are_given(name: str, reading) -> None:
    text, hosts, keys = MODELS[name]
    needs = reading.needs(a=text)
    assert {f"{one.host}:{one.port}" for one in needs.egress} == hosts
    assert {one.name for one in needs.environment} == keys
    assert not [one for one in needs.unknowns if one.kind == "egress"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import crewai, os; crewai.Agent(llm=os.environ['M'])", "environment variable M"),
        ("from crewai import Agent; Agent(llm='mine/m')", "it is not known who offers the model mine/m"),
        (
            "import autogen as a; a.AssistantAgent('a', llm_config={'config_list': a.config_list_from_json('F')})",
            "it is read while the program runs",
        ),
        (
            "import autogen as a; a.AssistantAgent('a', llm_config={'model': 'm', 'api_type': 'mine'})",
            "where models of the type mine are asked",
        ),
        (
            "from langchain.agents import create_agent; create_agent('mine:m')",
            "it is not known who offers the model mine:m",
        ),
        (
            "from langchain.chat_models import init_chat_model; init_chat_model('m', model_provider='mine')",
            "it is not known who offers the model mine",
        ),
        (
            "from langchain.chat_models import init_chat_model; init_chat_model(temperature=0)",
            "the model is not known: it is read while the program runs",
        ),
        (
            "from langchain_mine import ChatMine; ChatMine(model='m')",
            "it is not known where ChatMine asks its models",
        ),
        (
            "from llama_index.embeddings.mine import Mine; Mine()",
            "it is not known where Mine asks its models",
        ),
        (
            "from autogen_ext.models.mine import MineClient; MineClient(model='m')",
            "it is not known where MineClient asks its models",
        ),
    ],
)
def test_models_that_are_not_known_are_said(text: str, why: str, reading) -> None:
    needs = reading.needs(a=text)
    assert [one.kind for one in needs.unknowns if one.kind == "egress"] == ["egress"]
    assert any(why in one.reason for one in needs.unknowns)
