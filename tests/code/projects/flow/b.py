from c import BASE
import a

NAMES = {"alpha.example.com": 8001, "beta.example.com": 8002}
STAR = "https://star.example.com"


def make_url(host):
    return f"https://{host}/made"


class Base:
    host = "base.example.com"

    def __init__(self):
        self.url = "https://" + self.host


class Derived(Base):
    host = "derived.example.com"


def cycle():
    return a.URL + BASE
