"""Every client of models and of vector databases is known, or said to be unknown."""

from __future__ import annotations

import pytest

CLIENTS = {
    "google.generativeai.GenerativeModel('gemini-pro')": "",
    "vertexai.generative_models.GenerativeModel('gemini-pro')": "",
    "smolagents.OpenAIServerModel(model_id='x', api_base='https://my.host/v1')": "my.host",
    "smolagents.OpenAIServerModel(model_id='x')": "",
    "dspy.LM('openai/gpt-4o')": "api.openai.com",
    "dspy.LM(model)": "",
    "vllm.LLM('meta/llama')": "huggingface.co",
    "sglang.Engine(model_path='meta/llama')": "huggingface.co",
    "langchain_postgres.PGVector(connection='postgresql://u@db.host/x')": "db.host",
    "langchain_postgres.PGVector(connection=c)": "",
    "langchain_community.vectorstores.Milvus()": "",
    "haystack.components.generators.OpenAIGenerator()": "",
    "langchain_aws.ChatBedrock(model_id='x')": "",
    "llama_index.vector_stores.qdrant.QdrantVectorStore(client=c)": "",
    "ai21.AI21Client()": "",
    "voyageai.Client()": "",
    "acme_ai.AcmeAI(api_key=k)": "",
    "acme_ai.AsyncAcmeAI(api_key=k)": "",
    "lancedb.LanceDB(uri='https://l.host')": "l.host",
}


@pytest.mark.parametrize("call", CLIENTS)
def test_a_client_is_known_or_said_to_be_unknown(call: str, reading) -> None:
    needs = reading.needs(
        a=f"import {call.partition('.')[0]}\nimport {call.partition('(')[0].rpartition('.')[0]}\n{call}"
    )
    if CLIENTS[call]:
        assert CLIENTS[call] in {one.host for one in needs.egress}
    else:
        assert "egress" in {one.kind for one in needs.unknowns}


@pytest.mark.parametrize(
    "call",
    [
        "langchain.prompts.PromptTemplate('x')",
        "dspy.Signature('a -> b')",
        "openai.BaseModel()",
        "flask.Flask('x')",
    ],
)
def test_what_asks_nobody_is_not_told(call: str, reading) -> None:
    needs = reading.needs(a=f"import {call.partition('(')[0].rpartition('.')[0]}\n{call}")
    assert not needs.unknowns
