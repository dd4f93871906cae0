#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of transformers and PyTorch on the pairs of attnscope_train_figures:

    python3 train_in_transformers.py [ROUNDS [THREADS]]

BertForSequenceClassification at MiniLM's sizes with random weights, the pairs padded to the longest
of the batch as a data loader does, margin-MSE, clipping and torch.optim.AdamW (fused), float32."""
import sys
import time

import torch
from transformers import BertConfig, BertForSequenceClassification

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
torch.manual_seed(1)
lengths = [32 + (i * 37) % 128 for i in range(32)]
config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                    num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=7e-6, weight_decay=0.01, fused=True)
longest = max(lengths)
ids = torch.randint(1000, 30000, (32, longest))
mask = torch.zeros(32, longest, dtype=torch.long)
types = torch.zeros(32, longest, dtype=torch.long)
for row, length in enumerate(lengths):
    mask[row, :length] = 1
    types[row, 12:length] = 1
    ids[row, length:] = 0


def step():
    scores = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits.view(-1, 2)
    loss = ((scores[:, 0] - scores[:, 1] - 1.0) ** 2).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


step()
seconds = []
for _ in range(rounds):
    start = time.perf_counter()
    step()
    seconds.append(time.perf_counter() - start)
best = min(seconds)
print(f"transformers {__import__('transformers').__version__}, PyTorch {torch.__version__}: "
      f"{sum(lengths) / best:.0f} tokens a second ({best * 1e3:.0f} ms a step, the best of {rounds})")
