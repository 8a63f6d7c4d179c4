"""What the tests of GPT-2 share: a prepared text, small settings, runs in processes that are killed, and the torchrun cases.

``torchrun --nproc-per-node 2 gpt2_cases.py FOLDER DATA`` trains every case under DDP and FSDP2.
"""

import hashlib
import json
import os
import random
import signal
import sys
from pathlib import Path

import torch

from marslab.gpt2 import checkpoint, data
from marslab.gpt2.log import TIMES, read_log
from marslab.gpt2.loop import train
from marslab.gpt2.parallel import leave
from marslab.gpt2.settings import preset

WORDS = ["the", "of", "and", "a", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are", "as", "with"]


def prepared(folder: Path) -> Path:
    """A corpus of some words in random order."""
    words = random.Random(0)
    text = "".join(" ".join(words.choices(WORDS, k=8)) + "\n" for _ in range(600))
    (folder / "words.txt").write_text(text)
    data.prepare(str(folder / "words.txt"), "bytes", folder / "data")
    return folder / "data"


def small(optimizer="mars_adamw", **overrides):
    """Settings of a few quick steps."""
    quick = dict(steps=6, batch=6, micro_batch=2, context=16, warmup=2, eval_every=3, eval_sequences=7, checkpoint_every=4)
    return preset("micro", optimizer, **{**quick, **overrides})


KILLED = dict(exact=True, dropout=0.2, steps=16, checkpoint_every=3, eval_every=5, micro_batch=2, batch=6)


def killed_settings():
    """Dropout, accumulation 3 and the exact mode."""
    return small(**KILLED)


def digest(folder: Path) -> dict:
    """Everything that a finished run leaves, in a form that two equal runs share to the last bit."""
    paths = [checkpoint.path_of(folder, step) for step in checkpoint.steps_in(folder)]
    return {"checkpoints": {path.name: bits(checkpoint.load(path)) for path in paths}, "log": untimed(folder)}


def bits(value):
    """The same nest with every tensor's type, shape and bytes, and every number's exact form, as words."""
    if torch.is_tensor(value):
        raw = value.contiguous().flatten().view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return f"{value.dtype} {tuple(value.shape)} {hashlib.sha256(raw).hexdigest()}"
    if isinstance(value, dict):
        return {key: bits(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [bits(entry) for entry in value]
    return repr(value)


def untimed(folder: Path) -> list[str]:
    """The lines of the log without their times."""
    return [json.dumps({k: v for k, v in one.items() if k not in TIMES}) for one in read_log(folder / "log.jsonl")]


def child(folder, corpus, torn=0):
    """Run in a process of its own; ``torn`` > 0 kills it in the middle of its torn-th checkpoint."""
    torch.set_num_threads(1)
    if torn:
        kill_inside(torn)
    train(killed_settings(), Path(folder), Path(corpus))


def kill_inside(which):
    """Arrange that the process is killed while it writes a checkpoint."""
    original, count = checkpoint.Sealing.write, [0]

    def write(self, blob):
        if self.length == 0:
            count[0] += 1
        if count[0] == which and self.length > 60_000:
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, blob)

    checkpoint.Sealing.write = write


CASES = {
    "adamw": dict(optimizer="adamw"),
    "lion": dict(optimizer="lion"),
    "muon": dict(optimizer="muon"),
    "mars_adamw": dict(dropout=0.1),
    "mars_adamw_exact": dict(exact=True, dropout=0.1),
    "mars_lion": dict(optimizer="mars_lion"),
    "mars_lion_exact": dict(optimizer="mars_lion", exact=True),
    "mars_shampoo": dict(optimizer="mars_shampoo"),
    "mars_shampoo_exact": dict(optimizer="mars_shampoo", exact=True),
}
SPLIT = dict(precision="fp64", batch=8)  # four micro-batches, two a process


def main(folder, corpus):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    for name, changes in CASES.items():
        for parallel in ("ddp", "fsdp2"):
            s = small(**{**SPLIT, **changes}, parallel=parallel)
            train(s, Path(folder) / f"{name}-{parallel}", Path(corpus), device="cpu")
    for parallel in ("ddp", "fsdp2"):  # from a checkpoint of one process
        s = small(**{**SPLIT, **CASES["mars_shampoo_exact"]}, parallel=parallel)
        train(s, Path(folder) / f"resumed-{parallel}", Path(corpus), device="cpu")
    leave()
    os._exit(0)  # a torch process may abort while it tidies up after gloo


if __name__ == "__main__":
    main(*sys.argv[1:])
