"""shapes: the ledger is measured, so it must say what a real forward pass shows."""

import pytest
import torch
from torch import nn

from going_modular.going_modular.shapes import LEDGER_PARTS, measure_shapes, shapes_so_far
from going_modular.going_modular.vit import ViT


@pytest.mark.parametrize("variant", ["ViT-Ti/16", "ViT-B/32"])
def test_the_ledger_says_what_a_real_forward_pass_shows(variant):
    vit = ViT.from_variant(variant, num_classes=3).eval()
    seen = []
    watched = [
        vit.patch_embedding.patcher,
        vit.patch_embedding.flatten,
        vit.patch_embedding,
        vit.transformer_encoder[0],
        vit.transformer_encoder[0].mlp_block.mlp[1],
        *vit.classifier,
    ]
    for module in watched:
        assert isinstance(module, nn.Module)
        module.register_forward_hook(lambda module, inputs, output: seen.append(str(tuple(output.shape))))
    with torch.inference_mode():
        vit(torch.zeros(2, 3, 224, 224))
    rows = measure_shapes(variant, batch_size=2)
    measured = [shape for _, _, _, shape in rows]
    assert set(seen) <= set(measured)
    assert rows[0][3] == "(2, 3, 224, 224)" and rows[-1][3] == "(2, 3)"
    assert [part for part in LEDGER_PARTS if part in {row[0] for row in rows}] == list(LEDGER_PARTS)


def test_the_ledger_grows_part_by_part():
    tables = [shapes_so_far(part) for part in LEDGER_PARTS]
    for shorter, longer in zip(tables, tables[1:], strict=False):
        assert len(longer.splitlines()) > len(shorter.splitlines())
    assert "(1, 12, 197, 197)" in shapes_so_far("msa") and "(1, 12, 197, 197)" not in shapes_so_far("class_token")
    with pytest.raises(ValueError, match="'head'.*patch_embedding"):
        shapes_so_far("head")
