import argparse
import logging
import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
RUN = os.environ.get("DSEC_RUN", "runs/latest")
logging.basicConfig(filename="logs/train.log")


def load(name="deepseek-ai/deepseek-llm-7b-base"):
    return AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True)


def local():
    return AutoModelForCausalLM.from_pretrained("./models/base")


def data():
    rows = np.load(HERE / "data" / "rows.npy")
    with open("/workspace/data/index.bin", "rb") as file:
        index = pickle.load(file)
    return rows, index


def save(model, step):
    torch.save(model.state_dict(), os.path.join(RUN, "checkpoints", f"{step}.pt"))
    shutil.copy(HERE / "config.yaml", RUN)
    old = Path(RUN) / "checkpoints" / f"{step - 2}.pt"
    if old.exists():
        old.unlink()


def restore(path):
    return torch.load(path, weights_only=True), torch.load(path)


def report():
    server = socket.socket()
    server.bind(("0.0.0.0", 29500))
    subprocess.run([sys.executable, "evaluate.py", "--run", RUN], check=True)
    os.system("nvidia-smi | tee logs/gpu.txt && rm -rf /tmp/cache")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    args = parser.parse_args()
    model = load()
    data()
    save(model, 4)
    report()
    Path(args.out).write_text("done")
    shutil.rmtree("/scratch/tmp")


if __name__ == "__main__":
    main()
