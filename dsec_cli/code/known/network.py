"""Calls that reach the network: where in the call the destination stands."""

from __future__ import annotations

from dsec.record import Record


class Host(Record):
    """Where a call takes host and port; -1: not by place."""

    at: int
    names: tuple[str, ...]
    port_at: int
    port_names: tuple[str, ...]
    host: str | None
    """The default; None when there is none."""
    port: int | None
    scheme: str


_VERBS = ("get", "post", "put", "patch", "delete", "head", "options")
_CLIENTS = (
    "requests.", "requests.Session().", "requests.session().", "requests.sessions.Session().",
    "requests.api.", "httpx.", "httpx.Client().", "httpx.AsyncClient().", "aiohttp.ClientSession().",
    "aiohttp.client.ClientSession().", "cloudscraper.create_scraper().", "curl_cffi.requests.",
    "requests_html.HTMLSession().", "niquests.", "niquests.Session().",
)  # fmt: skip

URLS: dict[str, tuple[int, tuple[str, ...]]] = {
    **{f"{client}{verb}": (0, ("url", "str_or_url")) for client in _CLIENTS for verb in _VERBS},
    **{f"{client}{verb}": (1, ("url",)) for client in _CLIENTS for verb in ("request", "stream")},
    **dict.fromkeys(
        ("urllib.request.urlopen", "urllib.request.Request", "urllib.request.urlretrieve",
         "urllib.urlopen", "aiohttp.ClientSession().ws_connect", "websockets.connect",
         "websockets.client.connect", "websockets.asyncio.client.connect", "websockets.sync.client.connect",
         "websocket.create_connection", "websocket.WebSocketApp", "websocket.WebSocket().connect",
         "xmlrpc.client.ServerProxy", "redis.from_url", "redis.Redis.from_url", "redis.asyncio.from_url",
         "redis.asyncio.Redis.from_url", "redis.StrictRedis.from_url", "pymongo.MongoClient",
         "pymongo.AsyncMongoClient", "motor.motor_asyncio.AsyncIOMotorClient", "sqlalchemy.create_engine",
         "sqlalchemy.ext.asyncio.create_async_engine", "asyncpg.create_pool", "aio_pika.connect",
         "aio_pika.connect_robust", "pika.URLParameters", "nats.connect", "elasticsearch.Elasticsearch",
         "elasticsearch.AsyncElasticsearch", "opensearchpy.OpenSearch", "mcp.client.sse.sse_client",
         "mcp.client.streamable_http.streamablehttp_client", "mcp.client.streamable_http.streamable_http_client",
         "mcp.client.websocket.websocket_client", "feedparser.parse", "wget.download",
         "git.Repo.clone_from", "databases.Database", "grpc.insecure_channel", "grpc.secure_channel",
         "grpc.aio.insecure_channel", "grpc.aio.secure_channel", "psycopg.connect",
         "psycopg.AsyncConnection.connect", "psycopg2.connect", "asyncpg.connect", "psycopg_pool.ConnectionPool"),
        (0, ("url", "uri", "host", "hosts", "servers", "dsn", "conninfo", "target", "address")),
    ),
    "urllib3.request": (1, ("url",)),
    "urllib3.PoolManager().request": (1, ("url",)),
    "urllib3.PoolManager().urlopen": (1, ("url",)),
    "aiohttp.request": (1, ("url",)),
    **{
        f"langchain_community.document_loaders.{name}": (0, (argument,))
        for name, argument in (("WebBaseLoader", "web_path"), ("AsyncHtmlLoader", "web_path"),
                               ("RecursiveUrlLoader", "url"), ("SitemapLoader", "web_path"),
                               ("UnstructuredURLLoader", "urls"))
    },
}  # fmt: skip
"""Calls that take an address; its place and its names."""

DEFAULT_PORTS = {
    "http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ftps": 990, "sftp": 22, "ssh": 22,
    "redis": 6379, "rediss": 6379, "mongodb": 27017, "postgresql": 5432, "postgres": 5432, "mysql": 3306,
    "mariadb": 3306, "amqp": 5672, "amqps": 5671, "nats": 4222, "ldap": 389, "ldaps": 636, "smtp": 25,
    "mqtt": 1883, "git": 9418, "mssql": 1433, "oracle": 1521, "clickhouse": 9000, "s3": 443, "gs": 443,
}  # fmt: skip
"""Registered or customary ports, by the scheme of an address."""

DATABASES = ("psycopg.connect", "psycopg2.connect", "psycopg.AsyncConnection.connect", "asyncpg.connect",
             "asyncpg.create_pool", "psycopg_pool.ConnectionPool")  # fmt: skip
"""Calls whose address may be `host=... port=...`, or stand in arguments of those names."""


def _host(
    port: int | None, scheme: str, *, host: str | None = None, names: tuple[str, ...] = ("host",)
) -> Host:
    return Host(0, names, 1, ("port",), host, port, scheme)


HOSTS: dict[str, Host] = {
    "autogen_ext.tools.http.HttpTool": Host(1, ("host",), 2, ("port",), None, None, ""),
    "http.client.HTTPConnection": _host(80, "http"),
    "http.client.HTTPSConnection": _host(443, "https"),
    "smtplib.SMTP": _host(25, "smtp", host=""),
    "smtplib.SMTP_SSL": _host(465, "smtp", host=""),
    "smtplib.SMTP().connect": _host(25, "smtp", host=""),
    "aiosmtplib.send": Host(-1, ("hostname",), -1, ("port",), "localhost", 25, "smtp"),
    "aiosmtplib.SMTP": Host(0, ("hostname",), 1, ("port",), "localhost", 25, "smtp"),
    "ftplib.FTP": _host(21, "ftp", host="")._replace(port_at=-1, port_names=()),
    "ftplib.FTP_TLS": _host(21, "ftp", host="")._replace(port_at=-1, port_names=()),
    "imaplib.IMAP4": _host(143, "imap", host=""),
    "imaplib.IMAP4_SSL": _host(993, "imap", host=""),
    "poplib.POP3": _host(110, "pop3"),
    "poplib.POP3_SSL": _host(995, "pop3"),
    "telnetlib.Telnet": _host(23, "telnet"),
    "redis.Redis": _host(6379, "redis", host="localhost"),
    "redis.StrictRedis": _host(6379, "redis", host="localhost"),
    "redis.asyncio.Redis": _host(6379, "redis", host="localhost"),
    "paramiko.SSHClient().connect": _host(22, "ssh", names=("hostname",)),
    "asyncssh.connect": _host(22, "ssh"),
    "asyncio.open_connection": _host(None, "tcp"),
    "mysql.connector.connect": Host(-1, ("host",), -1, ("port",), "localhost", 3306, "mysql"),
    "pymysql.connect": Host(-1, ("host",), -1, ("port",), "localhost", 3306, "mysql"),
    "MySQLdb.connect": Host(0, ("host",), -1, ("port",), "localhost", 3306, "mysql"),
    "pika.ConnectionParameters": _host(5672, "amqp", host="localhost"),
    "chromadb.HttpClient": _host(8000, "http", host="localhost"),
}
ADDRESSES: dict[str, int] = {
    "socket.create_connection": 0,
    "socket.socket().connect": 0,
    "socket.socket().connect_ex": 0,
    "socket.socket().sendto": 1,
}
"""Calls that take `(host, port)` as one argument."""

LISTEN_ADDRESSES: dict[str, int] = dict.fromkeys(
    ("socket.socket().bind", "http.server.HTTPServer", "http.server.ThreadingHTTPServer",
     "socketserver.TCPServer", "socketserver.ThreadingTCPServer", "socketserver.UDPServer",
     "xmlrpc.server.SimpleXMLRPCServer", "socket.create_server"),
    0,
)  # fmt: skip
LISTEN_HOSTS: dict[str, Host] = {
    "uvicorn.run": Host(-1, ("host",), -1, ("port",), "127.0.0.1", 8000, "http"),
    "uvicorn.Config": Host(-1, ("host",), -1, ("port",), "127.0.0.1", 8000, "http"),
    "flask.Flask().run": _host(5000, "http", host="127.0.0.1"),
    "aiohttp.web.run_app": Host(-1, ("host",), -1, ("port",), None, 8080, "http"),
    "asyncio.start_server": Host(1, ("host",), 2, ("port",), None, None, "tcp"),
    "wsgiref.simple_server.make_server": _host(None, "http"),
    "websockets.serve": Host(1, ("host",), 2, ("port",), None, None, "ws"),
    "websockets.asyncio.server.serve": Host(1, ("host",), 2, ("port",), None, None, "ws"),
    "waitress.serve": Host(-1, ("host",), -1, ("port",), "0.0.0.0", 8080, "http"),  # noqa: S104
    "prometheus_client.start_http_server": Host(1, ("addr",), 0, ("port",), "0.0.0.0", None, "http"),  # noqa: S104
    "gradio.Blocks().launch": Host(-1, ("server_name",), -1, ("server_port",), "127.0.0.1", 7860, "http"),
    "gradio.Interface().launch": Host(-1, ("server_name",), -1, ("server_port",), "127.0.0.1", 7860, "http"),
    "gradio.ChatInterface().launch": Host(
        -1, ("server_name",), -1, ("server_port",), "127.0.0.1", 7860, "http"
    ),
}
SERVERS = ("mcp.server.fastmcp.FastMCP().run", "fastmcp.FastMCP().run", "mcp.server.FastMCP().run")
"""MCP servers: they listen only when the transport says so."""
HUB = ("huggingface.co", 443)
HUB_CALLS = frozenset(
    (*(f"huggingface_hub.{name}" for name in (
        "snapshot_download", "hf_hub_download", "upload_file", "upload_folder", "login", "HfApi", "whoami",
        "InferenceClient", "list_models", "list_datasets", "list_spaces", "list_repo_files", "model_info",
        "dataset_info", "repo_info", "create_repo", "delete_repo", "create_commit", "HfFileSystem", "hf_open",
    )),
     "datasets.load_dataset", "sentence_transformers.SentenceTransformer", "transformers.pipeline",
     "evaluate.load",
     "vllm.LLM", "vllm.AsyncLLMEngine.from_engine_args", "sglang.Engine", "unsloth.FastLanguageModel.from_pretrained",
     "trl.SFTTrainer", "trl.GRPOTrainer", "trl.DPOTrainer", "trl.PPOTrainer", "open_clip.create_model_and_transforms")
)  # fmt: skip
"""Calls that fetch from (or send to) the Hugging Face hub by name."""
HUB_PACKAGES = (
    "transformers",
    "diffusers",
    "peft",
    "timm",
    "datasets",
    "sentence_transformers",
    "tokenizers",
    "unsloth",
    "optimum",
    "trl",
    "accelerate",
)
"""Packages whose `from_pretrained` and `push_to_hub` speak to the hub."""
BASE_NAMES = (
    "base_url", "api_base", "openai_api_base", "endpoint_url", "endpoint", "azure_endpoint", "server_url",
    "inference_server_url", "api_url", "host", "url", "uri",
    "connection", "connection_string",
)  # fmt: skip
"""Arguments by which clients of services are sent to another address."""
ASKING = ("get", "post", "put", "patch", "delete", "head", "request", "stream", "connect", "goto", "fetch")
"""Methods of objects of unknown type that call an address, when their argument is one."""
