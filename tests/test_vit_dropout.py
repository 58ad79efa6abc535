"""Dropout stands where Appendix B.1 puts it, each argument of it acts, and attention weights come when asked for.

Dropout with p = 1 sets everything to zero, so it shows exactly where it stands.
"""

import pytest
import references
import torch
from references import NO_DROPOUT, SMALL, fill_with_noise, random_images
from torch.overrides import TorchFunctionMode

from going_modular.going_modular.vit import MLPBlock, MultiheadSelfAttentionBlock, TransformerEncoderBlock, ViT

IMAGES = random_images(3, 3, 16, 24)
LAYERS, HEADS, TOKENS = SMALL["num_transformer_layers"], SMALL["num_heads"], 1 + 2 * 3


def tokens(dim: int = 20) -> torch.Tensor:
    return torch.randn(3, 7, dim, generator=torch.Generator().manual_seed(1))


def noisy_vit(**dropouts: float) -> ViT:
    return fill_with_noise(ViT(**SMALL, **(NO_DROPOUT | dropouts)))


def answers_vary(module, x) -> bool:
    """Whether three calls on one input give more than one answer."""
    first = module(x)
    return any(not torch.equal(module(x), first) for _ in range(2))


@pytest.mark.parametrize("argument", NO_DROPOUT)
def test_each_dropout_argument_of_vit_acts_alone_and_in_training_only(argument):
    vit = noisy_vit(**{argument: 0.5})
    assert answers_vary(vit.train(), IMAGES)
    assert not answers_vary(vit.eval(), IMAGES)
    assert torch.equal(vit(IMAGES), noisy_vit().eval()(IMAGES)), "in eval mode dropout changes nothing"


def test_without_dropout_training_answers_do_not_vary():
    assert not answers_vary(noisy_vit().train(), IMAGES)


@pytest.mark.parametrize(
    ("block_class", "argument"),
    [
        (MultiheadSelfAttentionBlock, "attn_dropout"),
        (MultiheadSelfAttentionBlock, "proj_dropout"),
        (MLPBlock, "dropout"),
        (TransformerEncoderBlock, "attn_dropout"),
        (TransformerEncoderBlock, "mlp_dropout"),
    ],
)
def test_each_dropout_argument_of_a_block_acts_alone_and_in_training_only(block_class, argument):
    names = {"attn_dropout", "proj_dropout", "dropout", "mlp_dropout"} & set(block_class.__init__.__annotations__)
    sizes = {"embedding_dim": 20} if block_class is MLPBlock else {"embedding_dim": 20, "num_heads": 4}
    block = fill_with_noise(block_class(**sizes, **(dict.fromkeys(names, 0.0) | {argument: 0.5})))
    assert answers_vary(block.train(), tokens())
    assert not answers_vary(block.eval(), tokens())


def test_dropout_of_from_variant_acts_in_the_places_of_appendix_b1_and_not_on_attention_weights():
    vit = fill_with_noise(ViT.from_variant("ViT-Ti/16", num_classes=3, img_size=32, dropout=1.0)).train()
    images = random_images(2, 3, 32, 32)
    z_0 = vit.embed(images)
    assert not z_0.any()
    assert torch.equal(vit.transformer_encoder(tokens(192)), tokens(192))
    assert vit.config["attn_dropout"] == 0
    assert not answers_vary(vit.eval(), images)


def test_from_variant_without_dropout_has_none():
    vit = fill_with_noise(ViT.from_variant("ViT-Ti/16", num_classes=3, img_size=32, dropout=0.0)).train()
    assert not answers_vary(vit, random_images(2, 3, 32, 32))


def test_embedding_dropout_follows_the_addition_of_positions():
    vit = noisy_vit(embedding_dropout=1.0).train()
    assert not vit.embed(IMAGES).any(), "patches, class token and positions are all dropped"


def test_embedding_dropout_keeps_the_expected_value():
    vit = noisy_vit(embedding_dropout=0.5)
    expected = vit.eval().embed(IMAGES)
    dropped = vit.train().embed(IMAGES)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    assert torch.allclose(dropped[kept], 2 * expected[kept])


def test_mlp_dropout_of_1_makes_an_encoder_block_the_identity():
    """Nothing comes back from either branch: dropout also follows the attention's output projection."""
    block = fill_with_noise(TransformerEncoderBlock(20, 4, 28, mlp_dropout=1.0)).train()
    assert torch.equal(block(tokens()), tokens())
    output, _ = block(tokens(), return_attention=True)
    assert torch.equal(output, tokens())


@pytest.mark.parametrize("return_attention", [False, True])
def test_proj_dropout_follows_the_output_projection(return_attention):
    block = fill_with_noise(MultiheadSelfAttentionBlock(20, 4, proj_dropout=1.0)).train()
    answer = block(tokens(), return_attention=return_attention)
    assert not (answer[0] if return_attention else answer).any()


@pytest.mark.parametrize("return_attention", [False, True])
def test_attn_dropout_acts_on_the_attention_weights_and_nothing_after_them(return_attention):
    block = fill_with_noise(MultiheadSelfAttentionBlock(20, 4, attn_dropout=1.0)).train()
    answer = block(tokens(), return_attention=return_attention)
    output = answer[0] if return_attention else answer
    bias = block.multihead_attn.out_proj.bias
    assert torch.equal(output, bias.expand_as(output)), "A v is zero, so what is left is the projection's bias"


def test_qkv_projections_are_not_followed_by_dropout():
    """Attention weights are those of eval mode, whatever is dropped after them."""
    block = fill_with_noise(MultiheadSelfAttentionBlock(20, 4, attn_dropout=0.5, proj_dropout=0.5))
    _, trained = block.train()(tokens(), return_attention=True)
    _, expected = block.eval()(tokens(), return_attention=True)
    assert torch.equal(trained, expected)


def test_mlp_dropout_follows_both_linear_layers():
    block = fill_with_noise(MLPBlock(20, 400, dropout=0.25)).train()
    hidden = []
    block.mlp[3].register_forward_pre_hook(lambda layer, inputs: hidden.append(inputs[0]))
    output = block(tokens(20))
    for dropped in (hidden[0], output):
        assert 0.15 < (dropped == 0).float().mean() < 0.35


class CallRecorder(TorchFunctionMode):
    """Notes the name of every torch function called inside it."""

    def __init__(self):
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_attention_weights_are_computed_only_when_asked_for():
    vit = noisy_vit().eval()
    with CallRecorder() as plain:
        vit(IMAGES)
    assert plain.names.count("scaled_dot_product_attention") == LAYERS
    assert "softmax" not in plain.names
    with CallRecorder() as asked:
        vit(IMAGES, return_attention=True)
    assert asked.names.count("softmax") == LAYERS
    assert "scaled_dot_product_attention" not in asked.names


def test_attention_weights_have_a_map_for_each_image_block_and_head():
    vit = noisy_vit().eval()
    logits, maps = vit(IMAGES, return_attention=True)
    assert maps.shape == (3, LAYERS, HEADS, TOKENS, TOKENS)
    assert (maps >= 0).all()
    assert (maps.sum(-1) - 1).abs().max() <= 1e-6
    _, expected = references.vit(IMAGES, vit.state_dict(), LAYERS, HEADS)
    assert (maps - expected).abs().max() <= 1e-6
    assert (maps[:, 0] - maps[:, 1]).abs().max() > 0.1, "blocks differ"
    assert (maps[:, :, 0] - maps[:, :, 1]).abs().max() > 0.1, "heads differ"
    assert (logits - vit(IMAGES)).abs().max() <= 1e-5


def test_attention_weights_in_training_are_those_before_dropout():
    vit = noisy_vit(attn_dropout=0.5).train()
    _, maps = vit(IMAGES, return_attention=True)
    assert (maps.sum(-1) - 1).abs().max() <= 1e-6
    assert answers_vary(lambda images: vit(images, return_attention=True)[0], IMAGES)


def test_asking_for_attention_weights_gives_the_same_gradients():
    def gradients(return_attention: bool) -> list[torch.Tensor]:
        vit = noisy_vit().train()
        answer = vit(IMAGES, return_attention=return_attention)
        (answer[0] if return_attention else answer).square().mean().backward()
        return [parameter.grad for parameter in vit.parameters()]

    for plain, asked in zip(gradients(False), gradients(True), strict=True):
        assert plain.any() and (plain - asked).abs().max() <= 1e-5
