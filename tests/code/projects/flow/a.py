"""Data flow: what can be followed, and what cannot."""

import importlib
import json
import os.path as osp
from functools import partial

import requests as web
from requests import get as fetch
from urllib.request import Request, urlopen

from b import *
from b import NAMES as ALIASES, make_url
import b as other

MODE = "prod"
HOST = "prod.example.com" if MODE == "prod" else "test.example.com"
URL = "https://" + HOST + "/v1"
URL += "/items"
web.get(URL)

for name, port in ALIASES.items():
    web.post(f"https://{name}:{port}/x")

for part in ["one", "two"]:
    fetch("https://%s.example.com" % part)

pages = [f"https://{sub}.pages.example.com/" for sub in ("x", "y")]
for page in pages:
    web.head(page)

web.put("https://{}/{}".format("format.example.com", "y"))
web.put("https://{host}/".format(host="named.example.com"))
web.get("/".join(["https://joined.example.com", "a"]))
web.get(make_url("made.example.com"))
web.get(other.Base().url)
web.get(other.Derived().url)
urlopen(Request("https://urllib.example.com:8443/x"))
web.get(**{"url": "https://kw.example.com"})
options = {"timeout": 3}
options["url"] = "https://stored.example.com"
web.get(options["url"])
if (site := "https://walrus.example.com"):
    web.get(site)


def ask(path, host="default.example.com", *, scheme="https"):
    return web.get(f"{scheme}://{host}/{path}")


ask("a")
ask("b", "given.example.com")
ask("c", host="keyword.example.com", scheme="http")


def passed_on(url):
    return web.get(url)


list(map(passed_on, ["https://mapped.example.com"]))
partial(passed_on, "https://partial.example.com")()


def unknown(question, n):
    web.get(question)
    web.get(json.load(open("config.json"))["url"])
    web.get("https://" + input() + "/x")
    web.get("https://prefix.example.com" + question)
    importlib.import_module(question)
    open(osp.join("out", question), "w")


def again(url):
    return again(url + "/x") or web.get(url)


class Enumerated:
    A = "https://class.example.com"


web.get(Enumerated.A)
client = web.Session()
client.get(undefined_name)
