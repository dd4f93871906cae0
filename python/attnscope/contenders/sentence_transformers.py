# SPDX-License-Identifier: Apache-2.0
"""sentence-transformers' CrossEncoder from token ids on: its forward pass, batch by batch."""
import pathlib

import torch
from sentence_transformers import CrossEncoder

from attnscope import model, serve
from attnscope.contenders._batches import in_batches, peak_bytes_of

PAIRS = 32  # the default of its predict()
SPECIAL = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}


def write_words(folder, count):
    """Writes a tokenizer, without which it opens no checkpoint, although nothing is tokenized."""
    words = (SPECIAL.get(word, f"[unused{word}]") for word in range(count))
    pathlib.Path(folder, "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


@model("sentence-transformers", dtypes=["float32"], peak_bytes=peak_bytes_of(PAIRS),
       summary=f"sentence-transformers' CrossEncoder from token ids on, {PAIRS} pairs at a time")
def sentence_transformers(folder, plan):
    write_words(folder, plan.vocabulary)
    reranker = CrossEncoder(folder, device="cpu", num_labels=1, activation_fn=torch.nn.Identity(),
                            local_files_only=True).eval()

    def score(ids, mask, types):
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return reranker.activation_fn(reranker(inputs)["scores"]).squeeze(-1)
    return in_batches(score, PAIRS)


if __name__ == "__main__":
    serve()
