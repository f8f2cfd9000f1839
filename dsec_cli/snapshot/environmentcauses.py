"""Variables that are known to change what a run computes, and how."""

from __future__ import annotations

_ROWS: dict[str, tuple[int, str]] = {
    "PYTHONHASHSEED": (90, "the order of sets of texts, and all that follows from it"),
    "CUBLAS_WORKSPACE_CONFIG": (88, "cuBLAS is deterministic only with :4096:8 or :16:8"),
    "NVIDIA_TF32_OVERRIDE": (88, "matrix products in TF32 or in FP32"),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": (88, "matrix products in TF32 or in FP32"),
    "OMP_NUM_THREADS": (80, "the number of threads decides in which order sums are taken"),
    "MKL_NUM_THREADS": (80, "the number of threads decides in which order sums are taken"),
    "OPENBLAS_NUM_THREADS": (80, "the number of threads decides in which order sums are taken"),
    "MKL_CBWR": (80, "which code path MKL takes, and so how it rounds"),
    "CUDA_VISIBLE_DEVICES": (78, "which GPUs, and how many, the run sees"),
    "NCCL_ALGO": (78, "in which order gradients are summed"),
    "NCCL_PROTO": (76, "in which order gradients are summed"),
    "NCCL_P2P_DISABLE": (70, "how GPUs reach each other, and with it how NCCL sums"),
    "WORLD_SIZE": (86, "the number of workers: batches and sums are cut otherwise"),
    "LD_PRELOAD": (74, "other libraries are loaded in place of the usual ones"),
    "LD_LIBRARY_PATH": (72, "other libraries may be loaded"),
    "PYTHONPATH": (72, "other modules may be imported"),
    "XLA_FLAGS": (76, "what XLA compiles"),
    "TORCHINDUCTOR_CACHE_DIR": (60, "kernels compiled for another GPU type may lie there"),
    "TRITON_CACHE_DIR": (60, "kernels compiled for another GPU type may lie there"),
    "SEED": (96, "a seed"),
}
_STARTS = (
    (
        ("CUDA_", "CUDNN_", "CUBLAS_", "NCCL_", "TORCH", "PYTORCH_", "XLA_", "TF_", "JAX_", "TRITON_"),
        (55, ""),
    ),
    (("PYTHON", "LD_", "OMP_", "MKL_", "HF_", "TRANSFORMERS_", "VLLM_"), (45, "")),
)
_ANY = (12, "")


def cause_of(name: str) -> tuple[int, str]:
    """How much a change of this variable means, and why; the reason is "" where none is known."""
    found = _ROWS.get(name)
    if found is not None:
        return found
    return next((row for starts, row in _STARTS if name.startswith(starts)), _ANY)
