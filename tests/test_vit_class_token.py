"""Without gradients the last block computes the class token alone, and says what the whole block says."""

import pytest
import torch
from references import fill_with_noise
from torch import nn

from going_modular.going_modular import vit as vit_script
from going_modular.going_modular.vit import ViT

SIZES = dict(img_size=32, patch_size=8, embedding_dim=24, mlp_size=48, num_heads=3, num_classes=5)


@pytest.fixture
def images():
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def shortcuts(monkeypatch):
    """Counts how often the last block's first row was computed alone."""
    calls, first_row = [], vit_script.first_row
    monkeypatch.setattr(vit_script, "first_row", lambda block, z: calls.append(block) or first_row(block, z))
    return calls


def small(layers=2, **change):
    torch.manual_seed(0)
    return fill_with_noise(ViT(num_transformer_layers=layers, **SIZES | change)).eval()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_the_class_token_alone_is_row_0_of_the_whole_encoder(images, shortcuts, layers, without):
    model = small(layers)
    whole = model.classifier(model.transformer_encoder(model.embed(images))[:, 0])
    with without():
        logits = model(images)
    assert len(shortcuts) == 1
    assert whole.std() > 0.1 and (logits - whole).abs().max() <= 1e-5


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.bfloat16, 0.1)])
def test_it_agrees_in_other_precisions(images, shortcuts, dtype, tolerance):
    model, images = small().to(dtype), images.to(dtype)
    whole = model(images)
    with torch.no_grad():
        logits = model(images)
    assert len(shortcuts) == 1 and logits.dtype == dtype
    assert (logits - whole).abs().max() <= tolerance


def test_training_goes_through_the_whole_encoder(images, shortcuts):
    model = small()
    model(images)  # eval mode, with gradients
    with torch.no_grad():
        model.train()(images)
        model.eval().transformer_encoder[-1].msa_block.proj_dropout.train()  # Monte Carlo dropout
        model(images)
    assert not shortcuts


def test_a_model_without_blocks_has_no_last_one(images, shortcuts):
    model = small(layers=0)
    with torch.no_grad():
        assert torch.equal(model(images), model.classifier(model.embed(images)[:, 0]))
    assert not shortcuts


@pytest.mark.parametrize("part", ["", "0", "1", "1.msa_block", "1.mlp_block.mlp.1"])
def test_a_hook_sees_all_tokens(images, part):
    model, seen = small(), []
    model.transformer_encoder.get_submodule(part).register_forward_hook(lambda _layer, _inputs, z: seen.append(z.shape))
    with torch.no_grad():
        model(images)
    assert [shape[1] for shape in seen] == [17]


class Mixer(nn.Linear):
    """Stands in for a layer that mixes tokens: each becomes the mean of all."""

    def forward(self, x):
        return super().forward(x).mean(dim=1, keepdim=True).expand(*x.shape[:2], -1)


def replace_block(model):
    model.transformer_encoder[-1] = nn.Identity()


def replace_layer(model):
    model.transformer_encoder[-1].mlp_block.mlp[3] = Mixer(48, 24)


def replace_forward(model):
    block = model.transformer_encoder[-1]
    block.forward = lambda z: z.flip(1)


@pytest.mark.parametrize("change", [replace_block, replace_layer, replace_forward])
def test_a_changed_block_is_run_as_it_is(images, shortcuts, change):
    model = small()
    change(model)
    whole = model(images)
    with torch.no_grad():
        assert torch.equal(model(images), whole)
    assert not shortcuts


# In bfloat16 under autocast, on a CPU


def under_autocast(model, images, dtype=torch.bfloat16):
    """The logits without gradients, in float32."""
    with torch.no_grad(), torch.autocast("cpu", dtype):
        return model(images).float()


def test_under_autocast_the_residual_is_in_bfloat16_and_the_answer_as_near(images, monkeypatch):
    """As near to float32 as twice what autocast alone loses."""
    model = small(layers=6, num_classes=200)
    with torch.no_grad():
        exact = model(images)
    low = under_autocast(model, images)
    monkeypatch.setattr(vit_script, "in_autocasts_precision", lambda z: z)
    plain = under_autocast(model, images)
    assert not torch.equal(low, plain)
    assert (low - exact).norm() < 2 * (plain - exact).norm()
    assert (low - exact).norm() < 0.03 * exact.norm()


@pytest.mark.parametrize("dtype, expected", [(torch.bfloat16, torch.bfloat16), (torch.float16, torch.float32)])
def test_only_bfloat16_is_taken_over(dtype, expected):
    z = torch.ones(1, 2, 3)
    with torch.autocast("cpu", dtype):
        assert vit_script.in_autocasts_precision(z).dtype == expected
        assert vit_script.in_autocasts_precision(z.double()).dtype == torch.float64
        assert vit_script.in_autocasts_precision(z.to("meta")).dtype == torch.float32
    assert vit_script.in_autocasts_precision(z) is z


def test_with_gradients_the_residual_stays_in_float32(images):
    model, seen = small(), []
    model.transformer_encoder[0].register_forward_hook(lambda _layer, _inputs, z: seen.append(z.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        model(images)
    assert seen == [torch.float32]
