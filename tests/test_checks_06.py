"""checks, notebook 06: what is right passes, and each wrong version gets its own verdict."""

import math

import pytest
import torch
import torch.nn.functional as F
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import MLPBlock

NORMAL = torch.distributions.Normal(0.0, 1.0)

GELU = wrong_versions(
    "gelu",
    ("phi_alone", NORMAL.cdf),
    ("relu", F.relu),
    ("silu", lambda x: x * x.sigmoid()),
    ("sigmoid_form", lambda x: x * (1.702 * x).sigmoid()),
    ("tanh_form", lambda x: 0.5 * x * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x**3)))),
    ("no_root", lambda x: 0.5 * x * (1 + x.erf())),
    ("divided_by_two", lambda x: 0.5 * x * (1 + (x / 2).erf())),
    ("root_rounded", lambda x: 0.5 * x * (1 + (x / 1.414).erf())),
    ("root_rounded", lambda x: 0.5 * x * (1 + (x / 1.41).erf())),
    ("values", lambda x: 0.5 * x * (1 + (x * 2).erf())),
    ("values", lambda x: x * (1 + (x / 2**0.5).erf() / 2)),
    ("not_halved", lambda x: x * (1 + (x / 2**0.5).erf())),
    ("no_one", lambda x: 0.5 * x * (x / 2**0.5).erf()),
    ("density", lambda x: x * NORMAL.log_prob(x).exp()),
    ("detached", lambda x: torch.tensor([v * 0.5 * (1 + math.erf(v / 2**0.5)) for v in x.flatten().tolist()]).view(x.shape)),
)  # fmt: skip


class Right(nn.Module):
    eps = 1e-6

    def __init__(self, embedding_dim=768, mlp_size=3072, dropout=0.1):
        super().__init__()
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=self.eps)
        self.mlp = nn.Sequential(*self.layers(embedding_dim, mlp_size, dropout))

    def layers(self, d, size, p):
        return nn.Linear(d, size), nn.GELU(), nn.Dropout(p), nn.Linear(size, d), nn.Dropout(p)

    def forward(self, z):
        return self.mlp(self.layer_norm(z))


def attempt(**methods):
    return type("Attempt", (Right,), methods)


def layers(function):
    return attempt(layers=lambda self, d, size, p: function(d, size, p))


class AlwaysDrop(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=True)


class Unscaled(nn.Dropout):
    def forward(self, x):
        return super().forward(x) * (1 - self.p) if self.training else x


class DropsTwice(Right):
    def __init__(self, embedding_dim=768, mlp_size=3072, dropout=0.1):
        super().__init__(embedding_dim, mlp_size, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, z):
        return self.dropout(super().forward(z))


class DropsInput(DropsTwice):
    def forward(self, z):
        return self.mlp(self.dropout(self.layer_norm(z)))


class TwiceAsWide(Right):
    def __init__(self, embedding_dim=768, mlp_size=3072, dropout=0.1):
        super().__init__(embedding_dim, 4 * embedding_dim, dropout)


class NormOfHidden(Right):
    def __init__(self, embedding_dim=768, mlp_size=3072, dropout=0.1):
        super().__init__(embedding_dim, mlp_size, dropout)
        self.layer_norm = nn.LayerNorm(mlp_size)


BLOCK = wrong_versions(
    "mlp_block",
    ("no_layer_norm", attempt(forward=lambda self, z: self.mlp(z))),
    ("relu", layers(lambda d, s, p: (nn.Linear(d, s), nn.ReLU(), nn.Dropout(p), nn.Linear(s, d), nn.Dropout(p)))),
    ("tanh_form", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU("tanh"), nn.Dropout(p), nn.Linear(s, d), nn.Dropout(p)))),
    ("no_activation", layers(lambda d, s, p: (nn.Linear(d, s), nn.Identity(), nn.Dropout(p), nn.Linear(s, d), nn.Dropout(p)))),
    ("silu", layers(lambda d, s, p: (nn.Linear(d, s), nn.SiLU(), nn.Dropout(p), nn.Linear(s, d), nn.Dropout(p)))),
    ("normed_residual", attempt(forward=lambda self, z: self.mlp(n := self.layer_norm(z)) + n)),
    ("dropout_before_gelu", layers(lambda d, s, p: (nn.Linear(d, s), nn.Dropout(p), nn.GELU(), nn.Linear(s, d), nn.Dropout(p)))),
    ("dropout_twice", DropsTwice),
    ("dropout_on_input", DropsInput),
    ("dropout_unscaled", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU(), Unscaled(p), nn.Linear(s, d), nn.Dropout(p)))),
    ("activation_at_the_end", attempt(forward=lambda self, z: F.gelu(self.mlp(self.layer_norm(z))))),
    ("with_residual", attempt(forward=lambda self, z: self.mlp(self.layer_norm(z)) + z)),
    ("norm_after", attempt(forward=lambda self, z: self.layer_norm(self.mlp(z)))),
    ("eps", attempt(eps=1e-5)),
    ("no_inner_dropout", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU(), nn.Identity(), nn.Linear(s, d), nn.Dropout(p)))),
    ("no_outer_dropout", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU(), nn.Dropout(p), nn.Linear(s, d)))),
    ("dropout_ignored", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU(), nn.Dropout(0.1), nn.Linear(s, d), nn.Dropout(0.1)))),
    ("mlp_size_ignored", TwiceAsWide),
    ("norm_size", NormOfHidden),
    ("names", layers(lambda d, s, p: (nn.Linear(d, s), nn.GELU(), nn.Linear(s, d), nn.Dropout(p)))),
    ("in_place", attempt(forward=lambda self, z: self.mlp(self.layer_norm(z.mul_(1.5))))),
)  # fmt: skip


class Gated(nn.Module):
    eps = 1e-6

    def __init__(self, embedding_dim, hidden_size):
        super().__init__()
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=self.eps)
        self.gate = nn.Linear(embedding_dim, hidden_size)
        self.value = nn.Linear(embedding_dim, hidden_size)
        self.narrow = nn.Linear(hidden_size, embedding_dim)

    def forward(self, z):
        n = self.layer_norm(z)
        return self.narrow(self.hidden(self.gate(n), self.value(n)))

    def hidden(self, gate, value):
        return F.gelu(gate) * value


def gated(function):
    return type("Attempt", (Gated,), {"hidden": lambda self, gate, value: function(gate, value)})


class GatedNoNorm(Gated):
    def forward(self, z):
        return self.narrow(self.hidden(self.gate(z), self.value(z)))


class GatedHalfNormed(Gated):
    def forward(self, z):
        return self.narrow(self.hidden(self.gate(self.layer_norm(z)), self.value(z)))


class GatedOtherHalfNormed(Gated):
    def forward(self, z):
        return self.narrow(self.hidden(self.gate(z), self.value(self.layer_norm(z))))


class GatedTwice(Gated):
    def forward(self, z):
        n = self.layer_norm(z)
        return self.narrow(self.hidden(self.gate(n), self.gate(n)))


class GatedNormedResidual(Gated):
    def forward(self, z):
        return super().forward(z) + self.layer_norm(z)


class GatedResidual(Gated):
    def forward(self, z):
        return super().forward(z) + z


class GatedEps(Gated):
    eps = 1e-5


class GatedHidden(Gated):
    def forward(self, z):
        return self.hidden(self.gate(self.layer_norm(z)), self.value(self.layer_norm(z)))


class GatedShared(Gated):
    def __init__(self, embedding_dim, hidden_size):
        super().__init__(embedding_dim, hidden_size)
        self.value = self.gate


GATED = wrong_versions(
    "gated_mlp_block",
    ("no_activation", gated(lambda gate, value: gate * value)),
    ("value_activated", gated(lambda gate, value: gate * F.gelu(value))),
    ("both_activated", gated(lambda gate, value: F.gelu(gate) * F.gelu(value))),
    ("activated_after", gated(lambda gate, value: F.gelu(gate * value))),
    ("added", gated(lambda gate, value: F.gelu(gate) + value)),
    ("sigmoid", gated(lambda gate, value: gate.sigmoid() * value)),
    ("relu", gated(lambda gate, value: gate.relu() * value)),
    ("no_value", gated(lambda gate, value: F.gelu(gate))),
    ("no_layer_norm", GatedNoNorm),
    ("value_not_normed", GatedHalfNormed),
    ("gate_not_normed", GatedOtherHalfNormed),
    ("gate_twice", GatedTwice),
    ("silu", gated(lambda gate, value: F.silu(gate) * value)),
    ("normed_residual", GatedNormedResidual),
    ("with_residual", GatedResidual),
    ("eps", GatedEps),
    ("shape", GatedHidden),
    ("shared_parameters", GatedShared),
)

NUMBER = wrong_versions(
    "equal_mlp_size",
    ("as_it_is", 3072),
    ("no_output_projection", 1152),
    ("output_projection_alone", 384),
    ("count", 2_359_296),
    ("embedding_dim", 768),
    ("biases", 1537),
    ("other_number", 1000),
)


@pytest.mark.parametrize("exercise, name, attempt", [*GELU, *BLOCK, *GATED, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("gelu", F.gelu),
        ("gelu", nn.GELU()),
        ("gelu", lambda x: x * NORMAL.cdf(x)),
        ("mlp_block", MLPBlock),
        ("mlp_block", Right),
        ("gated_mlp_block", Gated),
        ("equal_mlp_size", 1536),
        ("equal_mlp_size", 1536.0),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed


@pytest.mark.parametrize(
    "formula", [lambda x: 0.5 * x * (1 + (x * 2).erf()), lambda x: x * (1 + (x / 2**0.5).erf() / 2)]
)
def test_an_unknown_formula_is_shown_one_number(formula):
    assert "GELU(1) = Phi(1) = 0.8413" in expect("gelu", "values", formula).text
