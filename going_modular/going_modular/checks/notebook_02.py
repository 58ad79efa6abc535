"""Checks of notebook 02: the model in numbers."""

import torch
from torch import nn

from going_modular.going_modular.checks.attempt import call
from going_modular.going_modular.checks.compare import Mistake, same_function, same_number
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import ViT

# Exercise 1: count_tokens(height, width, patch_size)


TOKEN_MISTAKES = (
    ("no_class_token", "these are the patches: the class token is one more", lambda h, w, p: (h // p) * (w // p)),
    ("square_assumed", "you square one side: multiply rows by columns", lambda h, w, p: (h // p) ** 2 + 1),
    ("square_of_width", "you square one side: multiply rows by columns", lambda h, w, p: (w // p) ** 2 + 1),
    ("patch_not_squared", "a patch covers P^2 pixels: divide by P twice", lambda h, w, p: h * w // p + 1),
    ("sum", "rows and columns are added: multiply them", lambda h, w, p: h // p + w // p + 1),
    ("numbers_in_a_patch", "this is P^2 C, the numbers in a patch: count patches", lambda h, w, p: 3 * p * p),
    ("pixels", "these are pixels: divide by P^2", lambda h, w, p: h * w + 1),
    (
        "token_a_row",
        "there is one class token for the image, not one for each row",
        lambda h, w, p: (h // p) * (w // p + 1),
    ),
)


@check
def count_tokens(attempt) -> str:
    """count_tokens(height, width, patch_size) -> N + 1, an int; ValueError where P doesn't divide both sides."""
    for sizes in ((224, 160, 16), (96, 224, 32), (64, 64, 8)):
        where = "height = {}, width = {}, patch_size = {}".format(*sizes)
        got, _ = call(attempt, *sizes, where=where)
        height, width, p = sizes
        expected = (height // p) * (width // p) + 1
        if got == expected and not isinstance(got, int):
            raise Wrong("not_an_int", f"{got!r} is no int: divide with //, since a model's sizes are whole numbers")
        if got != expected:
            for name, text, wrong in TOKEN_MISTAKES:
                if got == wrong(*sizes):
                    raise Wrong(name, f"with {where} it gives {got}: {text}")
            raise Wrong("other_number", f"with {where} it gives {got}, and {expected} was expected")
    accepted = []
    for side, sizes in (("height", (230, 224, 16)), ("width", (224, 230, 16))):
        try:
            attempt(*sizes)
            accepted.append(side)
        except ValueError:
            pass
        except Exception as error:
            text = f"a {side} of 230 raises {type(error).__name__}: raise a ValueError that says which sides fit"
            raise Wrong("other_error", text) from None
    if accepted:
        text = f"a {' and a '.join(accepted)} of 230 pixels is accepted with patches of 16: raise ValueError"
        raise Wrong("remainder_accepted" if len(accepted) == 2 else "one_side_checked", text)
    return "Right in three sizes, and sides that the patch doesn't divide are refused."


# Exercise 2: count_parameters(patch_size, layers, dim, mlp_size, num_classes)


def parts_of(patch_size, layers, dim, mlp_size, num_classes) -> dict[str, int]:
    """ViT's parameters at 224 pixels, each part by itself."""
    return {
        "the weights of E": 3 * patch_size**2 * dim,
        "the bias of E": dim,
        "the class token": dim,
        "the positions": ((224 // patch_size) ** 2 + 1) * dim,
        "the blocks' LayerNorms": layers * 4 * dim,
        "the weights for queries, keys and values": layers * 3 * dim * dim,
        "the biases for queries, keys and values": layers * 3 * dim,
        "the weights of attention's output projection": layers * dim * dim,
        "the bias of attention's output projection": layers * dim,
        "the weights of the MLPs": layers * 2 * dim * mlp_size,
        "the biases of the MLPs": layers * (mlp_size + dim),
        "the last LayerNorm": 2 * dim,
        "the weights of the head": dim * num_classes,
        "the bias of the head": num_classes,
    }


LEFT_OUT = {  # mistakes that are more than one part
    "all_biases": (
        "the bias of E",
        "the biases for queries, keys and values",
        "the bias of attention's output projection",
        "the biases of the MLPs",
        "the bias of the head",
    ),
    "all_layer_norms": ("the blocks' LayerNorms", "the last LayerNorm"),
    "head": ("the weights of the head", "the bias of the head"),
}


def parameter_mistakes(sizes: tuple) -> list[tuple[str, int, str]]:
    patch_size, layers, dim, mlp_size, num_classes = sizes
    parts = parts_of(*sizes)
    right = sum(parts.values())
    one_block = sum(parts_of(patch_size, 1, dim, mlp_size, num_classes).values())
    heads = "heads divide D among them: they add no parameters"
    found = [
        ("no_position_for_token", right - dim, "the class token or its position is missing, or E's bias: D numbers"),
        ("one_block", one_block, "this is with one block: the model has `layers` of them"),
        ("norms_halved", right - layers * 2 * dim - dim, "a LayerNorm has a scale and a shift: 2 D numbers"),
        ("one_norm_a_block", right - layers * 2 * dim, "a block has two LayerNorms"),
        ("one_channel", right - 2 * patch_size**2 * dim, "a patch has three channels"),
        ("heads_multiplied", right + 11 * layers * (4 * dim * dim + 4 * dim), heads),
        ("heads_multiplied", right + 11 * layers * 4 * dim * dim, heads),
    ]
    for biases in (0, dim):  # of the layer that is left out
        left = layers * 2 * (dim * dim + biases)
        found.append(("one_of_qkv", right - left, "queries, keys and values have D x D weights each"))
    for biases in (0, dim, mlp_size):
        left = layers * (dim * mlp_size + biases)
        found.append(("half_of_mlp", right - left, "the MLP has two layers, and one of them is missing"))
    projection = layers * (dim * dim + dim)
    found.append(("no_output_projection", right - projection, "left out: attention's output projection, U_msa"))
    found += [
        (f"no_{name}", right - sum(parts[part] for part in left), f"left out: {', '.join(left)}")
        for name, left in LEFT_OUT.items()
    ]
    found += [("part_missing", right - size, f"left out: {part}") for part, size in parts.items()]
    return found


@check
def count_parameters(attempt) -> str:
    """count_parameters(patch_size, layers, dim, mlp_size, num_classes) for three channels at 224 pixels."""
    for sizes in ((16, 12, 768, 3072, 1000), (32, 2, 192, 500, 3), (16, 3, 64, 256, 10)):
        where = "patch_size = {}, layers = {}, dim = {}, mlp_size = {}, num_classes = {}".format(*sizes)
        got, _ = call(attempt, *sizes, where=where)
        right = model_count(*sizes)
        if got == right:
            continue
        for name, wrong, text in parameter_mistakes(sizes):
            if got == wrong:
                raise Wrong(name, f"with {where} it gives {got:,}: {text}")
        if not isinstance(got, (int, float)):
            raise Wrong("no_number", f"your code returns a {type(got).__name__}, and one number was expected")
        side = "few" if got < right else "many"
        text = (
            f"with {where} it gives {got:,}, which is {abs(got - right):,} too {side}: go through the parts one by one"
        )
        raise Wrong("other_number", text)
    return "Right for three models, the 86,567,656 of ViT-B/16 with 1,000 classes among them."


def model_count(patch_size, layers, dim, mlp_size, num_classes) -> int:
    heads = 12 if dim % 12 == 0 else 1
    with torch.device("meta"):
        vit = ViT(224, 3, patch_size, layers, dim, mlp_size, heads, num_classes=num_classes)
    return sum(parameter.numel() for parameter in vit.parameters())


# Exercise 3: equation_4(z, layer_norm, head)


HEAD_MISTAKES = (
    Mistake(
        "first_image",
        "z[0] is the first image with all its tokens: z[:, 0] is the first token of each image",
        lambda z, layer_norm, head: head(layer_norm(z[0])),
    ),
    Mistake(
        "all_tokens",
        "the head answers for every token: Equation 4 takes token 0 alone, z[:, 0]",
        lambda z, layer_norm, head: head(layer_norm(z)),
    ),
    Mistake(
        "mean_of_tokens",
        "this reads the mean of all tokens: Equation 4 takes token 0, z[:, 0]",
        lambda z, layer_norm, head: head(layer_norm(z.mean(dim=1))),
    ),
    Mistake(
        "mean_after_norm",
        "this reads the mean of all tokens: Equation 4 takes token 0, z[:, 0]",
        lambda z, layer_norm, head: head(layer_norm(z).mean(dim=1)),
    ),
    Mistake(
        "last_token",
        "this reads the last token: the class token is the first, z[:, 0]",
        lambda z, layer_norm, head: head(layer_norm(z[:, -1])),
    ),
    Mistake(
        "first_patch",
        "z[:, 1] is the first patch: the class token is z[:, 0]",
        lambda z, layer_norm, head: head(layer_norm(z[:, 1])),
    ),
    Mistake(
        "no_layer_norm",
        "LayerNorm is left out: it comes between the token and the head",
        lambda z, layer_norm, head: head(z[:, 0]),
    ),
    Mistake(
        "no_head",
        "this is y of Equation 4: the linear head comes after it",
        lambda z, layer_norm, head: layer_norm(z[:, 0]),
    ),
    Mistake(
        "softmax",
        "softmax comes at the end: logits are asked, and the loss function takes the softmax",
        lambda z, layer_norm, head: head(layer_norm(z[:, 0])).softmax(dim=-1),
    ),
    Mistake(
        "token_kept",
        "the token's dimension is still there: z[:, 0] drops it, z[:, :1] keeps it",
        lambda z, layer_norm, head: head(layer_norm(z[:, :1])),
    ),
    Mistake(
        "order",
        "the linear head comes before LayerNorm: LayerNorm first, then the head",
        lambda z, layer_norm, head: nn.functional.layer_norm(head(z[:, 0]), (head.out_features,), eps=1e-6),
    ),
)


def head_of(z, layer_norm, head):
    return head(layer_norm(z[:, 0]))


@check
def equation_4(attempt) -> str:
    """equation_4(z, layer_norm, head): (B, N+1, D) -> logits (B, K)."""
    cases = []
    for b, t, d, k in ((4, 5, 6, 3), (1, 3, 8, 2), (2, 7, 4, 5)):
        layer_norm, head = nn.LayerNorm(d, eps=1e-6), nn.Linear(d, k)
        nn.init.normal_(layer_norm.weight, 1.0, 0.2)
        nn.init.normal_(layer_norm.bias, 0.0, 0.3)
        cases.append((torch.randn(b, t, d) * 3, layer_norm, head))
    return same_function(attempt, head_of, cases, "B K", HEAD_MISTAKES)


# Exercise 4: a number


@check
def more_in_b32(attempt) -> str:
    """How many parameters more ViT-B/32 has than ViT-B/16."""
    e, positions = (32**2 - 16**2) * 3 * 768, (196 - 49) * 768
    right = e - positions
    wrongs = (
        ("e_alone", e, "this is how much larger E is: the positions are fewer"),
        ("positions_alone", positions, "this is how much fewer the positions are: E is larger, too"),
        ("negative_positions", -positions, "this is the change of the positions: E changes, too"),
        ("upside_down", -right, "the sign is the other way round: ViT-B/32 has more"),
        ("added", e + positions, "E grows and the positions shrink: subtract"),
        ("total", 88_224_232, "this is ViT-B/32's whole count: take the difference"),
        ("total_16", 86_567_656, "this is ViT-B/16's whole count: take the difference"),
        ("one_channel", e // 3 - positions, "a patch has three channels: P^2 C"),
        ("large", (32**2 - 16**2) * 3 * 1024 - (196 - 49) * 1024, "this is for ViT-Large: D is 768 in ViT-Base"),
    )
    why = "E grows with the patch's area by far more than the positions shrink, and nothing else changes."
    return same_number(attempt, right, wrongs, why)
