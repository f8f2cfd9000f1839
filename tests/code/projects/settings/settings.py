import os
from os import environ, getenv

from dotenv import load_dotenv
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

load_dotenv()
env = os.environ


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")

    api_token: str
    host: str = "https://api.example.com"
    workers: int = Field(default=4)


PORT = int(getenv("PORT", "8080"))
DEBUG = env.get("DEBUG") or "no"
PASSWORD = environ["DB_PASSWORD"]
REGION = environ.get("REGION", None)
if "PROXY" in os.environ:
    proxy = env["PROXY"]
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HOME"] = "/workspace/hf"
HF = os.environ["HF_HOME"]
