"""Features once: what the head gets to see, each image once, and training on it equals training on a frozen model."""

import copy

import pytest
import torch
from conftest import tiny_vit
from references import NO_DROPOUT, below, embed, encoder_block, fill_with_noise, layer_norm, random_images
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import VisionTransformer

from going_modular.going_modular import engine
from going_modular.going_modular.pretrained import extract_features, freeze, head_of

IMAGES = random_images(11, 3, 32, 32)
LABELS = torch.arange(11) % 3


def batches(batch_size=4, images=IMAGES, labels=LABELS) -> DataLoader:
    return DataLoader(TensorDataset(images, labels), batch_size=batch_size)


def noisy_vit(**changes) -> nn.Module:
    return fill_with_noise(tiny_vit(**{**NO_DROPOUT, **changes}))


def torchvisions() -> nn.Module:
    return fill_with_noise(VisionTransformer(32, 16, 2, 3, 12, 24, num_classes=3))


def modes(model: nn.Module) -> list[bool]:
    return [module.training for module in model.modules()]


def test_features_are_the_class_token_after_the_final_layer_norm_by_hand(capsys):
    model = noisy_vit(mlp_dropout=0.5, embedding_dropout=0.5, attn_dropout=0.5).train()  # eval mode switches it off
    features, labels = extract_features(model, batches(), "cpu")
    state = {name: value.detach() for name, value in model.state_dict().items()}
    z = embed(IMAGES, state)
    for layer in range(2):
        z, _ = encoder_block(z, below(state, f"transformer_encoder.{layer}."), num_heads=3)
    expected = layer_norm(z[:, 0], state["classifier.0.weight"], state["classifier.0.bias"])
    torch.testing.assert_close(features, expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(labels, LABELS)
    assert features.std() > 0.5
    assert capsys.readouterr().out == "Features: 11 images seen once, 12 numbers kept of each\n"


@pytest.mark.parametrize("make", [noisy_vit, torchvisions])
def test_the_head_on_the_features_gives_the_models_logits(make):
    model = make().eval()
    features, _ = extract_features(model, batches(), "cpu")
    with torch.no_grad():
        torch.testing.assert_close(head_of(model)(features), model(IMAGES), atol=1e-6, rtol=0)


@pytest.mark.parametrize("batch_size", [4, 11])
def test_each_image_is_seen_once_and_the_model_stays_as_it_was(batch_size):
    model = noisy_vit()
    model.transformer_encoder.eval()  # neither all in training nor all in eval mode
    before, seen = modes(model), []
    handle = model.register_forward_pre_hook(lambda _model, inputs: seen.append(inputs[0]))
    features, labels = extract_features(model, batches(batch_size), "cpu")
    handle.remove()
    assert torch.equal(torch.cat(seen), IMAGES)
    assert modes(model) == before
    assert not head_of(model)._forward_pre_hooks
    for tensor in (features, labels):
        assert not tensor.is_inference() and not tensor.requires_grad
    assert features.shape == (11, 12)


def test_nothing_stays_behind_after_an_error():
    model = noisy_vit().train()
    with pytest.raises(ValueError, match="this ViT takes images"):
        extract_features(model, batches(images=random_images(11, 3, 16, 16)), "cpu")
    assert not head_of(model)._forward_pre_hooks and all(modes(model))


def test_an_empty_dataloader_is_an_error():
    with pytest.raises(ValueError):
        extract_features(noisy_vit(), [], "cpu")


@pytest.mark.parametrize("make", [noisy_vit, torchvisions])
def test_freeze_leaves_the_head_alone_to_learn(make):
    model = make().requires_grad_(False)
    head = freeze(model)
    assert head is head_of(model)
    trainable = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
    assert trainable == {id(parameter) for parameter in head.parameters()} and len(trainable) == 2


def test_a_model_without_a_known_head_is_an_error_and_stays_trainable():
    model = nn.Sequential(nn.Linear(3, 3))
    with pytest.raises(TypeError, match="Sequential has no head"):
        freeze(model)
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training_on_features_equals_running_the_frozen_backbone_every_epoch(optimizer):
    """No dropout, no augmentation, the same order."""
    every_epoch = noisy_vit()
    once = copy.deepcopy(every_epoch)
    start = head_of(once).weight.detach().clone()
    test_images = random_images(5, 3, 32, 32, seed=1)
    test_labels = torch.arange(5) % 3
    loss_fn = nn.CrossEntropyLoss()

    freeze(every_epoch)
    backbone = copy.deepcopy(every_epoch.transformer_encoder.state_dict())
    expected = engine.train(
        every_epoch,
        batches(),
        batches(images=test_images, labels=test_labels),
        optimizer((p for p in every_epoch.parameters() if p.requires_grad), lr=0.05),
        loss_fn,
        epochs=4,
        device="cpu",
    )
    head = freeze(once)
    found = engine.train(
        head,
        batches(4, *extract_features(once, batches(), "cpu")),
        batches(4, *extract_features(once, batches(images=test_images, labels=test_labels), "cpu")),
        optimizer(head.parameters(), lr=0.05),
        loss_fn,
        epochs=4,
        device="cpu",
    )
    assert (head.weight - start).abs().max() > 0.05, "the head must have learned something"
    assert expected["train_loss"][-1] < expected["train_loss"][0] - 0.05
    for name in expected:
        assert found[name] == pytest.approx(expected[name], abs=1e-5)
    for name, value in every_epoch.state_dict().items():
        torch.testing.assert_close(once.state_dict()[name], value, atol=1e-5, rtol=0)
    assert all(
        torch.equal(backbone[name], value) for name, value in every_epoch.transformer_encoder.state_dict().items()
    )
