"""updates: pieces give the whole's gradient, an update is one step, and no bad loss reaches the weights."""

import math

import pytest
import torch
from conftest import tiny_vit
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from going_modular.going_modular import data_setup, engine, recipes, updates
from going_modular.going_modular.sampling import ShareSampler, ShuffledSampler

LOSS = nn.CrossEntropyLoss()


def data(number: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(3)
    return TensorDataset(torch.randn(number, 3, 32, 32, generator=generator), torch.arange(number) % 3)


def model(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    vit = tiny_vit(mlp_dropout=dropout, embedding_dropout=dropout)
    for parameter in vit.parameters():
        nn.init.normal_(parameter, std=0.2)
    return vit


def weights(vit: nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in vit.parameters()]


def equal(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


class Recorder(torch.optim.SGD):
    """Steps of nothing, and the gradient of each."""

    def __init__(self, vit):
        super().__init__(vit.parameters(), lr=0.0)
        self.gradients = []
        self.register_step_pre_hook(
            lambda *_: self.gradients.append(torch.cat([p.grad.flatten() for p in vit.parameters()]).clone())
        )


def gradients(loader, micro_batch=None, loss_fn=LOSS):
    """The gradient of each update of an epoch, its metrics, and how often a schedule was stepped."""
    vit = model()
    optimizer = Recorder(vit)
    schedule = recipes.build_schedule(optimizer, 100)
    metrics = engine.train_step(vit, loader, loss_fn, optimizer, "cpu", schedule, micro_batch=micro_batch)
    return optimizer.gradients, metrics, schedule.last_epoch


def wrapped(micro_batch, batch_size=8, number=21):
    return updates.WindowLoader(DataLoader(data(number), batch_size), micro_batch)


@pytest.mark.parametrize("micro_batch", [1, 3, 4, 7, 8, 100])
@pytest.mark.parametrize("way", ["cut by the engine", "loaded in pieces"])
@pytest.mark.parametrize("loss_fn", [LOSS, nn.CrossEntropyLoss(label_smoothing=0.1)])
def test_pieces_give_the_gradients_of_whole_batches(micro_batch, way, loss_fn):
    """21 images in batches of 8, 8 and 5: pieces of 3 leave 2 over, in the last, short update too."""
    whole, metrics, steps = gradients(DataLoader(data(21), 8), loss_fn=loss_fn)
    if way == "cut by the engine":
        found, other_metrics, other_steps = gradients(DataLoader(data(21), 8), micro_batch, loss_fn)
    else:
        found, other_metrics, other_steps = gradients(wrapped(micro_batch), loss_fn=loss_fn)
    assert steps == other_steps == len(whole) == len(found) == 3, "one step of weights and schedule an update"
    for one, other in zip(whole, found):
        assert one.abs().max() > 0.01 and (one - other).abs().max() <= 1e-6
    assert other_metrics == pytest.approx(metrics, abs=1e-6)
    expected = engine.test_step(model(), DataLoader(data(21), 8), LOSS, "cpu")
    for loader, size in ((DataLoader(data(21), 8), micro_batch), (wrapped(micro_batch), None)):
        assert engine.test_step(model(), loader, LOSS, "cpu", micro_batch=size) == pytest.approx(expected, abs=1e-6)


def test_no_more_images_than_asked_for_go_through_the_model_at_once():
    for loader, micro_batch in ((DataLoader(data(21), 8), 3), (wrapped(3), None)):
        vit, sizes = model(), []
        vit.register_forward_pre_hook(lambda _, inputs, sizes=sizes: sizes.append(len(inputs[0])))
        engine.train_step(vit, loader, LOSS, Recorder(vit), "cpu", micro_batch=micro_batch)
        assert sizes == [3, 3, 2, 3, 3, 2, 3, 2]


class Counting(Dataset):
    """Counts the images that are in memory: read, and not yet gone through the model."""

    classes = ["a", "b", "c"]

    def __init__(self, number):
        self.number, self.read = number, 0

    def __len__(self):
        return self.number

    def __getitem__(self, index):
        self.read += 1
        return torch.full((3, 32, 32), float(index)), index % 3


def test_a_large_batch_is_never_in_memory_as_a_whole():
    dataset, vit, gone, held = Counting(64), model(), 0, []

    def through(_, inputs):
        nonlocal gone
        held.append(dataset.read - gone)
        gone += len(inputs[0])

    vit.register_forward_pre_hook(through)
    engine.train_step(vit, updates.WindowLoader(DataLoader(dataset, 64), 4), LOSS, Recorder(vit), "cpu")
    assert gone == 64 and max(held) == 4


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("cache", [None, "memory"])
def test_order_and_random_transforms_are_the_given_loaders(tiny_food, workers, cache):
    transform = data_setup.create_transform(32, augment=True)
    options = {"cache": cache} if cache else {}
    try:
        loader, *_ = data_setup.create_dataloaders(
            tiny_food / "train", tiny_food / "test", transform, 5, workers, seed=4, **options
        )
    except TypeError:
        pytest.skip("no cache here")
    pieces = updates.WindowLoader(loader, 2)
    for epoch in (0, 1):
        engine.set_epoch(loader, epoch)
        whole = [(images.clone(), labels) for images, labels in loader]
        engine.set_epoch(pieces, epoch)
        parts = [list(window.pieces) for window in pieces]
        assert len(parts) == len(whole) == len(pieces) == 3
        for (images, labels), window in zip(whole, parts):
            assert torch.equal(torch.cat([piece for piece, _ in window]), images)
            assert torch.equal(torch.cat([truth for _, truth in window]), labels)


def test_a_last_short_batch_is_dropped_where_the_loader_drops_it():
    windows = [list(window.pieces) for window in updates.WindowLoader(DataLoader(data(21), 8, drop_last=True), 3)]
    assert [[len(labels) for _, labels in window] for window in windows] == [[3, 3, 2], [3, 3, 2]]


@pytest.mark.parametrize(
    "loss_fn", [nn.CrossEntropyLoss(reduction="sum"), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))]
)
def test_a_loss_whose_pieces_do_not_add_up_is_refused(loss_fn):
    for loader, micro_batch in ((DataLoader(data(8), 8), 3), (wrapped(3), None)):
        for call in (
            lambda loader=loader, size=micro_batch: gradients(loader, size, loss_fn),
            lambda loader=loader, size=micro_batch: engine.test_step(model(), loader, loss_fn, "cpu", micro_batch=size),
        ):
            with pytest.raises(ValueError, match="no mean over images"):
                call()
    gradients(DataLoader(data(8), 8), None, loss_fn)  # whole batches are the loss's own business


@pytest.mark.parametrize("micro_batch", [0, -1])
def test_no_pieces_of_nothing(micro_batch):
    with pytest.raises(ValueError, match=f"micro_batch is {micro_batch}; .*at least 1"):
        gradients(DataLoader(data(8), 8), micro_batch)


def test_training_in_pieces_is_the_training_of_whole_batches(tmp_path):
    ends = []
    for number, (loader, micro_batch) in enumerate(((DataLoader(data(21), 8), None), (wrapped(3), None))):
        vit = model()
        optimizer = torch.optim.SGD(vit.parameters(), lr=0.01, momentum=0.9)
        options = {"micro_batch": micro_batch, "checkpoint": tmp_path / str(number)}
        results = engine.train(vit, loader, DataLoader(data(5), 2), optimizer, LOSS, 2, "cpu", **options)
        ends.append((results, weights(vit)))
    for key, values in ends[0][0].items():
        assert ends[1][0][key] == pytest.approx(values, abs=1e-5)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ends[0][1], ends[1][1]))


# Shares


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize(("images", "batch_size", "micro_batch"), [(75, 32, None), (75, 32, 5), (9, 4, 2), (6, 3, 1)])
def test_every_image_belongs_to_one_process_once(world_size, images, batch_size, micro_batch):
    samplers = [
        ShareSampler(ShuffledSampler(range(images), seed=1), batch_size, micro_batch, rank, world_size)
        for rank in range(world_size)
    ]
    order = list(ShuffledSampler(range(images), seed=1))
    counted, updates_seen = [], []
    for sampler in samplers:
        pieces, windows = iter(list(sampler)), list(sampler.updates())
        assert len(sampler) == sum(count for *_, count in windows)
        for number, (_, share, count) in enumerate(windows):
            update = [index for _ in range(count) for index in next(pieces)]
            expected = order[number * batch_size : (number + 1) * batch_size][sampler.rank :: world_size]
            assert update[:share] == expected
            assert len(update) == max(share, 1), "without a share there is one image, that counts for nothing"
            counted += update[:share]
        assert next(pieces, None) is None
        updates_seen.append([whole for whole, *_ in windows])
    assert sorted(counted) == list(range(images))
    assert all(sizes == updates_seen[0] for sizes in updates_seen) and sum(updates_seen[0]) == images


def test_each_epoch_has_an_order_of_its_own():
    sampler = ShareSampler(ShuffledSampler(range(20), seed=1), 8, None, 1, 2)
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.sampler.set_epoch(0)
    assert list(sampler) == first


def test_more_processes_than_images_in_an_update_are_refused():
    with pytest.raises(ValueError, match="5 processes can't share an update of 4 images"):
        ShareSampler(range(9), 4, None, 0, 5)


# Losses that are no numbers, where looking at each would make a GPU wait


@pytest.fixture
def slow_to_look(monkeypatch):
    """The CPU in a GPU's place."""
    monkeypatch.setattr(updates, "looking_is_slow", lambda device: True)


class Spoilt(nn.Module):
    """Gives NaN, or infinity, in its n-th step of training alone; `before` are its weights then."""

    def __init__(self, n: int, value: float = math.nan):
        super().__init__()
        self.vit, self.n, self.value, self.calls = model(), n, value, 0

    def forward(self, images):
        self.calls += self.training
        logits = self.vit(images)
        if self.training and self.calls == self.n:
            self.before = weights(self)
            return logits * self.value
        return logits


OPTIMIZERS = {
    "AdamW": lambda vit: recipes.build_optimizer(vit, 1e-2, 0.1, fused=True),
    "SGD": lambda vit: torch.optim.SGD(vit.parameters(), lr=0.01, momentum=0.9, fused=True),
    "not fused": lambda vit: torch.optim.SGD(vit.parameters(), lr=0.01),
}


@pytest.mark.parametrize("look_every", [0.0, 1e9])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("value", [math.nan, math.inf])  # in the logits; of both the loss is NaN
def test_a_bad_loss_that_is_seen_late_has_changed_no_weight_either(monkeypatch, slow_to_look, look_every, name, value):
    monkeypatch.setattr(updates, "LOOK_EVERY", look_every)
    vit = Spoilt(3, value)
    optimizer = OPTIMIZERS[name](vit)
    schedule = recipes.build_schedule(optimizer, 12, 6)
    with pytest.raises(engine.NonFiniteLossError) as caught:
        engine.train_step(vit, DataLoader(data(18), 3), LOSS, optimizer, "cpu", schedule)
    rate = optimizer.param_groups[0]["initial_lr"] * 3 / 6
    for words in ("at batch 3 of 6", f"learning rate {rate:g}", "the loss is nan"):
        assert words in str(caught.value)
    assert equal(vit.before, weights(vit)) and not hasattr(optimizer, "found_inf")
    assert vit.calls == (6 if look_every and name != "not fused" else 3)


def test_looking_now_and_then_changes_no_bit_of_a_good_training(slow_to_look, monkeypatch):
    ends = {}
    for slow in (True, False):
        monkeypatch.setattr(updates, "looking_is_slow", lambda device, slow=slow: slow)
        vit = model()
        optimizer = recipes.build_optimizer(vit, 1e-2, 0.1)
        results = engine.train(vit, DataLoader(data(21), 8), DataLoader(data(5), 2), optimizer, LOSS, 2, "cpu")
        ends[slow] = (results, weights(vit))
    assert ends[True][0] == ends[False][0] and equal(ends[True][1], ends[False][1])


def test_python_reads_no_number_of_a_gpu_between_looks(slow_to_look, monkeypatch):
    """.item(), bool() and tolist() are what makes a GPU's work wait for Python and Python for it."""
    monkeypatch.setattr(updates, "LOOK_EVERY", 1e9)
    reads = []
    for name in ("item", "tolist", "__bool__", "__float__", "__int__", "__index__"):
        real = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda self, real=real, name=name: (reads.append(name), real(self))[1])
    counts = {}
    for number in (12, 24):
        reads.clear()
        vit = model()
        optimizer = recipes.build_optimizer(vit, 1e-2, 0.1, fused=True)
        batches = [tuple(batch) for batch in DataLoader(data(number), 3)]
        reads.clear()
        engine.train_step(vit, batches, LOSS, optimizer, "cpu", micro_batch=2)
        engine.test_step(vit, batches, LOSS, "cpu")
        counts[number] = len(reads)
    assert counts[12] == counts[24] <= 10, "no more reads for twice the batches"


def test_a_bad_test_loss_that_is_seen_late_is_named(slow_to_look, monkeypatch):
    monkeypatch.setattr(updates, "LOOK_EVERY", 1e9)
    calls = iter(range(100))

    def loss(logits, labels):
        return LOSS(logits, labels) * (math.nan if next(calls) == 1 else 1)

    with pytest.raises(engine.NonFiniteLossError, match="test loss is nan at batch 2 of 3"):
        engine.test_step(model(), DataLoader(data(9), 3), loss, "cpu")
