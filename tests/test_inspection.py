"""inspection: attention, rollout, distance, positions and filters against by-hand computations."""

import math

import pytest
import torch
from references import NO_DROPOUT, SMALL, fill_with_noise, random_images
from references import vit as vit_by_hand
from test_torchvision_weights import copies
from torch import nn
from torchvision.models import VisionTransformer

from going_modular.going_modular import inspection
from going_modular.going_modular.torchvision_weights import to_our_names
from going_modular.going_modular.vit import ViT

DROPOUT = {"attn_dropout": 0.5, "mlp_dropout": 0.5, "embedding_dropout": 0.5}  # all switched off in eval mode


def our_vit(**changes) -> ViT:
    return fill_with_noise(ViT(**{**SMALL, **DROPOUT, **changes}))


def their_vit() -> VisionTransformer:
    model = VisionTransformer(24, 8, 2, 4, 20, 28, num_classes=5, dropout=0.5, attention_dropout=0.5)
    return fill_with_noise(model)


MODELS = {"ours": (our_vit, random_images(3, 3, 16, 24)), "torchvision's": (their_vit, random_images(3, 3, 24, 24))}


@pytest.fixture(params=MODELS)
def model_and_images(request):
    make, images = MODELS[request.param]
    return make(), images


def state_of(model: nn.Module) -> dict[str, torch.Tensor]:
    state = {name: value.detach() for name, value in model.state_dict().items()}
    return state if isinstance(model, ViT) else to_our_names(state)


def hooks_of(model: nn.Module) -> list[int]:
    names = ("_forward_hooks", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs")
    return [len(getattr(module, name)) for module in model.modules() for name in names]


@torch.no_grad()
def answers(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)  # in training mode dropout is at work
    return model(images)


# Attention maps


def test_maps_are_those_of_the_softmax_by_hand(model_and_images):
    model, images = model_and_images
    maps = inspection.attention_maps(model, images)
    logits, expected = vit_by_hand(images, state_of(model), num_layers=2, num_heads=4)
    num_tokens = model.state_dict()["position_embedding" if isinstance(model, ViT) else "encoder.pos_embedding"].shape[
        1
    ]
    assert maps.shape == (3, 2, 4, num_tokens, num_tokens)
    torch.testing.assert_close(maps, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones(maps.shape[:-1]), atol=1e-5, rtol=0)
    torch.testing.assert_close(answers(model.eval(), images), logits, atol=1e-4, rtol=0)
    assert maps.std() > 0.01 and (maps[:, :, 0] - maps[:, :, 1]).abs().max() > 0.01, "heads differ, none is averaged"


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("inference", [True, False], ids=["inference_mode", "gradients"])
def test_the_model_is_as_before(model_and_images, training, inference):
    model, images = model_and_images
    model.train(training)
    next(model.children()).train(not training)  # a part in the other mode
    before, hooks, modes = answers(model, images), hooks_of(model), [part.training for part in model.modules()]
    with torch.inference_mode(inference):
        maps = inspection.attention_maps(model, images)
    assert torch.equal(answers(model, images), before)
    assert hooks_of(model) == hooks and [part.training for part in model.modules()] == modes
    assert not maps.requires_grad and maps.is_inference() == inference
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones(maps.shape[:-1]), atol=1e-5, rtol=0)


def test_the_model_is_as_before_after_an_error(model_and_images):
    model, images = model_and_images
    model.train()
    before, hooks = answers(model, images), hooks_of(model)
    with pytest.raises((ValueError, AssertionError)):
        inspection.attention_maps(model, random_images(1, 3, 8, 8))
    broken = list(model.modules())[-1].register_forward_pre_hook(lambda *_: 1 / 0)  # the head, after all blocks
    with pytest.raises(ZeroDivisionError):
        inspection.attention_maps(model, images)
    broken.remove()
    assert hooks_of(model) == hooks and all(part.training for part in model.modules())
    assert torch.equal(answers(model, images), before)


def test_hooks_of_others_stay_and_see_what_they_saw():
    model, images = their_vit().eval(), MODELS["torchvision's"][1]
    seen = []
    handle = model.encoder.layers[0].self_attention.register_forward_hook(lambda *args: seen.append(args[2][1]))
    inspection.attention_maps(model, images)
    seen.clear()
    answers(model, images)
    handle.remove()
    assert seen == [None], "torchvision asks for no weights, and must not be asked for them afterwards"


def test_the_maps_may_be_used_in_training():
    maps = inspection.attention_maps(our_vit(), MODELS["ours"][1])
    weight = torch.ones((), requires_grad=True)
    (maps * weight).sum().backward()
    assert weight.grad > 0


def test_a_model_without_attention_is_an_error():
    with pytest.raises(TypeError, match="Linear has no nn.MultiheadAttention"):
        inspection.attention_maps(nn.Linear(2, 2), torch.zeros(1, 2))


# Rollout


def random_maps(batch=2, layers=3, heads=2, tokens=5, seed=0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, layers, heads, tokens, tokens, generator=generator).mul(2).softmax(dim=-1)


def test_rollout_by_hand():
    maps = random_maps()
    rollout = inspection.attention_rollout(maps)
    assert rollout.shape == (2, 4)
    for image in range(2):
        product = [[float(i == j) for j in range(5)] for i in range(5)]
        for layer in range(3):
            mean = [[sum(maps[image, layer, h, i, j].item() for h in range(2)) / 2 for j in range(5)] for i in range(5)]
            block = [[(mean[i][j] + (i == j)) / 2 for j in range(5)] for i in range(5)]
            product = [[sum(block[i][m] * product[m][j] for m in range(5)) for j in range(5)] for i in range(5)]
        assert rollout[image].tolist() == pytest.approx(product[0][1:], abs=1e-6)
        assert sum(product[0]) == pytest.approx(1)


def test_rollout_of_one_block_is_half_its_attention():
    maps = random_maps(layers=1, heads=1)
    torch.testing.assert_close(inspection.attention_rollout(maps), maps[:, 0, 0, 0, 1:] / 2)


def test_rollout_follows_the_path_from_the_last_block_to_the_first():
    """Block 1: patch 2 copies patch 3. Block 2: the class token copies patch 2. So patch 3 must show, not patch 1."""
    first, second = torch.eye(5), torch.eye(5)
    first[2] = torch.eye(5)[3]
    second[0] = torch.eye(5)[2]
    rollout = inspection.attention_rollout(torch.stack([first, second])[None, :, None])
    assert rollout[0].tolist() == pytest.approx([0, 0.25, 0.25, 0])  # half of the half that comes through patch 2


@pytest.mark.parametrize("shape", [(3, 5, 5), (2, 3, 2, 5, 4), (0, 3, 2, 5, 5)])
def test_maps_of_another_shape_are_named(shape):
    with pytest.raises(ValueError, match=r"\(B, L, k, N\+1, N\+1\)"):
        inspection.attention_rollout(torch.zeros(shape))
    with pytest.raises(ValueError, match=r"\(B, L, k, N\+1, N\+1\)"):
        inspection.attention_distance(torch.zeros(shape), 8, (2, 2))


# Distance


def test_distance_by_hand():
    rows, columns, patch_size = 2, 3, 8
    maps = random_maps(batch=2, layers=2, heads=3, tokens=7)
    found = inspection.attention_distance(maps, patch_size, (rows, columns))
    assert found.shape == (2, 3)
    places = [(row, column) for row in range(rows) for column in range(columns)]
    for layer in range(2):
        for head in range(3):
            means = []
            for image in range(2):
                for query, here in enumerate(places):
                    weights = maps[image, layer, head, query + 1, 1:].tolist()
                    lengths = [patch_size * math.dist(here, there) for there in places]
                    means.append(sum(w * d for w, d in zip(weights, lengths)) / sum(weights))
            assert found[layer, head].item() == pytest.approx(sum(means) / len(means), abs=1e-4)


def test_distances_of_heads_that_are_easy_to_tell():
    """Four patches in a row, 16 pixels wide: to oneself, to the left neighbour, to all alike, to the class token."""
    itself = torch.eye(5)
    left = torch.eye(5)[[0, 1, 1, 2, 3]]  # the leftmost patch has none, and looks at itself
    alike = torch.full((5, 5), 0.2)
    nowhere = torch.eye(5)[[0] * 5]
    maps = torch.stack([itself, left, alike, nowhere])[None, None]
    found = inspection.attention_distance(maps, 16, (1, 4))
    assert found[0].tolist() == pytest.approx([0, 12, 20, 0])


def test_a_grid_of_another_number_of_patches_is_an_error():
    with pytest.raises(ValueError, match="3 x 3 has 9 patches, the maps 4"):
        inspection.attention_distance(random_maps(), 16, (3, 3))


# Positions and filters


def test_position_similarity_by_hand(model_and_images):
    model, _ = model_and_images
    positions = state_of(model)["position_embedding"][0, 1:].tolist()
    similarity = inspection.position_similarity(model)
    assert similarity.shape == (len(positions), len(positions)) and not similarity.requires_grad
    for i, first in enumerate(positions):
        for j, second in enumerate(positions):
            cosine = sum(a * b for a, b in zip(first, second)) / (math.hypot(*first) * math.hypot(*second))
            assert similarity[i, j].item() == pytest.approx(cosine, abs=1e-5)


def test_patch_filters_by_hand(model_and_images):
    """Principal components are the eigenvectors of the covariance, by falling eigenvalue; signs are free."""
    model, _ = model_and_images
    kernels = state_of(model)["patch_embedding.patcher.weight"]
    components = inspection.patch_filters(model, components=6)
    assert components.shape == (6, 3, 8, 8) and not components.requires_grad
    filters = kernels.reshape(len(kernels), -1)
    centred = filters - filters.sum(dim=0) / len(filters)
    variances, vectors = torch.linalg.eigh(centred.T @ centred)
    vectors = vectors.flip(1)[:, :6].T
    assert (variances.flip(0)[:6].diff() < -1e-3).all(), "equal eigenvalues would leave the order open"
    agreement = (components.reshape(6, -1) * vectors).sum(dim=1).abs()
    torch.testing.assert_close(agreement, torch.ones(6), atol=1e-4, rtol=0)
    flat = components.reshape(6, -1)
    assert (flat.gather(1, flat.abs().argmax(dim=1, keepdim=True)) > 0).all()


def test_28_components_of_a_base_sized_embedding():
    model = our_vit(patch_size=8, embedding_dim=40, num_heads=4)
    assert inspection.patch_filters(model).shape == (28, 3, 8, 8)


@pytest.mark.parametrize("components", [0, 20, 1000])
def test_more_components_than_there_are_is_an_error(components):
    with pytest.raises(ValueError, match="these 20 filters have 1 to 19"):
        inspection.patch_filters(our_vit(), components)


def test_a_model_that_is_no_vit_is_an_error():
    for look in (inspection.position_similarity, inspection.patch_filters):
        with pytest.raises(TypeError, match="Linear has neither"):
            look(nn.Linear(2, 2))


def test_looking_changes_no_parameter(model_and_images):
    model, images = model_and_images
    before = copies(model.state_dict())
    inspection.attention_maps(model, images)
    inspection.position_similarity(model)
    inspection.patch_filters(model, 3)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert NO_DROPOUT.keys() == DROPOUT.keys()
