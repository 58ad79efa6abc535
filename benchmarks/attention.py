"""Attention in one fused call and in two lines, in training and in evaluation: what vit.fused_is_faster rests on.

usage: python benchmarks/attention.py [--smoke]

One SelfAttention layer of ViT-Ti/16 on a batch of 32, on the CPU, both ways in turn. Prints a table of milliseconds.
"""

import argparse
import sys
from pathlib import Path
from unittest.mock import patch

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks import timing  # noqa: E402
from going_modular.going_modular import vit  # noqa: E402
from going_modular.going_modular.comparison import format_table  # noqa: E402


def call(layer: vit.SelfAttention, z: torch.Tensor, precision: str, training: bool, fused: bool) -> None:
    """One pass through the layer, and in training the way back."""
    with patch.object(vit, "fused_is_faster", lambda _q: fused), torch.set_grad_enabled(training):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            output = layer(z)
        if training:
            output.float().sum().backward()


def row(batch: int, img_size: int, precision: str, training: bool, rounds: int) -> list[str]:
    size = vit.VARIANTS["ViT-Ti/16"]
    dim, heads = size["embedding_dim"], size["num_heads"]
    layer = vit.SelfAttention(dim, heads, batch_first=True).train(training)
    tokens = (img_size // size["patch_size"]) ** 2 + 1
    z = torch.randn(batch, tokens, dim)  # (B, N+1, D)
    works = {
        way: lambda fused=way == "fused": call(layer, z, precision, training, fused) for way in ("fused", "two lines")
    }
    seconds = timing.interleaved(works, rounds + 1)
    medians = [timing.quartiles(seconds[way][1:])["median"] for way in works]  # the first round warms up
    return [
        f"{img_size} pixels, {tokens} tokens",
        precision,
        "training" if training else "evaluation",
        *(f"{1000 * median:.1f}" for median in medians),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="at toy size, to see that it works")
    smoke = parser.parse_args(arguments).smoke
    torch.manual_seed(0)
    rows = [
        row(*((2, 32) if smoke else (32, img_size)), precision, training, 1 if smoke else 15)
        for img_size in (112, 224)
        for precision in timing.DTYPES
        for training in (True, False)
    ]
    print(format_table(["image", "precision", "mode", "fused, ms", "two lines, ms"], rows))


if __name__ == "__main__":
    main()
