"""What clients of services need, by the knowledge base: their hosts, keys, files and programs.

Clients of models that the knowledge base lacks are told by their names: whom they ask is not known.
"""

from __future__ import annotations

from dsec_cli.code.abstract import HOLE, Made, Symbol, Text
from dsec_cli.code.knowledge.entry import ARGUMENT
from dsec_cli.code.known.network import BASE_NAMES
from dsec_cli.code.known.registrations import SERVERS
from dsec_cli.code.locally import use_path
from dsec_cli.code.needs import Execution, Process, Variable
from dsec_cli.code.networking import add_host, call_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.code.abstract import Values
    from dsec_cli.code.found import Site
    from dsec_cli.code.knowledge import Entry

    Lookup = Callable[[str], Entry | None]

_KEYS = (
    "api_key",
    "apikey",
    "token",
    "access_token",
    "api_token",
    "auth",
    "credentials",
    "secret_key",
    "key",
)


def client(site: Site, lookup: Lookup) -> bool:
    """Add what the knowledge base says of the call; False when it does not know it."""
    if site.receiver is not None:
        return False
    entry = _entry(site, lookup)
    if entry is None:
        return _unlisted(site)
    if any(isinstance(one, Made) and one.name in SERVERS for one in site.values(0, ("server_params",)) or ()):
        return True  # told where the parameters are made
    if not _sent_elsewhere(site):
        _hosts(site, entry)
    _keys(site, entry)
    _files(site, entry)
    if entry.subprocess:
        site.add(Process(None, False, False, site.by, site.place(), ()))
    if entry.executes:
        site.add(Execution("code", False, site.by, site.place(), ()))
    return True


def _entry(site: Site, lookup: Lookup) -> Entry | None:
    first = site.texts(0, ("service_name",)) if site.name.startswith("boto3.") else None
    if first and HOLE not in first[0].text:
        found = lookup(f"{site.name}({first[0].text})")
        if found is not None:
            return found
    return matching(site.name, lookup)


def matching(name: str, lookup: Lookup) -> Entry | None:
    """The entry for a call: of that very name, or of the class whose constructor it is."""
    entry = lookup(name)
    if entry is None or name in entry.imports or name == entry.name:
        return entry
    holder = name.rpartition(".")[0]
    made = holder.rpartition(".")[2][:1].isupper()
    return entry if made and holder in entry.imports else None


def _sent_elsewhere(site: Site) -> bool:
    """Whether an argument names another address than the usual one."""
    for name in BASE_NAMES:
        texts = site.texts(None, (name,)) if site.has(name) else None
        if texts and call_address(site, texts):
            return True
    return False


def _hosts(site: Site, entry: Entry) -> None:
    for item in entry.hosts:
        host, _, port = item.rpartition(":")
        scheme = "https" if port == "443" else ""
        add_host(site, host, int(port) if port.isdecimal() else None, scheme)
    for reason in entry.unknown_egress:
        site.unknown("egress", reason)


def _is_given_key(site: Site) -> bool:
    return any(keyword.arg is not None and keyword.arg.endswith(_KEYS) for keyword in site.call.keywords)


def _keys(site: Site, entry: Entry) -> None:
    given = _is_given_key(site)
    for one in entry.env:
        if given and one.secret:
            continue
        site.add(Variable(one.name, None, one.required, one.secret, site.by, site.place(), ()))


PATHS = (
    "root_dir", "file_path", "directory", "directory_path", "input_dir", "input_files", "persist_dir",
    "persist_directory", "path", "folder", "folder_path", "save_dir", "work_dir", "output_dir",
    "downloads_folder", "csv", "docx", "json_path", "mdx", "pdf", "txt", "xml",
)  # fmt: skip
"""Arguments by which tools and clients are told their files and folders."""
FIRST = frozenset(
    ("llama_index.core.SimpleDirectoryReader", "langchain_community.agent_toolkits.FileManagementToolkit",
     "crewai_tools.FileReadTool", "crewai_tools.DirectoryReadTool", "chromadb.PersistentClient",
     "duckdb")
)  # fmt: skip
"""Those that take it as their first one, too."""


def _files(site: Site, entry: Entry) -> None:
    """The files of an entry; those that the caller chooses are in its arguments, or up to the model."""
    for use in entry.files:
        modes = ("read", "write") if use.access == "read-write" else (use.access,)
        chosen = _chosen(site, entry) if use.path == ARGUMENT else (Text(use.path),)
        for mode in modes:
            if chosen is not None:
                use_path(site, chosen, mode)
            elif entry.kind in ("tool", "toolkit") and not (entry.subprocess or entry.executes):
                site.unknown("file", f"the path to {mode} is not known: the model chooses it")


def _chosen(site: Site, entry: Entry) -> Values | None:
    return site.values(0 if entry.name in FIRST else None, PATHS)


_MODELS = (
    "autogen_ext.models.", "langchain_community.chat_models.", "langchain_community.embeddings.",
    "langchain_community.llms.", "llama_index.embeddings.", "llama_index.llms.", "pydantic_ai.models.",
)  # fmt: skip
"""Packages that hold nothing but clients of models, and what belongs to them."""
_WITHOUT = frozenset(
    f"langchain_{name}" for name in ("classic", "community", "core", "experimental", "mcp_adapters", "tests")
)
"""Packages of LangChain that are no provider's."""
_PACKAGES = frozenset((
    "ai21", "aleph_alpha_client", "baseten", "cerebras", "cohere", "dashscope",
    "deepinfra", "dspy", "fireworks", "google", "groq", "haystack", "instructor", "langchain",
    "litellm", "llama_index", "mistralai", "openai", "portkey_ai", "replicate", "smolagents",
    "together", "vertexai", "voyageai", "writerai", "xai_sdk", "zhipuai", "agno", "autogen",
    "azure", "ibm_watsonx_ai", "semantic_kernel", "volcenginesdkarkruntime", "chromadb", "lancedb",
    "marqo", "meilisearch", "milvus", "opensearchpy", "pgvector", "pinecone", "pymilvus",
    "qdrant_client", "turbopuffer", "typesense", "upstash_vector", "vespa", "weaviate", "zilliz",
    "langchain_classic", "langchain_community", "langchain_experimental", "mem0", "zep_cloud",
    "letta_client",
))  # fmt: skip
"""Packages that hold clients of models and of vector databases."""
_ASKERS = (
    "Client", "LLM", "LM", "Model", "Embeddings", "Embedding", "VectorStore", "VectorDB",
    "PGVector", "Chat", "Generator", "Embedder", "Reranker", "Rerank", "Pinecone", "Milvus",
    "Qdrant", "Chroma", "Weaviate", "Redis", "OpenAI", "Anthropic", "Together", "Groq", "Mistral",
    "Cohere", "Bedrock", "Saver", "Memory", "Ark", "Dashscope", "ZhipuAI", "Fireworks", "Cerebras",
    "Credential", "ServerModel", "Elasticsearch", "MongoDBAtlasVectorSearch", "LanceDB",
    "Neo4jVector", "OpenSearchVectorSearch", "AzureSearch", "SupabaseVectorStore",
)  # fmt: skip
"""How the classes of such packages end that ask somebody."""
_NO_CLIENTS = ("Fake", "Fallback", "Function", "Mock", "Replay", "Test")


def _unlisted(site: Site) -> bool:
    """A client of models that the knowledge base lacks; False when the call makes none."""
    package, last = site.name.partition(".")[0], site.last
    if not last[:1].isupper() or last.startswith(_NO_CLIENTS):
        return False
    if site.name.startswith("langchain_") and package not in _WITHOUT:
        asks = last.startswith("Chat") or last.endswith(_ASKERS)
    elif package in _PACKAGES and not site.name.startswith(_MODELS):
        asks = last.endswith(_ASKERS) and not last.startswith("Base")
    elif last.removeprefix("Async").lower() == package.replace("_", "") and _is_given_key(site):
        asks = True  # a class that is called as its package is, and takes a key
    else:
        asks = site.name.startswith(_MODELS)
        asks = asks and (package not in ("autogen_ext", "pydantic_ai") or last.endswith(("Client", "Model")))
    if asks and not _sent_elsewhere(site):
        site.unknown("egress", f"it is not known where {last} asks its models")
    return asks


__all__ = ["Symbol", "client", "matching"]
