"""Checks of notebook 06: the MLP."""

import math

import torch
import torch.nn.functional as F

from going_modular.going_modular.checks.attempt import build
from going_modular.going_modular.checks.compare import (
    OTHER_EPS,
    Mistake,
    close,
    give_noise,
    has_parameters,
    layer_shapes,
    normed,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.verdict import Wrong, check

# Exercise 1: gelu(x)


def phi(x):
    return (1 + torch.erf(x / 2**0.5)) / 2


GELU_MISTAKES = (
    Mistake("phi_alone", "this is Phi(x), the probability: multiply it by x", phi),
    Mistake("relu", "this is ReLU, max(x, 0)", torch.relu),
    Mistake("silu", "this is x times sigmoid(x), called SiLU: GELU has Phi, made of erf", F.silu),
    Mistake(
        "sigmoid_form",
        "this is the sigmoid approximation, x * sigmoid(1.702 x): ViT has the exact form",
        lambda x: x * torch.sigmoid(1.702 * x),
    ),
    Mistake(
        "tanh_form",
        "this is the tanh approximation: ViT has the exact form, with erf",
        lambda x: F.gelu(x, approximate="tanh"),
    ),
    Mistake("no_root", "x is not divided by the square root of 2 inside erf", lambda x: x * (1 + torch.erf(x)) / 2),
    Mistake(
        "divided_by_two",
        "inside erf, x is divided by the root of 2, not by 2",
        lambda x: x * (1 + torch.erf(x / 2)) / 2,
    ),
    *(
        Mistake(
            "root_rounded",
            f"the root of 2 is rounded to {rounded}: write 2**0.5",
            lambda x, rounded=rounded: x * (1 + torch.erf(x / rounded)) / 2,
        )
        for rounded in (1.414, 1.41, 1.4)
    ),
    Mistake("not_halved", "the factor 1/2 is missing", lambda x: 2 * x * phi(x)),
    Mistake("no_one", "the 1 in 1 + erf is missing", lambda x: x * torch.erf(x / 2**0.5) / 2),
    Mistake(
        "density",
        "this is x times the density of the normal distribution: Phi is the share below x",
        lambda x: x * torch.exp(-(x**2) / 2) / (2 * torch.pi) ** 0.5,
    ),
)


@check
def gelu(attempt) -> str:
    """gelu(x) = x Phi(x), exactly, for a tensor of any shape."""
    cases = [(torch.linspace(-4, 4, 41).reshape(1, 41, 1),), (torch.randn(3, 2, 5) * 2,), (torch.randn(2, 7, 1),)]
    try:
        return same_function(attempt, lambda x: x * phi(x), cases, "B T D", GELU_MISTAKES)
    except Wrong as wrong:
        if wrong.name not in ("values", "some_tokens", "some_rows"):
            raise
        at_one = attempt(torch.ones(1, 2, 1)).flatten()[0].item()
        known = (1 + math.erf(0.5**0.5)) / 2
        text = f"at x = 1 your function gives {at_one:.4f}, and GELU(1) = Phi(1) = {known:.4f}: work that out by hand"
        raise Wrong("values", text if abs(at_one - known) > 5e-4 else str(wrong)) from None


# Exercise 2: MyMLPBlock(embedding_dim, mlp_size, dropout)


def mlp(module, x, activation=F.gelu):
    return F.linear(activation(F.linear(x, *first(module))), *second(module))


def first(module):
    return module.mlp[0].weight, module.mlp[0].bias


def second(module):
    return module.mlp[3].weight, module.mlp[3].bias


MLP_MISTAKES = (
    Mistake("no_layer_norm", "layer_norm isn't used: normalise before the MLP (Equation 3)", lambda m, x: mlp(m, x)),
    Mistake(
        "relu", "there is a ReLU between the two layers: ViT has GELU", lambda m, x: mlp(m, normed(m, x), torch.relu)
    ),
    Mistake(
        "tanh_form",
        "this is GELU's tanh approximation: ViT has the exact form, nn.GELU()",
        lambda m, x: mlp(m, normed(m, x), lambda hidden: F.gelu(hidden, approximate="tanh")),
    ),
    Mistake(
        "silu",
        "there is a SiLU between the two layers: ViT has GELU",
        lambda m, x: mlp(m, normed(m, x), F.silu),
    ),
    Mistake(
        "normed_residual",
        "the normalised input is added: this block returns the MLP's output alone",
        lambda m, x: mlp(m, normed(m, x)) + normed(m, x),
    ),
    Mistake(
        "no_activation",
        "there is nothing between the two linear layers, so they are one: put GELU there",
        lambda m, x: mlp(m, normed(m, x), lambda hidden: hidden),
    ),
    Mistake(
        "activation_at_the_end",
        "a GELU follows the second layer too: the output may be anything, as it is added to z",
        lambda m, x: F.gelu(mlp(m, normed(m, x))),
    ),
    Mistake(
        "with_residual",
        "the input is added: the residual of Equation 3 comes later, in the encoder block",
        lambda m, x: mlp(m, normed(m, x)) + x,
    ),
    Mistake(
        "norm_after",
        "LayerNorm comes after the MLP: Equation 3 has MLP(LN(z)), so it comes before",
        lambda m, x: normed(m, mlp(m, x)),
    ),
    Mistake(
        "eps",
        OTHER_EPS,
        lambda m, x: mlp(m, normed(m, x, eps=1e-5)),
    ),
)


@check
def mlp_block(attempt) -> str:
    """MyMLPBlock(embedding_dim, mlp_size, dropout): MLP(LN(z)), (B, T, D) -> (B, T, D)."""
    for dim, size in ((6, 20), (10, 7)):
        module = build(attempt, embedding_dim=dim, mlp_size=size, dropout=0.1)
        shapes = layer_shapes(dim, **{"mlp.0": (dim, size), "mlp.3": (size, dim)})
        said = {
            "mlp.0.weight": ("mlp_size_ignored", "the hidden numbers are mlp_size many"),
            "layer_norm.weight": (
                "norm_size",
                "LayerNorm works on the D numbers of a token: nn.LayerNorm(embedding_dim)",
            ),
        }
        has_parameters(module, shapes, said)
        give_noise(module)
        inputs = [torch.randn(2, 5, dim), torch.randn(3, 1, dim) * 0.01]  # of small spread: eps shows
        same_module(module, lambda m, x: mlp(m, normed(m, x)), inputs, "B T D", MLP_MISTAKES)
    both_dropouts(give_noise(build(attempt, embedding_dim=64, mlp_size=256, dropout=0.4)))
    return "Right in two sizes, outputs and gradients; both dropouts act, and only in train mode."


def both_dropouts(module) -> None:
    """Raise Wrong unless 40 % are dropped behind GELU and behind the second layer, in train mode alone."""
    x = torch.randn(8, 50, 64)
    if not torch.equal(module(x), module(x)):
        raise Wrong("dropout_in_eval", "dropout acts in eval mode too: use nn.Dropout, which knows the mode")
    read, written = {}, {}  # what the two linear layers read and write

    def note(place):
        def hook(layer, inputs, output):
            read[place], written[place] = inputs[0], output

        return module.mlp[place].register_forward_hook(hook)

    hooks = [note(0), note(3)]
    zeros_out = (module.train()(x) == 0).float().mean().item()
    for hook in hooks:
        hook.remove()
    module.eval()
    zeros_hidden = (read[3] == 0).float().mean().item()
    for place, zeros, name in (
        ("behind GELU", zeros_hidden, "no_inner_dropout"),
        ("behind the second layer", zeros_out, "no_outer_dropout"),
    ):
        if zeros < 0.01:
            raise Wrong(name, f"no dropout acts {place}: it follows every dense layer (Appendix B.1)")
        if 0.61 < zeros < 0.67:
            text = f"with dropout = 0.4, {zeros:.0%} are zero {place}, which is 1 - 0.6 * 0.6: dropout acts twice there"
            raise Wrong("dropout_twice", text)
        if not 0.35 < zeros < 0.45:
            raise Wrong("dropout_ignored", f"with dropout = 0.4, {zeros:.0%} are zero {place}: hand the argument on")
    kept = read[3] != 0
    hidden = written[0][kept]
    if close(read[3][kept], F.gelu(hidden / 0.6)):
        raise Wrong("dropout_before_gelu", "dropout stands before GELU: it comes behind it, linear, GELU, dropout")
    if not close(read[0], normed(module, x)):
        raise Wrong(
            "dropout_on_input", "dropout acts on the first layer's input too: it follows the dense layers alone"
        )
    if not close(read[3][kept], F.gelu(hidden) / 0.6):
        text = "what dropout keeps is not GELU's output divided by 1 - p: use nn.Dropout, right behind nn.GELU()"
        raise Wrong("dropout_unscaled", text)


# Exercise 3: GatedMLPBlock(embedding_dim, hidden_size)


def gated(module, x, gate=F.gelu, value=lambda v: v, join=torch.mul, which=("gate", "value")):
    one, other = (getattr(module, name) for name in which)
    return module.narrow(join(gate(one(x)), value(other(x))))


GATED_MISTAKES = (
    Mistake("no_layer_norm", "layer_norm isn't used: normalise first", lambda m, x: gated(m, x)),
    Mistake(
        "no_activation",
        "there is no GELU: it goes on the gate, before the product",
        lambda m, x: gated(m, normed(m, x), gate=lambda g: g),
    ),
    Mistake(
        "value_activated",
        "GELU is on the value: it goes on the gate, and the value stays as it is",
        lambda m, x: gated(m, normed(m, x), which=("value", "gate")),
    ),
    Mistake(
        "both_activated", "GELU is on both: only the gate gets it", lambda m, x: gated(m, normed(m, x), value=F.gelu)
    ),
    Mistake(
        "activated_after",
        "GELU comes after the product: it goes on the gate, before it",
        lambda m, x: m.narrow(F.gelu(m.gate(normed(m, x)) * m.value(normed(m, x)))),
    ),
    Mistake("added", "gate and value are added: multiply them", lambda m, x: gated(m, normed(m, x), join=torch.add)),
    Mistake(
        "sigmoid", "the gate has a sigmoid: here it has GELU", lambda m, x: gated(m, normed(m, x), gate=torch.sigmoid)
    ),
    Mistake("relu", "the gate has a ReLU: here it has GELU", lambda m, x: gated(m, normed(m, x), gate=torch.relu)),
    Mistake(
        "with_residual",
        "the input is added: the residual comes later, in the encoder block",
        lambda m, x: gated(m, normed(m, x)) + x,
    ),
    Mistake(
        "no_value",
        "value isn't used: the result is narrow(GELU(gate) * value)",
        lambda m, x: m.narrow(F.gelu(m.gate(normed(m, x)))),
    ),
    Mistake(
        "value_not_normed",
        "value reads z as it came: gate and value both read LN(z)",
        lambda m, x: m.narrow(F.gelu(m.gate(normed(m, x))) * m.value(x)),
    ),
    Mistake(
        "gate_not_normed",
        "gate reads z as it came: gate and value both read LN(z)",
        lambda m, x: m.narrow(F.gelu(m.gate(x)) * m.value(normed(m, x))),
    ),
    Mistake(
        "gate_twice",
        "gate stands on both sides of the product: the second factor is value(LN(z))",
        lambda m, x: gated(m, normed(m, x), which=("gate", "gate")),
    ),
    Mistake("silu", "the gate has a SiLU: here it has GELU", lambda m, x: gated(m, normed(m, x), gate=F.silu)),
    Mistake(
        "normed_residual",
        "the normalised input is added: this block returns narrow's output alone",
        lambda m, x: gated(m, normed(m, x)) + normed(m, x),
    ),
    Mistake("eps", OTHER_EPS, lambda m, x: gated(m, normed(m, x, 1e-5))),
)


@check
def gated_mlp_block(attempt) -> str:
    """GatedMLPBlock(embedding_dim, hidden_size): narrow(GELU(gate(LN(z))) * value(LN(z)))."""
    for dim, size in ((6, 20), (10, 7)):
        module = build(attempt, embedding_dim=dim, hidden_size=size)
        has_parameters(module, layer_shapes(dim, gate=(dim, size), value=(dim, size), narrow=(size, dim)))
        give_noise(module)
        inputs = [torch.randn(2, 5, dim), torch.randn(3, 1, dim) * 0.01]
        same_module(module, lambda m, x: gated(m, normed(m, x)), inputs, "B T D", GATED_MISTAKES)
    return "Right in two sizes, outputs and gradients."


# Exercise 4: a number


@check
def equal_mlp_size(attempt) -> str:
    """The mlp_size at which MSA and MLP of ViT-Base have equally many weights, biases not counted."""
    wrongs = (
        ("as_it_is", 3072, "this is ViT-Base's own MLP, which has twice the weights of MSA"),
        ("no_output_projection", 1152, "this counts queries, keys and values: MSA has U_msa as well"),
        ("output_projection_alone", 384, "this counts U_msa alone: add queries, keys and values"),
        ("count", 4 * 768**2, "this is the number of weights: the question asks for the MLP's width"),
        ("embedding_dim", 768, "this is D: two layers of D x D are half of MSA's four"),
        ("biases", 1537, "this counts the biases, and then no whole number fits exactly: weights alone"),
        ("one_layer_twice", 6144, "this is wider than ViT-Base's own MLP, which already has more weights than MSA"),
    )
    why = "MSA has 4 D^2 weights, the MLP 2 D times its width: equal at 2 D. ViT's MLP is twice as wide: two thirds."
    return same_number(attempt, 2 * 768, wrongs, why)
