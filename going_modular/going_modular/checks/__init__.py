"""The exercises' checkers: what is wrong with a learner's class, function or number, in words.

Each takes the learner's own code, tries it in several sizes against a reference, and returns a Verdict, which prints
as text and shows as a panel in Jupyter: `checks.patch_embedding(MyPatchEmbedding)`. It never reads source text and
raises nothing; code that isn't written yet is "not attempted yet". One module a notebook, and
three for the capstone of notebook 12; one function an exercise.
"""

from going_modular.going_modular.checks.capstone_attention import attention_pooling, class_attention_block
from going_modular.going_modular.checks.capstone_branches import layer_scale_block, stochastic_depth_block
from going_modular.going_modular.checks.capstone_distillation import distilled_vit
from going_modular.going_modular.checks.notebook_01 import (
    augmented_dataloaders,
    average_of_batches,
    split_folder,
    to_unit,
)
from going_modular.going_modular.checks.notebook_02 import count_parameters, count_tokens, equation_4, more_in_b32
from going_modular.going_modular.checks.notebook_03 import (
    cut_into_patches,
    hybrid_patch_embedding,
    patch_embedding,
    patch_embedding_parameters,
)
from going_modular.going_modular.checks.notebook_04 import (
    embedding,
    neighbour_similarity,
    prepend_class_token,
    sinusoidal_positions,
)
from going_modular.going_modular.checks.notebook_05 import (
    attention_crossing,
    attention_weights,
    msa_block,
    multihead_attention,
)
from going_modular.going_modular.checks.notebook_06 import equal_mlp_size, gated_mlp_block, gelu, mlp_block
from going_modular.going_modular.checks.notebook_07 import (
    encoder_block,
    encoder_from_pytorch,
    growth_exponent,
    parallel_block,
)
from going_modular.going_modular.checks.notebook_08 import (
    mean_pooling_vit,
    register_vit,
    vit_forward,
    vit_small_parameters,
)
from going_modular.going_modular.checks.notebook_09 import (
    answers_needed,
    evaluate,
    learning_rate_finder,
    training_step,
)
from going_modular.going_modular.checks.notebook_10 import images_needed, new_head, stretch_positions, vit_for
from going_modular.going_modular.checks.notebook_11 import (
    accumulate_and_clip,
    draw_more,
    undecayed_parameters,
    warmup_cosine,
)
from going_modular.going_modular.checks.notebook_12 import corner_to_middle, patch_distances, rollout
from going_modular.going_modular.checks.verdict import Verdict

__all__ = [
    "Verdict",
    # 01
    "to_unit",
    "split_folder",
    "augmented_dataloaders",
    "average_of_batches",
    # 02
    "count_tokens",
    "count_parameters",
    "equation_4",
    "more_in_b32",
    # 03
    "cut_into_patches",
    "patch_embedding",
    "hybrid_patch_embedding",
    "patch_embedding_parameters",
    # 04
    "prepend_class_token",
    "embedding",
    "sinusoidal_positions",
    "neighbour_similarity",
    # 05
    "attention_weights",
    "multihead_attention",
    "msa_block",
    "attention_crossing",
    # 06
    "gelu",
    "mlp_block",
    "gated_mlp_block",
    "equal_mlp_size",
    # 07
    "encoder_block",
    "parallel_block",
    "encoder_from_pytorch",
    "growth_exponent",
    # 08
    "vit_forward",
    "mean_pooling_vit",
    "register_vit",
    "vit_small_parameters",
    # 09
    "evaluate",
    "training_step",
    "learning_rate_finder",
    "answers_needed",
    # 10
    "new_head",
    "stretch_positions",
    "vit_for",
    "images_needed",
    # 11
    "warmup_cosine",
    "accumulate_and_clip",
    "draw_more",
    "undecayed_parameters",
    # 12
    "rollout",
    "patch_distances",
    "corner_to_middle",
    # 12, the capstone
    "distilled_vit",
    "layer_scale_block",
    "stochastic_depth_block",
    "class_attention_block",
    "attention_pooling",
]
