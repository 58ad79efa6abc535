"""What test_distributed has every process of a torchrun do; without torchrun, what one process does alone.

usage: distributed_worker.py FOLDER. Rank 0 writes FOLDER/<number of processes>.pth.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from going_modular.going_modular import distributed, engine, recipes, updates, utils  # noqa: E402
from going_modular.going_modular.sampling import ShuffledSampler  # noqa: E402
from going_modular.going_modular.vit import ViT  # noqa: E402
from helper_functions import set_seeds  # noqa: E402

LOSS = nn.CrossEntropyLoss()


def loader(images: int, batch_size: int, seed: int, shuffled: bool = True) -> DataLoader:
    generator = torch.Generator().manual_seed(seed)
    data = TensorDataset(torch.randn(images, 3, 32, 32, generator=generator), torch.arange(images) % 3)
    return DataLoader(data, batch_size, sampler=ShuffledSampler(data, seed=5) if shuffled else None)


def vit(dropout: float = 0.0) -> ViT:
    set_seeds(1 + distributed.rank())  # rank 0's weights have to reach the others
    model = ViT(32, 3, 16, 2, 12, 24, 3, mlp_dropout=dropout, embedding_dropout=dropout, num_classes=3)
    model.classifier[1].reset_parameters()
    return model


OPTIMIZERS = {
    "SGD": lambda model: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    "AdamW": lambda model: recipes.build_optimizer(model, 1e-3, 0.1),
}
# Images and batch size of the training: two epochs of 4 updates, the last of 3 images; pieces; a last one of one image,
# which leaves the second process none.
CASES = {
    "SGD, uneven": ("SGD", 27, 8, None),
    "AdamW, uneven": ("AdamW", 27, 8, None),
    "SGD, pieces": ("SGD", 27, 8, 3),
    "SGD, one left": ("SGD", 25, 8, None),
}


def run(name: str, images: int, batch_size: int, micro_batch: int | None) -> dict:
    bare = vit()
    optimizer = OPTIMIZERS[name](bare)
    schedule = recipes.build_schedule(optimizer, 8, 2, "cosine")
    train = updates.WindowLoader(loader(images, batch_size, seed=1), micro_batch)
    test = updates.WindowLoader(loader(75, 32, seed=2, shuffled=False), micro_batch)
    model = distributed.wrap(bare, "cpu")
    results = engine.train(model, train, test, optimizer, LOSS, 2, "cpu", schedule=schedule)
    bare.eval()
    with torch.inference_mode():
        logits = bare(next(iter(loader(16, 16, seed=3)))[0])
    return {"results": results, "weights": bare.state_dict(), "logits": logits, "updates": schedule.last_epoch}


def masks() -> list:
    """Which numbers dropout leaves, in each process and epoch."""
    found = []
    for epoch in (0, 1):
        distributed.own_randomness(7, epoch)
        found.append((nn.functional.dropout(torch.ones(64), 0.5) > 0).float())
    total = distributed.add_up(*[mask.sum() for mask in found])
    both = torch.stack(found)
    if distributed.world_size() > 1:
        torch.distributed.all_reduce(both)
    return [both, torch.stack(total)]


def main(folder: Path) -> None:
    with distributed.processes("cpu"):
        found = {name: run(*case) for name, case in CASES.items()}
        found["masks"] = masks()
        print(f"printed by {distributed.rank()} of {distributed.world_size()}")
        if distributed.is_main():
            utils.write_atomically(found, folder / f"{distributed.world_size()}.pth")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
