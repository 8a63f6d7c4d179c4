"""The safetensors format, as far as a model needs it: 8 bytes of length, a JSON header, raw little-endian tensors."""

import json
from pathlib import Path

import torch

from marslab.errors import UsageError
from marslab.results import files

__all__ = ["read", "write"]

TYPES = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
NAMES = {value: name for name, value in TYPES.items()}


def write(path: Path, tensors: dict[str, torch.Tensor], remedy: str) -> None:
    """Write tensors by name, whole or not at all."""
    header, end, blobs = {"__metadata__": {"format": "pt"}}, 0, []
    for name, tensor in tensors.items():
        blobs.append(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + len(blobs[-1])]}
        end += len(blobs[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with files.open_new(path, remedy) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for blob in blobs:
            file.write(blob)


def read(path: Path) -> dict[str, torch.Tensor]:
    """Tensors by name.

    Raises:
        UsageError: the file is missing, truncated or of another format.
    """
    try:
        blob = bytearray(path.read_bytes())
        length = int.from_bytes(blob[:8], "little")
        header, start = json.loads(blob[8 : 8 + length]), 8 + length
        return {name: tensor(blob, start, entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as problem:
        raise UsageError(f"{path} is no intact safetensors file ({problem}); export or fetch the model anew.") from problem


def tensor(blob: bytearray, start: int, entry: dict) -> torch.Tensor:
    """One tensor, which shares memory with the bytes."""
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(blob) - start:
        raise ValueError("it is truncated")
    if begin == end:
        return torch.empty(entry["shape"], dtype=TYPES[entry["dtype"]])
    flat = torch.frombuffer(blob, dtype=torch.uint8, count=end - begin, offset=start + begin).clone()
    return flat.view(TYPES[entry["dtype"]]).view(entry["shape"])
