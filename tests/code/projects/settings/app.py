import os
import subprocess
from http.server import HTTPServer, SimpleHTTPRequestHandler

import requests
import uvicorn
from fastapi import FastAPI

from settings import PORT, Settings

app = FastAPI()
settings = Settings()


@app.get("/")
def root():
    return requests.get(settings.host + "/status").json()


def child():
    subprocess.run("worker", env={**os.environ, "X": "1"})


def serve():
    HTTPServer(("127.0.0.1", 9000), SimpleHTTPRequestHandler).serve_forever()


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=PORT)
