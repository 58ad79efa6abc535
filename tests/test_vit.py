"""Every class of vit.py against the paper's definitions (references.py) and against PyTorch's own layers."""

import math

import pytest
import references
import torch
from references import NO_DROPOUT, SMALL, below, fill_with_noise, random_images
from torch import nn

from going_modular.going_modular import vit as vit_script
from going_modular.going_modular.vit import (
    MLPBlock,
    MultiheadSelfAttentionBlock,
    PatchEmbedding,
    SelfAttention,
    TransformerEncoderBlock,
    ViT,
    fused_is_faster,
)

PRECISIONS = [(torch.float32, 1e-5), (torch.float64, 1e-12)]
precisions = pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float32", "float64"])
dims_and_heads = pytest.mark.parametrize(("dim", "heads"), [(20, 4), (24, 1), (18, 3), (6, 6)])


def tokens(dim: int, dtype: torch.dtype = torch.float32, count: int = 7, batch: int = 3) -> torch.Tensor:
    return torch.randn(batch, count, dim, dtype=dtype, generator=torch.Generator().manual_seed(1))


def assert_close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Same shape, largest absolute difference within tolerance, and something there to compare."""
    assert actual.shape == expected.shape
    assert expected.std() > 0.1, "numbers this small would agree with anything"
    assert (actual - expected).abs().max().item() <= tolerance


@precisions
@pytest.mark.parametrize(
    ("channels", "patch_size", "dim", "height", "width"),
    [(3, 16, 24, 64, 64), (3, 8, 10, 16, 40), (1, 4, 7, 12, 8), (4, 14, 5, 14, 28), (3, 1, 6, 3, 2)],
)
def test_patch_embedding_is_cut_flatten_multiply(channels, patch_size, dim, height, width, dtype, tolerance):
    layer = fill_with_noise(PatchEmbedding(channels, patch_size, dim)).to(dtype)
    images = random_images(2, channels, height, width).to(dtype)
    embedded = layer(images)
    assert embedded.shape == (2, height * width // patch_size**2, dim)
    expected = references.patch_embedding(images, kernel=layer.patcher.weight, bias=layer.patcher.bias)
    assert_close(embedded, expected, tolerance)


def test_patches_come_row_by_row():
    layer = PatchEmbedding(in_channels=1, patch_size=2, embedding_dim=1)
    nn.init.constant_(layer.patcher.weight, 0.25)  # the mean of each patch
    nn.init.zeros_(layer.patcher.bias)
    image = torch.arange(6.0).reshape(2, 3).repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)
    assert layer(image[None, None]).flatten().tolist() == [0, 1, 2, 3, 4, 5]


@precisions
@dims_and_heads
def test_self_attention_is_equations_5_to_8(dim, heads, dtype, tolerance):
    layer = fill_with_noise(SelfAttention(dim, heads, batch_first=True)).to(dtype).eval()
    z = tokens(dim, dtype)
    expected, expected_weights = references.self_attention(z, layer.state_dict(), heads)
    assert_close(layer(z), expected, tolerance)
    output, weights = layer(z, return_attention=True)
    assert_close(output, expected, tolerance)
    assert weights.shape == (3, heads, 7, 7)
    assert (weights - expected_weights).abs().max() <= tolerance
    assert weights.std() > 0.05, "equal weights everywhere would hide a wrong q or k"


def test_attention_in_two_lines_and_in_one_call_are_one(monkeypatch):
    layer = fill_with_noise(SelfAttention(24, 3, batch_first=True))
    results = {}
    for fused in (True, False):
        monkeypatch.setattr(vit_script, "fused_is_faster", lambda _q, fused=fused: fused)
        z = tokens(24).requires_grad_()
        output = layer(z)
        output.square().sum().backward()
        results[fused] = (output.detach(), z.grad)
    for one, other in zip(results[True], results[False], strict=True):
        assert other.abs().max() > 0.1
        assert (one - other).abs().max() <= 1e-5


@pytest.mark.parametrize(
    "dtype, train, fused", [(torch.bfloat16, True, False), (torch.bfloat16, False, True), (torch.float32, True, True)]
)
def test_training_in_bfloat16_on_a_cpu_takes_the_two_lines(dtype, train, fused):
    assert fused_is_faster(torch.zeros(1, 3, 7, 8, dtype=dtype, requires_grad=train)) is fused


def test_attention_in_bfloat16_has_the_gradient_of_float32():
    layer = fill_with_noise(SelfAttention(24, 3, batch_first=True))
    gradients = []
    for enabled in (False, True):
        z = tokens(24).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            layer(z).float().square().mean().backward()
        gradients.append(z.grad)
    exact, rounded = gradients
    assert (exact - rounded).norm() <= 0.05 * exact.norm()  # bfloat16 keeps 8 bits of a number


@dims_and_heads
@pytest.mark.parametrize("training", [True, False])
def test_self_attention_is_nn_multihead_attention(dim, heads, training):
    ours = fill_with_noise(SelfAttention(dim, heads, batch_first=True)).train(training)
    theirs = nn.MultiheadAttention(dim, heads, batch_first=True).train(training)
    theirs.load_state_dict(ours.state_dict())
    z = tokens(dim)
    expected, expected_weights = theirs(z, z, z, average_attn_weights=False)
    output, weights = ours(z, return_attention=True)
    assert_close(output, expected)
    assert_close(ours(z), theirs(z, z, z, need_weights=False)[0])
    assert (weights - expected_weights).abs().max() <= 1e-5


@precisions
@dims_and_heads
def test_attention_block_is_msa_of_layer_norm_without_residual(dim, heads, dtype, tolerance):
    block = fill_with_noise(MultiheadSelfAttentionBlock(dim, heads)).to(dtype)
    z = tokens(dim, dtype)
    expected, _ = references.msa_block(z, block.state_dict(), heads)
    assert_close(block(z), expected, tolerance)


@precisions
def test_mlp_block_is_two_layers_with_exact_gelu_without_residual(dtype, tolerance):
    block = fill_with_noise(MLPBlock(20, 28)).to(dtype).eval()
    z = tokens(20, dtype)
    assert_close(block(z), references.mlp_block(z, block.state_dict()), tolerance)


def test_the_tanh_form_of_gelu_would_be_noticed():
    block = fill_with_noise(MLPBlock(20, 28)).double().eval()
    z = tokens(20, torch.float64)
    exact = block(z)
    block.mlp[1] = nn.GELU(approximate="tanh")
    assert (block(z) - exact).abs().max() > 1e-5


@precisions
def test_encoder_block_adds_both_residuals(dtype, tolerance):
    block = fill_with_noise(TransformerEncoderBlock(20, 4, 28)).to(dtype).eval()
    z = tokens(20, dtype)
    expected, expected_weights = references.encoder_block(z, block.state_dict(), num_heads=4)
    assert_close(block(z), expected, tolerance)
    output, weights = block(z, return_attention=True)
    assert_close(output, expected, tolerance)
    assert (weights - expected_weights).abs().max() <= tolerance


def test_encoder_block_with_zeroed_branches_passes_its_input_on():
    block = TransformerEncoderBlock(20, 4, 28).eval()
    for last in (block.msa_block.multihead_attn.out_proj, block.mlp_block.mlp[3]):
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
    z = tokens(20)
    assert torch.equal(block(z), z)


@pytest.mark.parametrize("training", [True, False])
def test_encoder_block_is_nn_transformer_encoder_layer(training):
    ours = fill_with_noise(TransformerEncoderBlock(20, 4, 28, mlp_dropout=0.0)).train(training)
    theirs = nn.TransformerEncoderLayer(
        20, 4, 28, dropout=0.0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    ).train(training)
    parts = {
        theirs.norm1: ours.msa_block.layer_norm,
        theirs.self_attn: ours.msa_block.multihead_attn,
        theirs.norm2: ours.mlp_block.layer_norm,
        theirs.linear1: ours.mlp_block.mlp[0],
        theirs.linear2: ours.mlp_block.mlp[3],
    }
    for their_part, our_part in parts.items():
        their_part.load_state_dict(our_part.state_dict())
    z = tokens(20)
    with torch.inference_mode():  # in eval mode this is PyTorch's fused path
        assert_close(ours(z), theirs(z))


@pytest.mark.parametrize("name", ["msa_block", "mlp_block", "classifier"])
def test_layer_norm_eps_is_1e_6(name):
    """At a variance of 1e-6 the two customary values differ by more than a factor of two; at 1 nobody would see it."""
    vit = fill_with_noise(ViT(**SMALL)).double().eval()
    block = vit.transformer_encoder[0]
    norm = {"msa_block": block.msa_block.layer_norm, "mlp_block": block.mlp_block.layer_norm}.get(
        name, vit.classifier[0]
    )
    z = 1e-3 * tokens(20, torch.float64)
    expected = references.layer_norm(z, norm.weight, norm.bias, eps=1e-6)
    assert_close(norm(z), expected, 1e-12)
    assert (references.layer_norm(z, norm.weight, norm.bias, eps=1e-5) - expected).abs().max() > 0.5


@pytest.mark.parametrize("name", ["msa_block", "mlp_block"])
def test_blocks_hold_their_layer_norm_to_inputs_of_small_variance(name):
    block = fill_with_noise(TransformerEncoderBlock(20, 4, 28)).double().eval()
    z = 1e-3 * tokens(20, torch.float64)
    state = below(block.state_dict(), f"{name}.")
    expected = references.msa_block(z, state, 4)[0] if name == "msa_block" else references.mlp_block(z, state)
    assert_close(getattr(block, name)(z), expected, 1e-12)


@precisions
def test_embed_is_equation_1(dtype, tolerance):
    vit = fill_with_noise(ViT(**SMALL)).to(dtype).eval()
    images = random_images(3, 3, 16, 24).to(dtype)
    z_0 = vit.embed(images)
    assert z_0.shape == (3, 1 + 2 * 3, 20)
    assert_close(z_0, references.embed(images, vit.state_dict()), tolerance)


@precisions
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"img_size": 32, "patch_size": 16, "in_channels": 1},
        {"img_size": (8, 40), "patch_size": 4, "in_channels": 4, "num_heads": 10},
        {"num_transformer_layers": 5, "embedding_dim": 48, "mlp_size": 20, "num_heads": 3, "num_classes": 2},
    ],
    ids=["rectangle", "one channel", "four channels", "deeper"],
)
def test_vit_is_equations_1_to_4_and_a_linear_head(changes, dtype, tolerance):
    sizes = SMALL | changes
    vit = fill_with_noise(ViT(**sizes)).to(dtype).eval()
    images = random_images(3, sizes["in_channels"], *vit.img_size).to(dtype)
    expected, expected_maps = references.vit(
        images, vit.state_dict(), sizes["num_transformer_layers"], sizes["num_heads"]
    )
    assert_close(vit(images), expected, tolerance)
    logits, maps = vit(images, return_attention=True)
    assert_close(logits, expected, tolerance)
    assert maps.shape == expected_maps.shape
    assert (maps - expected_maps).abs().max() <= tolerance


def test_training_path_and_inference_path_agree():
    vit = fill_with_noise(ViT(**SMALL, **NO_DROPOUT))
    images = random_images(4, 3, 16, 24)
    trained = vit.train()(images).detach()
    with torch.inference_mode():
        assert_close(vit.eval()(images), trained)


def test_heads_scale_by_their_own_size():
    """q k^T over sqrt(D_h), by numbers that can be checked in the head: one head of size 4, so a division by 2."""
    layer = SelfAttention(4, 1, batch_first=True).eval()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))  # q = k = v = z
        layer.in_proj_bias.zero_()
    z = torch.tensor([[[2.0, 0, 0, 0], [0, 0, 0, 0]]])  # q k^T = [[4, 0], [0, 0]]
    _, weights = layer(z, return_attention=True)
    expected = math.exp(4 / 2) / (math.exp(4 / 2) + 1)
    assert weights[0, 0, 0, 0].item() == pytest.approx(expected, abs=1e-6)
    assert weights[0, 0, 1].tolist() == [0.5, 0.5]
