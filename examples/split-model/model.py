"""A wide layer in six blocks, as tensor parallelism cuts it: each adds its share to the same output."""

import numpy as np

from dsec.sdk import publishing

LAYERS, WIDTH, HIDDEN = 6, 32, 64
loaded = {}


def weights(layer):
    """Both matrices of a block; a worker keeps those of its own layers only."""
    if layer not in loaded:
        draw = np.random.default_rng(layer)
        loaded[layer] = draw.normal(size=(WIDTH, HIDDEN)), draw.normal(size=(HIDDEN, WIDTH))
    return loaded[layer]


def load(context):
    """A batch of this iteration."""
    batch = np.random.default_rng(context.iteration).normal(size=(16, WIDTH))
    with publishing(f"{context.run_dir}/batch-{context.iteration}.npy") as file:
        np.save(file, batch)


def forward(context):
    """All layers, or those of this part; what the parts write is summed by the AllReduce Step."""
    batch = np.load(f"{context.run_dir}/batch-{context.iteration}.npy")
    first, last = context.split_layers or (0, LAYERS - 1)
    written = {"hidden": np.zeros_like(batch)}
    for layer in range(first, last + 1):
        up, down = weights(layer)
        share = np.maximum(batch @ up, 0) @ down
        written["hidden"] += share
        written[f"norm-{layer}"] = np.array(np.linalg.norm(share))
    with publishing(context.part(f"{context.run_dir}/hidden-{context.iteration}.npz")) as file:
        np.savez(file, **written)
    return {"layers": f"{first}-{last}"}


def report(context):
    """What came out of all layers together."""
    with np.load(f"{context.run_dir}/hidden-{context.iteration}.npz") as found:
        norms = [float(found[f"norm-{layer}"]) for layer in range(LAYERS)]
        mean = float(found["hidden"].mean())
    print(f"iteration {context.iteration}: mean {mean:+.6f}, layers of {min(norms):.1f} to {max(norms):.1f}")
