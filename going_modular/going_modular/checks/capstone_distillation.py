"""Checks of notebook 12's capstone: the distillation token of DeiT."""

import torch

from going_modular.going_modular.checks.attempt import build, guarded
from going_modular.going_modular.checks.compare import (
    Mistake,
    close,
    give_noise,
    has_parameters,
    same_gradients,
    same_module,
    shapes_of,
)
from going_modular.going_modular.checks.notebook_08 import SMALL, TINY, is_a_vit
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import ViT


def two_tokens(vit, images, order=("class_embedding", "distillation_embedding", None)):
    """What the encoder gives for class token, distillation token and patches (None), in this order."""
    parts = [
        vit.patch_embedding(images) if name is None else getattr(vit, name).expand(len(images), -1, -1)
        for name in order
    ]
    return vit.transformer_encoder(torch.cat(parts, dim=1) + vit.position_embedding)


def both_logits(vit, images, places=(0, 1), **changes):
    """The class token's and the distillation token's logits."""
    first, second = (vit.classifier[0](two_tokens(vit, images, **changes)[:, place]) for place in places)
    return vit.classifier[1](first), vit.distillation_head(second)


def averaged(vit, images, **changes):
    return sum(both_logits(vit, images, **changes)) / 2


def without_norm(vit, images):
    z = two_tokens(vit, images)
    return (vit.classifier(z[:, 0]) + vit.distillation_head(z[:, 1])) / 2


FIRST = {"order": ("distillation_embedding", "class_embedding", None)}
LAST = {"order": ("class_embedding", None, "distillation_embedding")}
DISTILLED_MISTAKES = (
    Mistake(
        "class_token_alone",
        "in eval mode only the class token answers: average its logits with the distillation token's",
        lambda vit, images: both_logits(vit, images)[0],
    ),
    Mistake(
        "distillation_alone",
        "in eval mode only the distillation token answers: average its logits with the class token's",
        lambda vit, images: both_logits(vit, images)[1],
    ),
    Mistake("summed", "the two answers are added up: halve the sum", lambda vit, images: 2 * averaged(vit, images)),
    Mistake(
        "one_head",
        "both tokens are read by the same head: the distillation token has distillation_head",
        lambda vit, images: vit.classifier(two_tokens(vit, images)[:, :2]).mean(dim=1),
    ),
    Mistake(
        "heads_exchanged",
        "each head reads the other's token: z[:, 0] is the class token, z[:, 1] the distillation token",
        lambda vit, images: averaged(vit, images, places=(1, 0)),
    ),
    Mistake(
        "one_token_read",
        "both heads read the class token: the distillation token is z[:, 1]",
        lambda vit, images: averaged(vit, images, places=(0, 0)),
    ),
    Mistake(
        "no_layer_norm",
        "the distillation token goes into its head without the LayerNorm of Equation 4: both tokens get it",
        without_norm,
    ),
    Mistake(
        "token_at_the_end",
        "the distillation token stands behind the patches: it comes second, right after the class token",
        lambda vit, images: averaged(vit, images, places=(0, -1), **LAST),
    ),
    Mistake(
        "patch_read",
        "the distillation token stands behind the patches, so z[:, 1] is a patch: it comes right after the class token",
        lambda vit, images: averaged(vit, images, **LAST),
    ),
    Mistake(
        "tokens_turned",
        "the distillation token stands in front: the class token is token 0",
        lambda vit, images: averaged(vit, images, places=(1, 0), **FIRST),
    ),
    Mistake(
        "tokens_turned",
        "the distillation token stands in front, so z[:, 0] is no class token: the class token is token 0",
        lambda vit, images: averaged(vit, images, **FIRST),
    ),
    Mistake(
        "patch_read",
        "the last token is read for the distillation token, and that is a patch: it stands second, z[:, 1]",
        lambda vit, images: averaged(vit, images, places=(0, -1)),
    ),
    Mistake(
        "half_halved",
        "the division halves the distillation token's answer alone: put the sum into brackets",
        lambda vit, images: both_logits(vit, images)[0] + both_logits(vit, images)[1] / 2,
    ),
    Mistake(
        "probabilities",
        "two softmaxes are added, as in the paper's text: average the logits, as its code does",
        lambda vit, images: sum(logits.softmax(dim=-1) for logits in both_logits(vit, images)),
    ),
    Mistake(
        "token_unused",
        "the class token goes in twice, and distillation_embedding isn't used",
        lambda vit, images: averaged(vit, images, order=("class_embedding", "class_embedding", None)),
    ),
    Mistake(
        "probabilities",
        "a softmax comes before the average: average the logits",
        lambda vit, images: sum(logits.softmax(dim=-1) for logits in both_logits(vit, images)) / 2,
    ),
)


@check
def distilled_vit(attempt) -> str:
    """DistilledViT(ViT): DeiT's second token with a head of its own; a pair in training, the mean in eval mode."""
    for config, shape in ((TINY, (3, 3, 8, 8)), (SMALL, (2, 3, 8, 12))):
        vit = build(attempt, **config, where="ViT's arguments")
        is_a_vit(vit)
        shapes, dim = shapes_of(ViT(**config)), config["embedding_dim"]
        _, tokens, _ = shapes["position_embedding"]
        shapes["position_embedding"] = (1, tokens + 1, dim)
        shapes["distillation_embedding"] = (1, 1, dim)
        shapes["distillation_head.weight"] = (config["num_classes"], dim)
        shapes["distillation_head.bias"] = (config["num_classes"],)
        said = {
            "position_embedding": ("no_position_for_token", "the new token has a position as well: N + 2 rows"),
            "distillation_embedding": ("token_shape", "it is one token for all images: (1, 1, D)"),
            "distillation_head.weight": ("head_shape", "it answers for the same classes as the other head"),
        }
        has_parameters(vit, shapes, said)
        give_noise(vit)
        images = torch.randn(shape)
        if isinstance(guarded(lambda v=vit, x=images: v(x), f"images of shape {shape}"), (tuple, list)):
            text = "in eval mode two answers come back: return their average there, and the pair in training alone"
            raise Wrong("pair_in_eval", text)
        same_module(vit, averaged, [images], "B K", DISTILLED_MISTAKES, tolerance=1e-4)
        check_pair(vit, images)
    vit = give_noise(build(attempt, **{**TINY, "embedding_dropout": 0.9}, where="ViT's arguments")).train()
    first, second = (torch.stack(list(vit(torch.ones(3, 3, 8, 8)))) for _ in range(2))
    if torch.equal(first, second):
        text = "embedding_dropout isn't used: it acts on the tokens once the positions are added, as in ViT"
        raise Wrong("no_dropout", text)
    return "Right in two sizes, in both modes: 2 D parameters for the token and its place, D x K + K for its head."


def check_pair(vit: ViT, images: torch.Tensor) -> None:
    """Raise Wrong unless the model gives both logits in train mode."""
    pair = guarded(lambda: vit.train()(images), f"images of shape {tuple(images.shape)} in train mode")
    expected = both_logits(vit, images)
    vit.eval()
    if isinstance(pair, torch.Tensor) and pair.ndim == 3 and len(pair) == 2:
        pair = pair.unbind()  # stacked, it still is two of (B, K)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        text = "in train mode one answer comes back: return both, since the label teaches one and the teacher the other"
        raise Wrong("no_pair_in_training", text)
    if all(map(close, pair, reversed(expected))):
        raise Wrong("pair_exchanged", "in train mode the distillation token's logits come first: second")
    for what, got, right in zip(("first", "second"), pair, expected):
        if not isinstance(got, torch.Tensor) or not close(got, right, 1e-4):
            text = f"eval mode is right, and in train mode the {what} of the two answers is another one"
            raise Wrong("other_pair", text)
    parameters = {f"the parameter {name}": (p, p) for name, p in vit.named_parameters()}
    same_gradients(torch.stack(list(pair)), torch.stack(expected), parameters)
