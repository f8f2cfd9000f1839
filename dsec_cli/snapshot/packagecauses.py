"""What a change of a package is known to do to the results of a run.

Every row names what its authors document or what its job is; a package that is not here may matter
all the same, and is told without a cause.
"""

from __future__ import annotations

_KERNELS = "it brings the kernels: sums may be rounded in another order"
_ROWS: dict[str, tuple[int, str]] = {
    "torch": (90, "its kernels, defaults and random streams may differ between releases"),
    "jax": (88, _KERNELS),
    "jaxlib": (88, _KERNELS),
    "tensorflow": (88, _KERNELS),
    "triton": (86, "it compiles the kernels: sums may be rounded in another order"),
    "flash-attn": (86, _KERNELS),
    "xformers": (85, _KERNELS),
    "vllm": (86, "sampling and batching of rollouts may differ"),
    "sglang": (86, "sampling and batching of rollouts may differ"),
    "deepspeed": (84, "how gradients are summed and partitioned may differ"),
    "bitsandbytes": (84, "it quantises weights and optimiser states"),
    "numpy": (82, "its BLAS, its sums and its generators may differ between releases"),
    "scipy": (70, _KERNELS),
    "transformers": (82, "models, tokenizers and defaults of generation may differ"),
    "tokenizers": (82, "texts may be cut into other tokens"),
    "datasets": (75, "order and shuffling of examples may differ"),
    "trl": (84, "losses and defaults of training may differ"),
    "accelerate": (80, "how gradients are scaled and summed may differ"),
    "peft": (78, "adapters and their initialisation may differ"),
    "gymnasium": (80, "environments may draw and step otherwise"),
    "stable-baselines3": (80, "losses and defaults of training may differ"),
    "ray": (60, "order of workers and of results may differ"),
}
_STARTS = (
    ("nvidia-cudnn", (88, "cuDNN chooses the convolution and attention kernels")),
    ("nvidia-cublas", (88, "cuBLAS chooses the kernels of matrix products")),
    ("nvidia-nccl", (84, "NCCL decides in which order gradients are summed")),
    ("nvidia-", (70, "a library of CUDA")),
    ("libopenblas", (80, _KERNELS)),
    ("mkl", (80, _KERNELS)),
    ("cudatoolkit", (84, _KERNELS)),
)
_ANY = (40, "")


def cause_of(name: str) -> tuple[int, str]:
    """How much a change of this package means, and why; the reason is "" where none is known."""
    found = _ROWS.get(name)
    if found is not None:
        return found
    return next((row for start, row in _STARTS if name.startswith(start)), _ANY)
