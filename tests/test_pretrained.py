"""get_pretrained_vit: which weights, from where, checked; what a missing network and a bad file lead to.

torch's cache and the offline checkpoint lie in a temporary folder, and the only server is on this machine.
"""

import hashlib
import shutil
import tempfile
from functools import partial
from pathlib import Path

import pytest
import torch
from conftest import closed_port
from PIL import Image
from references import fill_with_noise, random_images
from test_torchvision_weights import as_is, copies, course_spelling, old_spelling
from torch import nn
from torchvision.models import VisionTransformer, ViT_B_16_Weights, Weights, WeightsEnum, vit_b_16
from torchvision.models.vision_transformer import interpolate_embeddings
from torchvision.transforms._presets import ImageClassification

from going_modular.going_modular import predictions, pretrained, utils
from going_modular.going_modular.data_setup import create_transform
from going_modular.going_modular.pretrained import get_pretrained_vit
from going_modular.going_modular.vit import ViT
from helper_functions import DownloadError, file_sha256

FOODS = ["burger", "soup", "taco", "waffle"]
# Prepared as unlike the defaults as can be, so that a default in the transform's place shows.
PRESET = partial(ImageClassification, crop_size=32, resize_size=40, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Nothing of this machine's is read or written."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr(torch.hub, "_hub_dir", None)
    monkeypatch.delenv("FOODVISION_WEIGHTS", raising=False)
    monkeypatch.setattr(pretrained, "OFFLINE", tmp_path / "models" / "vit_ti_16_drawn_food.pth")
    yield
    shutil.rmtree(tmp_path)  # pytest would keep some 30 MB for each test


@pytest.fixture
def checkpoints(tmp_path) -> Path:
    """Where torch.hub keeps what it downloads."""
    folder = tmp_path / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def reference() -> VisionTransformer:
    """torchvision's model in the size of ViT-Ti/16, at 32 pixels, for 5 classes; every parameter is noise."""
    return fill_with_noise(VisionTransformer(32, 16, 12, 3, 192, 768, num_classes=5)).eval()


def save_as_official(state: dict, folder: Path, name: str = "vit_ti_16") -> Path:
    """The file under the name that torchvision would give it: ...-<first 8 hex digits of its SHA-256>.pth"""
    path = folder / "new.pth"
    torch.save(state, path)
    return path.rename(folder / f"{name}-{file_sha256(path)[:8]}.pth")


def entry_of(path: Path, url: str = "http://127.0.0.1:1", transforms=PRESET, **meta) -> Weights:
    return Weights(f"{url}/models/{path.name}", transforms, {"categories": list("abcde"), "min_size": (32, 32), **meta})


@pytest.fixture
def cached(reference, checkpoints) -> Weights:
    """An entry whose file lies in the cache; its address answers nothing."""
    return entry_of(save_as_official(reference.state_dict(), checkpoints))


@pytest.fixture
def offline() -> ViT:
    """The model that lies in the offline checkpoint's place; its numbers have half precision."""
    return save_offline()


def save_offline(**changes) -> ViT:
    model = ViT(**{**ViT.from_variant("ViT-Ti/16", len(FOODS), img_size=32).config, **changes})
    fill_with_noise(model, seed=3)
    model.load_state_dict({name: value.half().float() for name, value in model.state_dict().items()})
    pretrained.save_offline_checkpoint(model, FOODS, {"img_size": 32})
    return model.eval()


@torch.inference_mode()
def assert_same_logits(model, reference, images) -> None:
    expected, logits = reference(images), model(images)
    assert expected.std() > 0.5 and logits.std() > 0.5, "logits this close to zero would agree by chance"
    assert (logits - expected).abs().max() <= 1e-5


def without_head(model: ViT) -> dict:
    return {name: value for name, value in model.state_dict().items() if not name.startswith("classifier.1.")}


# The size that it is for


@pytest.fixture(scope="module", params=[as_is, old_spelling], ids=["new", "old"])
def base(request):
    """torchvision's vit_b_16 in noise, and torch's cache with its file, in both spellings."""
    model = fill_with_noise(vit_b_16()).eval()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "hub", "checkpoints")
        folder.mkdir(parents=True)
        yield model, home, save_as_official(request.param(model.state_dict()), folder, "vit_b_16")


def test_the_official_path_loads_vit_b_16_at_224_and_at_384(base, monkeypatch):
    model, home, path = base
    monkeypatch.setenv("TORCH_HOME", home)

    class NewWeights(WeightsEnum):
        V1 = Weights(
            f"http://127.0.0.1:1/{path.name}", ViT_B_16_Weights.DEFAULT.transforms, ViT_B_16_Weights.DEFAULT.meta
        )

    found = get_pretrained_vit(1000, "cpu", weights=NewWeights.V1)
    assert (found.variant, found.source) == ("ViT-B/16", "NewWeights.V1")
    assert "from torch's cache" in found.note
    assert_same_logits(found.model, model, random_images(2, 3, 224, 224))
    assert repr(found.transform) == repr(ViT_B_16_Weights.DEFAULT.transforms())
    del found
    large = get_pretrained_vit(None, "cpu", weights=NewWeights.V1, img_size=384)
    assert "196 patches were interpolated to 576 (24 x 24)" in large.note
    assert large.transform(Image.new("RGB", (500, 400))).shape == (3, 384, 384)
    assert large.transform.resize_size == [round(384 * 256 / 224)]
    with torch.device("meta"):
        larger = vit_b_16(image_size=384).eval()
    larger.load_state_dict(interpolate_embeddings(384, 16, copies(model.state_dict())), assign=True)
    assert_same_logits(large.model, larger, random_images(1, 3, 384, 384))


# Official weights, small


@pytest.mark.parametrize("spelling", [as_is, old_spelling, course_spelling])
def test_an_entry_in_the_cache_gives_torchvisions_logits(reference, checkpoints, spelling, capsys):
    path = save_as_official(spelling(reference.state_dict()), checkpoints)
    found = get_pretrained_vit(5, "cpu", weights=entry_of(path))
    assert_same_logits(found.model, reference, random_images(4, 3, 32, 32))
    assert (found.variant, found.source) == ("ViT-Ti/16", path.stem)
    assert capsys.readouterr().out == f"Weights: {found.note}.\n"
    assert not any(module.training for module in found.model.modules())
    found.model.train()  # dropout is off: a frozen backbone answers the same in both modes
    assert_same_logits(found.model, reference, random_images(4, 3, 32, 32))
    assert all(parameter.requires_grad for parameter in found.model.parameters())


def test_an_entry_for_larger_images_interpolates_the_positions(reference, cached):
    transforms = partial(PRESET, crop_size=48, resize_size=48)
    found = get_pretrained_vit(5, "cpu", weights=Weights(cached.url, transforms, cached.meta))
    larger = VisionTransformer(48, 16, 12, 3, 192, 768, num_classes=5).eval()
    larger.load_state_dict(interpolate_embeddings(48, 16, copies(reference.state_dict())))
    assert_same_logits(found.model, larger, random_images(4, 3, 48, 48))
    assert "4 patches were interpolated to 9 (3 x 3)" in found.note


def test_another_number_of_classes_gets_a_head_of_zeros_and_that_is_said(reference, cached, capsys):
    found = get_pretrained_vit(3, "cpu", weights=cached)
    assert "head for 5 classes was left out" in found.note and "for 3, which starts at zero" in found.note
    assert capsys.readouterr().out == f"Weights: {found.note}.\n"
    images = random_images(2, 3, 32, 32)
    assert torch.equal(found.model(images), torch.zeros(2, 3))
    found.model.classifier[1] = reference.heads.head  # the rest must be the reference's
    assert_same_logits(found.model, reference, images)


def test_the_transform_is_torchvisions_own_and_comes_with_the_model(cached):
    found = get_pretrained_vit(5, "cpu", weights=cached)
    image = Image.effect_noise((70, 50), 90).convert("RGB")
    assert torch.equal(found.transform(image), PRESET()(image))
    expected = found.model(PRESET()(image)[None]).softmax(dim=1)[0]
    torch.testing.assert_close(predictions.predict_image(found.model, image, device="cpu"), expected.detach())
    assert "transform" not in dict(found.model.named_children()), "a submodule would show in summaries and exports"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda body: body[: len(body) // 2], ["cut off", "zip"]),
        (lambda body: body[:-1] + bytes([body[-1] ^ 1]), ["altered"]),
        (lambda body: b"", ["an empty file of 0 bytes"]),
        (lambda body: b"<!doctype html><p>Sign in</p>", ["a web page (HTML)"]),
        (lambda body: b"version https://git-lfs.github.com/spec/v1", ["Git LFS pointer"]),
    ],
)
@pytest.mark.parametrize("switch", ["auto", "official", "offline"])
def test_a_bad_file_in_the_cache_is_named_and_never_a_model(
    cached, checkpoints, offline, monkeypatch, spoil, words, switch
):
    monkeypatch.setenv("FOODVISION_WEIGHTS", switch)
    (path,) = checkpoints.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    bad = path.read_bytes()
    with pytest.raises(ValueError) as error:
        get_pretrained_vit(5, "cpu", weights=cached)
    message = str(error.value)
    for word in [path.name, "Delete this file", path.stem[-8:], *words]:
        assert word in message
    assert "\n" not in message and path.read_bytes() == bad, "whose file it is decides what becomes of it"


def test_a_bad_file_in_the_cache_stops_where_nothing_was_asked_for_too(cached, checkpoints, offline, monkeypatch):
    monkeypatch.setitem(pretrained.OFFICIAL, "ViT-B/16", cached)
    (path,) = checkpoints.iterdir()
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=f"{path.name} is cut off or altered.*Delete this file"):
        get_pretrained_vit(3, "cpu")


def test_a_path_below_the_home_folder_is_shown_from_there(cached, checkpoints, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (path,) = checkpoints.iterdir()
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=f"^~/torch/hub/checkpoints/{path.name} is cut off") as error:
        get_pretrained_vit(5, "cpu", weights=cached)
    assert str(tmp_path) not in str(error.value)


def test_a_file_whose_name_holds_no_hash_is_refused(reference, checkpoints):
    torch.save(reference.state_dict(), checkpoints / "vit-new.pth")
    with pytest.raises(ValueError, match="vit-new.pth can't be checked.*SHA-256"):
        get_pretrained_vit(5, "cpu", weights=entry_of(Path("vit-new.pth")))


def test_a_head_that_the_entry_does_not_tell_of_is_an_error(cached):
    wrong = Weights(cached.url, cached.transforms, {**cached.meta, "categories": list("abcdefg")})
    for num_classes in (7, 5, 3, None):
        with pytest.raises(ValueError, match="a head for 5 classes, its entry in torchvision tells of 7"):
            get_pretrained_vit(num_classes, "cpu", weights=wrong)


def test_half_a_head_and_no_head_are_errors(reference, checkpoints):
    for missing, words in ({"weight"}, "head does not fit"), ({"bias"}, "no head"), ({"weight", "bias"}, "no head"):
        state = {k: v for k, v in reference.state_dict().items() if k not in {f"heads.head.{m}" for m in missing}}
        with pytest.raises(ValueError, match=words):
            get_pretrained_vit(5, "cpu", weights=entry_of(save_as_official(state, checkpoints)))


def test_a_checked_file_without_a_vit_is_an_error(checkpoints):
    with pytest.raises(ValueError, match="no checkpoint of torchvision's ViT"):
        get_pretrained_vit(5, "cpu", weights=entry_of(save_as_official({"conv1.weight": torch.ones(1)}, checkpoints)))
    with pytest.raises(ValueError, match="Python objects"):
        get_pretrained_vit(5, "cpu", weights=entry_of(save_as_official(nn.Linear(1, 1), checkpoints)))


def test_weights_of_another_size_than_the_variant_name_both_numbers(cached):
    with pytest.raises(ValueError, match=r"embedding_dim 192, this ViT 768.*ViT-Ti/16"):
        get_pretrained_vit(5, "cpu", "ViT-B/16", cached)


def test_sizes_without_a_name_are_an_error(checkpoints):
    small = VisionTransformer(32, 16, 2, 3, 192, 768, num_classes=5)
    path = save_as_official(small.state_dict(), checkpoints)
    with pytest.raises(ValueError, match=f"{path.name} has sizes of none of ViT-Ti/16"):
        get_pretrained_vit(5, "cpu", weights=entry_of(path))


# The network


@pytest.fixture
def served(reference, server, tmp_path) -> Weights:
    """An entry whose file is not in the cache but on the server."""
    path = save_as_official(reference.state_dict(), tmp_path)
    entry = entry_of(path, server.url)
    server.pages[f"/models/{path.name}"] = (200, {}, path.read_bytes())
    return entry


def page_of(entry: Weights) -> str:
    return "/models/" + entry.url.rpartition("/")[2]


def in_cache(tmp_path) -> list[str]:
    return [path.name for path in (tmp_path / "torch").rglob("*") if path.is_file()]


def test_a_download_lands_in_torchs_cache_and_is_asked_for_once(reference, served, server, tmp_path):
    first = get_pretrained_vit(5, "cpu", weights=served)
    assert "downloaded" in first.note
    name = served.url.rpartition("/")[2]
    assert in_cache(tmp_path) == [name]
    assert torch.hub.load_state_dict_from_url(served.url, check_hash=True).keys() == reference.state_dict().keys()
    second = get_pretrained_vit(5, "cpu", weights=served)
    assert "from torch's cache" in second.note and len(server.requests) == 1
    assert_same_logits(second.model, reference, random_images(2, 3, 32, 32))


def test_the_switch_official_downloads_and_offline_does_not(served, server, offline, monkeypatch):
    monkeypatch.setenv("FOODVISION_WEIGHTS", "offline")
    with pytest.raises(FileNotFoundError, match="FOODVISION_WEIGHTS is offline"):
        get_pretrained_vit(5, "cpu", weights=served)
    monkeypatch.setitem(pretrained.OFFICIAL, "ViT-B/16", served)
    assert get_pretrained_vit(5, "cpu").source == "offline" and server.requests == []
    monkeypatch.setenv("FOODVISION_WEIGHTS", "official")
    assert get_pretrained_vit(5, "cpu").source == served.url.rpartition("/")[2].removesuffix(".pth")


@pytest.mark.parametrize("kind", ["cut", "altered", "page", "hangs", "missing"])
def test_a_download_that_fails_leaves_nothing_and_gives_no_model(served, server, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(pretrained, "TIMEOUT", (1.0, 0.3))
    code, headers, body = server.pages[page_of(served)]
    server.pages[page_of(served)] = {
        "cut": (200, {}, body[:100_000]),
        "altered": (200, {}, body[:-1] + b"?"),
        "page": (200, {}, b"<html>Sign in</html>"),
        "hangs": (200, {"Content-Length": str(len(body))}, body[:100_000], "stall"),
        "missing": (404, {}, b""),
    }[kind]
    with pytest.raises(DownloadError) as error:
        get_pretrained_vit(5, "cpu", weights=served)
    words = {"hangs": "no answer in time", "missing": "HTTP 404"}.get(kind, "did not arrive as it should")
    assert words in str(error.value) and "\n" not in str(error.value)
    assert in_cache(tmp_path) == []


def test_an_interrupted_download_leaves_nothing(served, tmp_path, monkeypatch):
    def interrupted(url, path, *rest, **more):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrained, "download", interrupted)
    with pytest.raises(KeyboardInterrupt):
        get_pretrained_vit(5, "cpu", weights=served)
    assert in_cache(tmp_path) == []


def test_an_entry_that_was_asked_for_is_replaced_by_nothing(offline, monkeypatch):
    entry = entry_of(Path("vit_ti_16-01234567.pth"), f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(DownloadError, match="the connection failed"):
        get_pretrained_vit(5, "cpu", weights=entry)
    monkeypatch.setitem(pretrained.OFFICIAL, "ViT-B/16", entry)
    with pytest.raises(DownloadError, match="the connection failed"):
        get_pretrained_vit(5, "cpu", variant="ViT-B/16")
    monkeypatch.setenv("FOODVISION_WEIGHTS", "official")
    with pytest.raises(DownloadError, match="the connection failed"):
        get_pretrained_vit(5, "cpu")


@pytest.mark.parametrize("silent", [False, True])
def test_without_a_network_the_offline_checkpoint_is_taken_with_the_reason_in_one_line(
    server, offline, monkeypatch, capsys, silent
):
    monkeypatch.setattr(pretrained, "TIMEOUT", (0.3, 0.3))
    url = server.url if silent else f"http://127.0.0.1:{closed_port()}"
    entry = entry_of(Path("vit_b_16-01234567.pth"), url)
    server.pages[page_of(entry)] = "silent"
    monkeypatch.setitem(pretrained.OFFICIAL, "ViT-B/16", entry)
    found = get_pretrained_vit(3, "cpu")
    assert (found.source, found.variant) == ("offline", "ViT-Ti/16")
    out = capsys.readouterr().out
    assert out == f"Weights: {found.note}.\n" and out.count("\n") == 1
    assert "since" in out and entry.url in out
    assert ("no answer in time" if silent else "the connection failed") in out
    assert len(server.requests) == silent, "one try: the checkpoint is there at once"


def test_a_dead_network_costs_seconds():
    connect, read = pretrained.TIMEOUT
    assert connect <= 6 and read <= 20


def test_a_cpu_gets_the_official_weights_frozen_and_says_so(cached, monkeypatch):
    monkeypatch.setitem(pretrained.OFFICIAL, "ViT-B/16", cached)
    found = get_pretrained_vit(3, "cpu")
    trainable = [name for name, parameter in found.model.named_parameters() if parameter.requires_grad]
    assert trainable == ["classifier.1.weight", "classifier.1.bias"] and "the backbone is frozen" in found.note
    elsewhere = get_pretrained_vit(3, "meta")  # stands for a GPU here
    assert all(parameter.requires_grad for parameter in elsewhere.model.parameters())
    assert "frozen" not in elsewhere.note


def test_every_size_of_the_paper_has_official_weights_at_an_address_that_can_be_checked():
    assert list(pretrained.OFFICIAL) == ["ViT-B/16", "ViT-B/32", "ViT-L/16", "ViT-L/32", "ViT-H/14"]
    assert pretrained.OFFICIAL["ViT-B/16"] is ViT_B_16_Weights.IMAGENET1K_V1
    for entry in pretrained.OFFICIAL.values():
        with pytest.raises(FileNotFoundError, match=entry.url.rpartition("/")[2]):
            pretrained.fetch(entry, allowed=False, retries=0)


# The offline checkpoint


def test_the_offline_checkpoint_answers_as_the_model_that_was_saved(offline, monkeypatch, capsys):
    monkeypatch.setenv("FOODVISION_WEIGHTS", " Offline ")
    found = get_pretrained_vit(None, "cpu")
    assert_same_logits(found.model, offline, random_images(4, 3, 32, 32))
    assert (found.source, found.variant) == ("offline", "ViT-Ti/16")
    assert "since FOODVISION_WEIGHTS is offline" in found.note
    assert capsys.readouterr().out == f"Weights: {found.note}.\n"
    assert {parameter.dtype for parameter in found.model.parameters()} == {torch.float32}
    assert all(parameter.requires_grad for parameter in found.model.parameters())
    found.model.train()
    assert_same_logits(found.model, offline, random_images(4, 3, 32, 32))


def test_it_lies_on_disk_in_half_precision_and_loads_as_plain_content(offline):
    content = torch.load(pretrained.OFFLINE, weights_only=True)
    assert {value.dtype for value in content["state_dict"].values()} == {torch.float16}
    assert pretrained.OFFLINE.stat().st_size <= 12 * 2**20
    assert utils.load_model(pretrained.OFFLINE)[1]["class_names"] == FOODS
    sums = (pretrained.OFFLINE.parent / "SHA256SUMS").read_text(encoding="utf-8")
    assert sums == f"{hashlib.sha256(pretrained.OFFLINE.read_bytes()).hexdigest()}  {pretrained.OFFLINE.name}\n"
    assert {path.name for path in pretrained.OFFLINE.parent.iterdir()} == {pretrained.OFFLINE.name, "SHA256SUMS"}


def test_saving_it_leaves_the_model_as_it_is_and_other_sums_in_place():
    model = fill_with_noise(ViT.from_variant("ViT-Ti/16", 2, img_size=32))
    before = copies(model.state_dict())
    pretrained.OFFLINE.parent.mkdir()
    (pretrained.OFFLINE.parent / "SHA256SUMS").write_text(f"{'0' * 64}  other.pth\n", encoding="utf-8")
    pretrained.save_offline_checkpoint(model, ["a", "b"], {"img_size": 32})
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert (pretrained.OFFLINE.parent / "SHA256SUMS").read_text(encoding="utf-8").count("\n") == 2
    assert get_pretrained_vit(2, "cpu", variant="ViT-Ti/16").source == "offline"


def test_three_classes_get_a_head_of_zeros_on_the_same_backbone(offline, monkeypatch):
    monkeypatch.setenv("FOODVISION_WEIGHTS", "offline")
    found = get_pretrained_vit(3, "cpu")
    assert "head for 4 classes was left out" in found.note and not found.model.classifier[1].weight.any()
    expected = without_head(offline)
    assert all(torch.equal(expected[name], value) for name, value in without_head(found.model).items())


def test_its_transform_is_its_own(offline):
    found = get_pretrained_vit(3, "cpu", variant="ViT-Ti/16")
    image = Image.effect_noise((50, 70), 90).convert("RGB")
    assert torch.equal(found.transform(image), create_transform(32)(image))
    assert found.model.transform is found.transform


def test_it_goes_to_another_image_size(offline):
    found = get_pretrained_vit(3, "cpu", variant="ViT-Ti/16", img_size=64)
    assert "4 patches were interpolated to 16 (4 x 4)" in found.note
    image = found.transform(Image.new("RGB", (50, 70)))
    assert image.shape == (3, 64, 64) and found.model(image[None]).shape == (1, 3)
    again = interpolate_embeddings(64, 16, {"encoder.pos_embedding": offline.position_embedding.detach()})
    assert torch.equal(found.model.position_embedding, again["encoder.pos_embedding"])


def test_a_missing_offline_checkpoint_says_how_to_make_it(monkeypatch):
    monkeypatch.setenv("FOODVISION_WEIGHTS", "offline")
    with pytest.raises(
        FileNotFoundError, match="vit_ti_16_drawn_food.pth.*FOODVISION_WEIGHTS is offline.*make pretrain"
    ):
        get_pretrained_vit(3, "cpu")
    save_offline()
    (pretrained.OFFLINE.parent / "SHA256SUMS").unlink()
    with pytest.raises(FileNotFoundError, match="SHA256SUMS does not tell.*make pretrain"):
        get_pretrained_vit(3, "cpu")


@pytest.mark.parametrize("size", [0, 1000, -1])
def test_a_cut_off_offline_checkpoint_is_named(offline, monkeypatch, size):
    monkeypatch.setenv("FOODVISION_WEIGHTS", "offline")
    pretrained.OFFLINE.write_bytes(pretrained.OFFLINE.read_bytes()[:size])
    with pytest.raises(ValueError, match="vit_ti_16_drawn_food.pth is cut off or altered.*Delete it.*make pretrain"):
        get_pretrained_vit(3, "cpu")


def test_its_place_is_named_from_the_repositorys_root(monkeypatch):
    monkeypatch.undo()
    assert utils.shown(pretrained.OFFLINE) == "models/vit_ti_16_drawn_food.pth"


def test_a_smaller_one_is_loaded_and_has_no_name():
    save_offline(num_transformer_layers=2)
    found = get_pretrained_vit(3, "cpu", variant="ViT-Ti/16")
    assert found.variant is None and "of its own size" in found.note


# What is asked for


@pytest.mark.parametrize(
    ("switch", "variant", "words"),
    [
        ("offline", "ViT-B/16", "FOODVISION_WEIGHTS is offline.*no weights for ViT-B/16"),
        ("auto", "ViT-S/16", "torchvision has none for ViT-S/16.*offline checkpoint is a ViT-Ti/16"),
        ("official", "ViT-Ti/16", "torchvision has no weights for ViT-Ti/16: choose one of ViT-B/16"),
        ("auto", "vit_b_16", "no variant is called 'vit_b_16'.*ViT-B/16"),
        ("on", None, "FOODVISION_WEIGHTS is 'on'; it must be auto, official or offline"),
    ],
)
def test_what_can_not_be_had_is_named(offline, monkeypatch, switch, variant, words):
    monkeypatch.setenv("FOODVISION_WEIGHTS", switch)
    with pytest.raises(ValueError, match=words):
        get_pretrained_vit(3, "cpu", variant)


def test_weights_that_are_no_entry_are_named():
    with pytest.raises(TypeError, match="'IMAGENET1K_V1'.*ViT_B_16_Weights"):
        get_pretrained_vit(3, "cpu", weights="IMAGENET1K_V1")
