"""Which model providers agents ask that are told a model's name: it is a setting, no client is called.

The names of providers and of their variables are those of LiteLLM, which CrewAI asks through, of
AutoGen's `config_list` (api_type, base_url, api_key), and of LangChain's and Pydantic AI's
`provider:model`.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.code import access
from dsec_cli.code.abstract import HOLE, Const, Shape, Text
from dsec_cli.code.abstract import Unknown as NotKnown
from dsec_cli.code.needs import Variable
from dsec_cli.code.networking import add_host, call_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Value, Values
    from dsec_cli.code.found import Site


class Provider(Record):
    """Where a provider's models are asked, and the variable with the key; "": it needs none."""

    host: str
    key: str
    port: int = 443
    scheme: str = "https"


_PROVIDERS = {
    "openai": Provider("api.openai.com", "OPENAI_API_KEY"),
    "gemini": Provider("generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "groq": Provider("api.groq.com", "GROQ_API_KEY"),
    "mistral": Provider("api.mistral.ai", "MISTRAL_API_KEY"),
    "deepseek": Provider("api.deepseek.com", "DEEPSEEK_API_KEY"),
    "openrouter": Provider("openrouter.ai", "OPENROUTER_API_KEY"),
    "xai": Provider("api.x.ai", "XAI_API_KEY"),
    "google_genai": Provider("generativelanguage.googleapis.com", "GOOGLE_API_KEY"),
    "ollama": Provider("localhost", "", 11434, "http"),
}
_BEGINNINGS = {"gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai"}
"""How models are called whose provider need not be said."""
_ALIASES = {
    "google": "gemini", "ollama_chat": "ollama", "mistralai": "mistral", "google-gla": "google_genai",
    "openai-chat": "openai", "openai-responses": "openai",
}  # fmt: skip

_CREW = {
    "crewai.Agent": ("llm", "function_calling_llm"),
    "crewai.agent.Agent": ("llm", "function_calling_llm"),
    "crewai.Crew": ("manager_llm", "function_calling_llm", "planning_llm", "chat_llm"),
    "crewai.crew.Crew": ("manager_llm", "function_calling_llm", "planning_llm", "chat_llm"),
}
_CREW_MODELS = ("crewai.LLM", "crewai.llm.LLM")
_CREW_BASES = ("base_url", "api_base")
_NAMED = {
    **dict.fromkeys(
        ("langchain.chat_models.init_chat_model", "langchain.chat_models.base.init_chat_model",
         "langchain.agents.create_agent", "langgraph.prebuilt.create_react_agent",
         "langgraph.prebuilt.chat_agent_executor.create_react_agent", "pydantic_ai.Agent",
         "pydantic_ai.agent.Agent", "litellm.completion", "litellm.acompletion",
         "dspy.LM", "dspy.clients.LM", "dspy.clients.lm.LM"),
        "model",
    ),
    **dict.fromkeys(("smolagents.LiteLLMModel", "smolagents.models.LiteLLMModel"), "model_id"),
}  # fmt: skip
"""Calls whose first argument may be a model's name, with the argument's own name."""
_AUTOGEN = frozenset(
    f"{package}{name}"
    for package in ("autogen.", "autogen.agentchat.", "ag2.")
    for name in ("ConversableAgent", "AssistantAgent", "UserProxyAgent", "GroupChatManager")
)
_AUTOGEN_BASES = ("base_url", "api_base")


def models(site: Site) -> bool:
    """Add what the models need that the call names; False when it names none by a setting."""
    if site.name in _CREW_MODELS:
        return _of_crew_model(site)
    if site.name in _NAMED:
        return _of_name(site, _NAMED[site.name])
    for name in _CREW.get(site.name, ()):
        for value in site.values(None, (name,)) or ():
            if isinstance(value, Text | NotKnown):
                _by_name(site, value)
    if site.name in _AUTOGEN:
        for value in site.values(None, ("llm_config",)) or ():
            _of_config(site, value)
    return False


def _of_crew_model(site: Site) -> bool:
    """`LLM(model="openai/gpt-4o")`; with a base of its own it asks there."""
    named = site.values(0, ("model",))
    bases = [text for name in _CREW_BASES for text in site.texts(None, (name,)) or ()]
    if bases:
        return call_address(site, tuple(bases))
    if named is None:
        return False  # the knowledge base says that it is not known
    for value in named:
        if isinstance(value, Text | NotKnown):
            _by_name(site, value, keyed=not site.has("api_key"))
    return all(isinstance(value, Text | NotKnown) for value in named)


def _of_name(site: Site, argument: str) -> bool:
    """`init_chat_model("openai:gpt-5")`, or with `model_provider`; a model that is an object is no name."""
    bases = [text for name in _CREW_BASES for text in site.texts(None, (name,)) or ()]
    if bases:
        return call_address(site, tuple(bases))
    providers = site.texts(None, ("model_provider", "custom_llm_provider")) or ()
    given = [Text(f"{one.text}/", one.why, one.variable) for one in providers]
    values = given or site.values(0, (argument,))
    if values is None and site.last == "init_chat_model":
        values = (NotKnown("it is read while the program runs"),)
    names = [value for value in values or () if isinstance(value, Text | NotKnown)]
    for value in names:
        _by_name(site, value, keyed=not site.has("api_key"))
    return bool(names)


def _by_name(site: Site, value: Text | NotKnown, *, keyed: bool = True) -> None:
    if isinstance(value, NotKnown) or HOLE in value.text:
        site.unknown("egress", f"the model is not known: {value.why or 'it is computed'}", value.variable)
        return
    provider = _provider(value.text)
    if provider is None:
        site.unknown("egress", f"it is not known who offers the model {value.text.rstrip('/')}")
        return
    _ask(site, provider, keyed=keyed)


def _provider(model: str) -> Provider | None:
    first = model.replace(":", "/").partition("/")[0]
    if first != model:
        return _PROVIDERS.get(_ALIASES.get(first, first))
    return next((_PROVIDERS[name] for start, name in _BEGINNINGS.items() if model.startswith(start)), None)


def _ask(site: Site, provider: Provider, *, keyed: bool) -> None:
    add_host(site, provider.host, provider.port, provider.scheme)
    if provider.key and keyed:
        site.add(Variable(provider.key, None, True, True, site.by, site.place(), ()))


def _of_config(site: Site, value: Value) -> None:
    """`{"config_list": [{"model": ..., "api_key": ...}]}`, or one such entry by itself."""
    if isinstance(value, Const):
        return  # False or None: the agent asks no model
    lists = _under(site, value, "config_list") if isinstance(value, Shape) else (value,)
    written = tuple(one for one in lists if isinstance(one, Shape))
    others = tuple(one for one in lists if not isinstance(one, Shape))
    for one in (*access.elements(site.ev, written), *others) if lists else (value,):
        if isinstance(one, Shape):
            _of_entry(site, one)
        else:
            why = one.why if isinstance(one, NotKnown) else "it is read while the program runs"
            site.unknown("egress", f"the model is not known: {why}", getattr(one, "variable", ""))


def _of_entry(site: Site, entry: Shape) -> None:
    bases = [text for name in _AUTOGEN_BASES for text in _texts(site, entry, name)]
    if bases:
        if not call_address(site, tuple(bases)):
            site.unknown("egress", bases[0].why or "the address has no host", bases[0].variable)
        return
    kinds = [text.text for text in _texts(site, entry, "api_type")] or ["openai"]
    for kind in kinds:
        provider = _PROVIDERS.get(_ALIASES.get(kind, kind))
        if provider is None:
            site.unknown(
                "egress", f"it is not known where models of the type {kind.replace(HOLE, '*')} are asked"
            )
        else:
            _ask(site, provider, keyed=not _under(site, entry, "api_key"))


def _texts(site: Site, entry: Shape, key: str) -> tuple[Text, ...]:
    found = []
    for value in _under(site, entry, key):
        if isinstance(value, Text):
            found.append(value)
        elif isinstance(value, NotKnown):
            found.append(Text(HOLE, value.why, value.variable))
    return tuple(found)


def _under(site: Site, entry: Shape, key: str) -> Values:
    """What a dictionary as written holds under a key; nothing where it has no such key."""
    found = tuple(access.item(site.ev, entry, (Text(key),)))
    return () if found == (access.NO_ENTRY,) else found
