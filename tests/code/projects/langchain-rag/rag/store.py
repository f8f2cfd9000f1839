import redis

from rag.config import STORE


class Cache:
    def __init__(self, host: str, port: int = 6379) -> None:
        self.client = redis.Redis(host=host, port=port)

    def get(self, key: str):
        return self.client.get(key)


CACHE = Cache(STORE["host"], STORE["port"])
