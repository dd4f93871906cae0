#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checkpoints and scores of tests/golden/models: make_models.py [FOLDER]

Small random models of Hugging Face's own classes, saved as they save themselves, and beside each a
cases.json: token ids of pairs, each part with its [SEP], and the scores the class gives them. Pairs of
several lengths go through in one padded batch, so that padding is part of what is compared. The sparse
pattern's scores are the full model's in float64 under its mask. By hand, in an environment of
scripts/golden/requirements.txt.
"""
import json
import pathlib
import sys

import torch
import transformers

CLS, SEP, PAD = 2, 3, 1
SIZES = [(5, 61), (1, 20), (9, 1), (3, 90)]  # tokens of query and document, [SEP] included
WINDOWS = [64, 4, 1, 0]
SHAPE = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
         "pad_token_id": PAD, "initializer_range": 0.3, "hidden_dropout_prob": 0.0,
         "attention_probs_dropout_prob": 0.0, "num_labels": 1}


def pairs():
    draw = torch.Generator().manual_seed(1)
    words = lambda count: torch.randint(4, SHAPE["vocab_size"], (count - 1,), generator=draw).tolist() + [SEP]
    return [{"query": words(query), "document": words(document)} for query, document in SIZES]


def padded(pairs, token_types):
    rows = [[CLS] + pair["query"] + pair["document"] for pair in pairs]
    longest = max(len(row) for row in rows)
    batch = {"input_ids": [row + [PAD] * (longest - len(row)) for row in rows],
             "attention_mask": [[1] * len(row) + [0] * (longest - len(row)) for row in rows]}
    if token_types:
        batch["token_type_ids"] = [[0] * (1 + len(pair["query"])) + [1] * len(pair["document"])
                                   + [0] * (longest - len(row)) for pair, row in zip(pairs, rows)]
    return {name: torch.tensor(values) for name, values in batch.items()}


def stirred(model, seed):
    """Biases and LayerNorms begin at 0 and 1, where leaving one out would not be noticed."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(torch.randn_like(weight) * 0.2)
    return model.eval()


def sparse_mask(pair, window, independent_query):
    """The paper's Fig. 1(d) as a table of pairs: [CLS] sees all, the query itself (or all), the document [CLS],
    the query and its window."""
    query, document = len(pair["query"]), len(pair["document"])
    first = 1 + query
    tokens = first + document
    allowed = torch.zeros(tokens, tokens, dtype=torch.bool)
    allowed[0] = True
    allowed[1:first, 1:first] = True
    if not independent_query:
        allowed[1:first] = True
    allowed[first:, :first] = True
    at = torch.arange(document)
    allowed[first:, first:] = (at[:, None] - at[None]).abs() <= window
    return allowed


def masked_scores(model, pairs, mask_of):
    """One pair at a time, in the model's dtype."""
    scores = []
    for pair in pairs:
        batch = padded([pair], token_types=True)
        hidden = torch.zeros(1, 1, *[batch["input_ids"].shape[1]] * 2, dtype=torch.float64)
        hidden.masked_fill_(~mask_of(pair), float("-inf"))
        batch["attention_mask"] = hidden
        scores.append(model(**batch).logits[0, 0].item())
    return scores


def bert(folder, pairs):
    config = transformers.BertConfig(**SHAPE, max_position_embeddings=128)
    model = stirred(transformers.BertForSequenceClassification(config), 1)
    model.save_pretrained(folder)
    scores = {"full": model(**padded(pairs, token_types=True)).logits[:, 0].tolist()}
    config._attn_implementation = "eager"
    exact = transformers.BertForSequenceClassification(config).double().eval()
    exact.load_state_dict(model.state_dict())
    for window in WINDOWS:
        scores[f"sparse/{window}"] = masked_scores(exact, pairs, lambda pair: sparse_mask(pair, window, True))
        scores[f"sparse-without-independent-query/{window}"] = masked_scores(
            exact, pairs, lambda pair: sparse_mask(pair, window, False))
    return scores


def longformer(folder, pairs):
    config = transformers.LongformerConfig(**SHAPE, max_position_embeddings=130, type_vocab_size=1,
                                           attention_window=[8, 8], bos_token_id=CLS, eos_token_id=SEP,
                                           sep_token_id=SEP)
    model = stirred(transformers.LongformerForSequenceClassification(config), 2)
    model.save_pretrained(folder)
    batch = padded(pairs, token_types=False)

    def scores_with(every):
        globals_ = torch.zeros_like(batch["input_ids"])
        for row, pair in enumerate(pairs):
            first = 1 + len(pair["query"])
            globals_[row, :first] = 1
            if every:
                globals_[row, first:first + len(pair["document"]):every] = 1
        return model(**batch, global_attention_mask=globals_).logits[:, 0].tolist()

    return {"longformer/4": scores_with(None), "qds/4": scores_with(30)}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).parents[2] / "tests" / "golden" / "models")
    versions = {"torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__}
    for name, make in (("bert", bert), ("longformer", longformer)):
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        some = pairs()
        with torch.no_grad():
            scores = make(folder, some)
        cases = {"made_with": versions, "cls": CLS, "pairs": some, "scores": scores}
        (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
        print(name, {row: [round(score, 4) for score in values] for row, values in scores.items()})


if __name__ == "__main__":
    main()
