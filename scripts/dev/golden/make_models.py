#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checkpoints and scores of tests/golden/models: make_models.py [FOLDER]

Writes small random models with save_pretrained() of Hugging Face's classes, each with a cases.json: token ids of pairs,
each part with its [SEP], and the scores that the class computes. Pairs of several lengths are computed in one padded
batch, so that padding is tested too. The scores of the sparse pattern are those of the full model in float64 with a
mask. Run it by hand in an environment of scripts/dev/golden/requirements.txt.
"""
import json
import pathlib
import sys

import safetensors.torch
import sentence_transformers.sentence_transformer.modules
import torch
import transformers

CLS, SEP, PAD = 2, 3, 1
SIZES = [(5, 61), (1, 20), (9, 1), (3, 90)]  # tokens of query and document, [SEP] included
WINDOWS = [64, 4, 1, 0]
SHAPE = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
         "pad_token_id": PAD, "initializer_range": 0.3, "hidden_dropout_prob": 0.0,
         "attention_probs_dropout_prob": 0.0, "num_labels": 1}


def pairs(sizes):
    draw = torch.Generator().manual_seed(1)
    words = lambda count: torch.randint(4, SHAPE["vocab_size"], (count - 1,), generator=draw).tolist() + [SEP]
    return [{"query": words(query), "document": words(document)} for query, document in sizes]


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
    """Changes biases and LayerNorms, whose initial values 0 and 1 would hide that one is not used."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(torch.randn_like(weight) * 0.2)
    return model.eval()


def sparse_mask(pair, window, independent_query):
    """The paper's Fig. 1(d) as a table of pairs: [CLS] attends to all, the query to itself (or to all), the document
    to [CLS], the query and its window."""
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


def scores_of(model, pairs, token_types):
    return model(**padded(pairs, token_types)).logits[:, 0].tolist()


def roberta_like(config_class, model_class):
    def make(folder, pairs):
        config = config_class(**SHAPE, max_position_embeddings=130, type_vocab_size=1, bos_token_id=CLS,
                              eos_token_id=SEP)
        model = stirred(model_class(config), 3)
        model.save_pretrained(folder)
        return {"full": scores_of(model, pairs, token_types=False)}
    return make


def electra(folder, pairs):
    config = transformers.ElectraConfig(**SHAPE, embedding_size=20, max_position_embeddings=128)
    model = stirred(transformers.ElectraForSequenceClassification(config), 4)
    model.save_pretrained(folder)
    return {"full": scores_of(model, pairs, token_types=True)}


def mono(backbone_class, config_class, more):
    """A second implementation of Lightning IR's mono cross-encoders, whose files have the backbone's tensors without a
    prefix and `linear`; its own classes need further packages."""
    def make(folder, pairs):
        config = config_class(**{**SHAPE, **more}, max_position_embeddings=128)
        body = stirred(backbone_class(config), 5)
        head = torch.nn.Linear(config.hidden_size, 1, bias=False)
        torch.nn.init.normal_(head.weight, std=0.3, generator=torch.Generator().manual_seed(6))
        tensors = dict(body.state_dict()) | {"linear.weight": head.weight}
        safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
                                    folder / "model.safetensors", {"format": "pt"})
        config_json = config.to_dict() | {"model_type": "mono", "backbone_model_type": config.model_type,
                                          "architectures": [f"Mono{type(body).__name__}"], "query_length": 32,
                                          "doc_length": 256, "pooling_strategy": "first", "linear_bias": False,
                                          "scoring_strategy": "rank"}
        (folder / "config.json").write_text(json.dumps(config_json, indent=1) + "\n")
        return {"full": head(body(**padded(pairs, token_types=True)).last_hidden_state[:, 0])[:, 0].tolist()}
    return make


def set_encoder(interaction):
    """Documents of one query: in every layer the keys and values of a document are its own and those of one token of
    each other document, which Lightning IR's class also computes from hidden states."""
    def make(folder, pairs):
        config = transformers.BertConfig(**SHAPE, max_position_embeddings=128, attn_implementation="eager")
        body = stirred(transformers.BertModel(config, add_pooling_layer=False), 11)
        head = torch.nn.Linear(config.hidden_size, 1, bias=False)
        torch.nn.init.normal_(head.weight, std=0.3, generator=torch.Generator().manual_seed(12))
        tensors = {name: tensor.contiguous() for name, tensor in body.state_dict().items()}
        safetensors.torch.save_file(tensors | {"linear.weight": head.weight.contiguous()}, folder / "model.safetensors",
                                    {"format": "pt"})
        config_json = config.to_dict() | {"model_type": "set-encoder", "backbone_model_type": "bert",
                                          "architectures": ["SetEncoderBertModel"], "depth": 100, "sample_missing_docs": True,
                                          "add_extra_token": interaction, "pooling_strategy": "first", "linear_bias": False,
                                          "scoring_strategy": "rank"}
        (folder / "config.json").write_text(json.dumps(config_json, indent=1) + "\n")
        for pair in pairs:
            pair["query"] = list(pairs[0]["query"])
        batch = padded(pairs, token_types=True)
        count, heads = len(pairs), config.num_attention_heads
        mask = torch.cat([batch["attention_mask"].bool(), ~torch.eye(count, dtype=torch.bool)], dim=1)
        states = body.embeddings(batch["input_ids"], batch["token_type_ids"])
        split = lambda x: x.unflatten(-1, (heads, -1)).transpose(1, 2)
        for layer in body.encoder.layer:
            seen = states[:, 1 if interaction else 0]
            keys = torch.cat([states, seen.expand(count, -1, -1)], dim=1)
            own = layer.attention.self
            out = torch.nn.functional.scaled_dot_product_attention(
                split(own.query(states)), split(own.key(keys)), split(own.value(keys)), mask[:, None, None])
            attended = layer.attention.output(out.transpose(1, 2).flatten(2), states)
            states = layer.output(layer.intermediate(attended), attended)
        return {"full": head(states[:, 0])[:, 0].tolist()}
    return make


MODERN = {"vocab_size": SHAPE["vocab_size"], "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 5,
          "num_attention_heads": 2, "max_position_embeddings": 320, "pad_token_id": PAD, "cls_token_id": CLS,
          "sep_token_id": SEP, "bos_token_id": CLS, "eos_token_id": SEP, "initializer_range": 0.3,
          "classifier_dropout": 0.0, "num_labels": 1}
MODERN_SIZES = [(5, 61), (1, 130), (9, 1), (3, 190)]  # beyond 64 tokens on each side


def modern(fields, older_layout=False):
    def make(folder, pairs):
        config = transformers.ModernBertConfig(**{**MODERN, **fields}, attn_implementation="sdpa")
        model = stirred(transformers.ModernBertForSequenceClassification(config), 7)
        model.save_pretrained(folder)
        if older_layout:
            config_json = json.loads((folder / "config.json").read_text())
            rotary = config_json.pop("rope_parameters")
            del config_json["layer_types"]
            config_json |= {"global_attn_every_n_layers": 3,
                            "global_rope_theta": rotary["full_attention"]["rope_theta"],
                            "local_rope_theta": rotary["sliding_attention"]["rope_theta"],
                            "position_embedding_type": "absolute", "layer_norm_eps": 1e-5}
            (folder / "config.json").write_text(json.dumps(config_json, indent=1) + "\n")
        return {"full": scores_of(model, pairs, token_types=False)}
    return make


def modern_modules(folder, pairs):
    """sentence-transformers' layout: an encoder without a prefix, and the modules that compute the score."""
    modules = sentence_transformers.sentence_transformer.modules
    config = transformers.ModernBertConfig(**MODERN, attn_implementation="sdpa")
    backbone = stirred(transformers.ModernBertModel(config), 8)
    torch.manual_seed(9)
    through = {"module_input_name": "sentence_embedding"}
    width = config.hidden_size
    head = [modules.Pooling(width, "cls"),
            modules.Dense(width, width, bias=False, activation_function=torch.nn.GELU(), **through),
            modules.LayerNorm(width),
            modules.Dense(width, 1, bias=True, activation_function=torch.nn.Identity(), module_output_name="scores",
                          **through)]
    backbone.save_pretrained(folder)
    stirred(torch.nn.ModuleList(head), 10)
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]
    for number, module in enumerate(head, 1):
        name = f"{number}_{type(module).__name__}"
        (folder / name).mkdir(exist_ok=True)
        module.save(str(folder / name))
        listed.append({"idx": number, "name": str(number), "path": name,
                       "type": f"{type(module).__module__}.{type(module).__name__}"})
    (folder / "modules.json").write_text(json.dumps(listed, indent=1) + "\n")
    (folder / "config_sentence_transformers.json").write_text('{"model_type": "CrossEncoder"}\n')
    (folder / "sentence_bert_config.json").write_text('{"transformer_task": "feature-extraction"}\n')
    batch = padded(pairs, token_types=False)
    features = {"token_embeddings": backbone(**batch).last_hidden_state, "attention_mask": batch["attention_mask"]}
    for module in head:
        features = module(features)
    return {"full": features["scores"][:, 0].tolist()}


MODELS = {
    "bert": bert,
    "longformer": longformer,
    "roberta": roberta_like(transformers.RobertaConfig, transformers.RobertaForSequenceClassification),
    "xlm-roberta": roberta_like(transformers.XLMRobertaConfig, transformers.XLMRobertaForSequenceClassification),
    "electra": electra,
    "mono-electra": mono(transformers.ElectraModel, transformers.ElectraConfig, {"embedding_size": 20}),
    "mono-bert": mono(transformers.BertModel, transformers.BertConfig, {}),
    "set-encoder": set_encoder(interaction=False),
    "set-encoder-interaction": set_encoder(interaction=True),
    "modernbert": modern({}),
    "modernbert-older": modern({"classifier_pooling": "mean", "norm_bias": True, "attention_bias": True,
                                "mlp_bias": True, "classifier_bias": True, "local_attention": 20,
                                "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 8e4},
                                                    "sliding_attention": {"rope_type": "default",
                                                                          "rope_theta": 500.0}}},
                               older_layout=True),
    "modernbert-modules": modern_modules,
}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).parents[3] / "tests" / "golden" / "models")
    versions = {"torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__,
                "sentence-transformers": sentence_transformers.__version__}
    for name, make in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        some = pairs(MODERN_SIZES if name.startswith("modernbert") else SIZES)
        with torch.no_grad():
            scores = make(folder, some)
        cases = {"made_with": versions, "cls": CLS, "pairs": some, "scores": scores}
        (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
        print(name, {row: [round(score, 4) for score in values] for row, values in scores.items()})


if __name__ == "__main__":
    main()
