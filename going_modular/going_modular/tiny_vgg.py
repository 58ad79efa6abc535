"""TinyVGG, the course's small CNN: two blocks of two convolutions each, and a linear layer.

It stands beside ViT where the question is what a convolution's inductive bias is worth (section 3.1 of the paper).
"""

import torch
from torch import nn


def conv_block(in_channels: int, out_channels: int) -> nn.Sequential:
    """Two 3 x 3 convolutions without padding, then the larger of every 2 x 2: side s becomes (s - 4) // 2."""
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, kernel_size=3),
        nn.ReLU(),
        nn.Conv2d(out_channels, out_channels, kernel_size=3),
        nn.ReLU(),
        nn.MaxPool2d(kernel_size=2),
    )


class TinyVGG(nn.Module):
    """The course's names, arguments and structure; img_size is added, since the linear layer's width follows from it.

    Args:
        input_shape: colour channels C.
        hidden_units: channels of every convolution.
        output_shape: classes K.
        img_size: side of the square images in pixels.

    Shapes: (B, C, H, W) -> (B, K).

    Raises ValueError for images too small for the two blocks.
    """

    def __init__(self, input_shape: int = 3, hidden_units: int = 10, output_shape: int = 3, img_size: int = 64):
        super().__init__()
        side = ((img_size - 4) // 2 - 4) // 2
        if side < 1:
            raise ValueError(f"img_size is {img_size}: after two blocks nothing is left of it, 16 is the least")
        self.conv_block_1 = conv_block(input_shape, hidden_units)
        self.conv_block_2 = conv_block(hidden_units, hidden_units)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * side * side, output_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv_block_1(x)  # (B, hidden_units, (H - 4) // 2, (W - 4) // 2)
        x = self.conv_block_2(x)  # (B, hidden_units, side, side)
        return self.classifier(x)  # (B, K)
