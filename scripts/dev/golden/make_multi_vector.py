#!/usr/bin/env python3
"""Makes late-interaction encoders like ColBERT with random weights, and the scores that their libraries compute.

    python scripts/dev/golden/make_multi_vector.py pylate tests/golden/checkpoints  # requirements-pylate.txt
    python scripts/dev/golden/make_multi_vector.py sentence-transformers tests/golden/checkpoints  # requirements.txt

Adds folders to those of make_checkpoints.py, which replaces all of them and must run first.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from make_checkpoints import HIDDEN, LONG, PAIRS, Folder, bert, byte_level, fill, modernbert, roberta, share, unigram, word_piece

TEXTS = PAIRS[:2] + [("the [Q] ferry [unused0]", "at [D] noon (the) {hour}, old [unused1] every [Q] hour!"),
                     ("\t old ferry  ", " at noon \n")] + LONG
BERT = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}


def dense(modules, *sizes):
    return fill(torch.nn.ModuleList([modules.Dense(*size, **fields) for size, fields in sizes]), 60)


def listed(folder, prefix, modules):
    """Writes modules.json and the folders that it lists; `prefix` is that of the classes' names."""
    entries = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, module in enumerate(modules, 1):
        kind = type(module).__name__
        path = folder.path / f"{number}_{kind}"
        path.mkdir()
        module.save(str(path))
        entries.append({"idx": number, "name": str(number), "path": path.name, "type": prefix[kind]})
    folder.write("modules.json", entries)


def with_markers(tokenizer, *markers):
    tokenizer.add_tokens(list(markers))
    return tokenizer


@torch.no_grad()
def by_pylate(folder):
    import pylate
    model = pylate.models.ColBERT(str(folder.path), device="cpu")
    scores = []
    for query, document in folder.pairs:
        q = model.encode([query], is_query=True, convert_to_tensor=True, show_progress_bar=False)[0]
        d = model.encode([document], is_query=False, convert_to_tensor=True, show_progress_bar=False)[0]
        scores.append((q @ d.T).max(1).values.sum().item())
    folder.cases(scores)


@torch.no_grad()
def by_multi_vector_encoder(folder):
    from sentence_transformers import MultiVectorEncoder
    model = MultiVectorEncoder(str(folder.path), device="cpu")
    folder.cases([model.similarity(model.encode_query([q]), model.encode_document([d])).item() for q, d in folder.pairs])


def pylate_folders(root):
    from pylate.models import Dense

    class modules:  # noqa: N801
        pass

    modules.Dense = Dense
    names = {"Dense": "pylate.models.Dense.Dense"}
    identity = {"bias": False, "activation_function": torch.nn.Identity()}

    def folder(name, model, tokenizer, config, settings, *sizes):
        made = Folder(root, "pylate-" + name, model, tokenizer, config, TEXTS)
        listed(made, names, dense(modules, *sizes))
        made.write("config_sentence_transformers.json", settings)
        made.write("sentence_bert_config.json", {"max_seq_length": 11, "do_lower_case": False})
        by_pylate(made)

    pieces = with_markers(word_piece(), "[Q] ", "[D] ")
    usual = {"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 12, "document_length": 20}
    folder("bert", bert(pieces, 1, transformers.BertModel), pieces, BERT,
           {"model_type": "ColBERT", **usual}, ((HIDDEN, 4), identity))
    folder("attend", bert(pieces, 1, transformers.BertModel), pieces, BERT,
           {**usual, "query_length": 16, "document_length": 48, "attend_to_expansion_tokens": True, "do_query_expansion": True,
            "skiplist_words": ["the", "ferry", "absent"], "prompts": {"find": "old: "}, "default_prompt_name": "find"},
           ((HIDDEN, 6), {"activation_function": torch.nn.GELU(), "use_residual": True}),
           ((6, 6), {"activation_function": torch.nn.Identity(), "use_residual": True}), ((6, 4), identity))
    plain = word_piece()
    folder("no-expansion", bert(plain, 1, transformers.BertModel), plain, BERT,
           {"query_prefix": "", "document_prefix": "", "query_length": 10, "document_length": 30, "do_query_expansion": False,
            "skiplist_words": []}, ((HIDDEN, 4), identity))
    bytes_ = with_markers(byte_level(), "[Q] ", "[D] ")
    folder("roberta", roberta(bytes_, 2, kind="Model"), bytes_, {}, {"model_type": "ColBERT", **usual}, ((HIDDEN, 4), identity))
    folder("modernbert", modernbert(pieces, 1, transformers.ModernBertModel, local_attention=24), pieces,
           {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]", "pad_token": "[PAD]", "unk_token": "[UNK]"},
           {"model_type": "ColBERT", **usual, "document_length": 60}, ((HIDDEN, 4), identity))
    # Expansions beyond the window of local layers, documents beyond the positions.
    folder("modernbert-long",
           modernbert(pieces, 1, transformers.ModernBertModel, local_attention=8, max_position_embeddings=24), pieces,
           {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]", "pad_token": "[PAD]", "unk_token": "[UNK]"},
           {**usual, "query_length": 26, "document_length": 60}, ((HIDDEN, 4), identity))

    marked = word_piece(extra=("[unused0]", "[unused1]"), letters="[]_,.:!?")
    stanford = Folder(root, "stanford-bert", bert(marked, 1, transformers.BertModel), marked, BERT, TEXTS)
    from safetensors.torch import load_file, save_file
    weights = {"bert." + name: tensor for name, tensor in load_file(stanford.path / "model.safetensors").items()}
    weights["linear.weight"] = dense(modules, ((HIDDEN, 4), identity))[0].linear.weight.detach().clone()
    save_file(weights, stanford.path / "model.safetensors", {"format": "pt"})
    config = json.loads((stanford.path / "config.json").read_text())
    stanford.write("config.json", {**config, "architectures": ["HF_ColBERT"]})
    stanford.write("artifact.metadata", {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 12,
                                         "doc_maxlen": 24, "mask_punctuation": True, "attend_to_mask_tokens": False,
                                         "similarity": "cosine", "dim": 4})
    by_pylate(stanford)


def encoder_folders(root):
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    class modules:  # noqa: N801
        pass

    modules.Dense = Dense
    names = {kind.__name__: f"{kind.__module__}.{kind.__name__}" for kind in (Dense, Normalize, MultiVectorMask)}
    of_tokens = {"bias": False, "activation_function": torch.nn.Identity(), "module_input_name": "token_embeddings"}

    def folder(name, model, tokenizer, config, settings, texts, modules_):
        made = Folder(root, "encoder-" + name, model, tokenizer, config, TEXTS)
        listed(made, names, modules_)
        made.write("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder", **settings})
        made.write("sentence_bert_config.json", {"transformer_task": "feature-extraction", **texts})
        by_multi_vector_encoder(made)

    pieces = with_markers(word_piece(), "[Q] ", "[D] ")
    body = bert(pieces, 1, transformers.BertModel)
    prompts = {"prompts": {"query": "[Q] ", "document": "[D] "}}
    fixed = {"document_length": 20, "query_expansion": {"strategy": "fixed", "attend": False, "token": None, "length": 12}}
    folder("fixed", body, pieces, BERT, prompts, fixed,
           [*dense(modules, ((HIDDEN, 4), of_tokens)), MultiVectorMask(skiplist_words=list("!,.;{}")),
            Normalize(module_input_name="token_embeddings")])
    folder("longer", body, pieces, BERT, {**prompts, "similarity_fn_name": "meanmaxsim"},
           {"query_length": 18, "max_seq_length": 40,
            "query_expansion": {"strategy": "min", "attend": True, "token": "[UNK]", "length": 14}},
           [*dense(modules, ((HIDDEN, HIDDEN), {**of_tokens, "use_residual": True}), ((HIDDEN, 4), of_tokens)),
            MultiVectorMask(skiplist_words=["the", "ferry"], skiplist_tasks=["query", "document"]),
            Normalize(module_input_name="token_embeddings")])
    grams = unigram()
    folder("unmasked", roberta(grams, 3, "XLMRoberta", "Model"), grams, {}, {"prompts": {"query": "find: ", "document": ""}},
           {"query_length": 12, "document_length": 24}, [*dense(modules, ((HIDDEN, 4), of_tokens))])
    mask = MultiVectorMask(skiplist_words=["the", "ferry"])
    mask.config_keys = ["skiplist_words"]  # tasks have their default
    folder("attend", body, pieces, BERT, prompts,
           {"max_seq_length": 40, "processor_kwargs": {"model_max_length": 24},
            "query_expansion": {"strategy": "fixed", "attend": True, "length": 12}},
           [*dense(modules, ((HIDDEN, 4), of_tokens)), Normalize(module_input_name="token_embeddings")])
    folder("defaults", body, pieces, BERT, prompts, {**fixed, "processing_kwargs": {"text": {"max_length": 16}}},
           [*dense(modules, ((HIDDEN, 4), of_tokens)), mask, Normalize(module_input_name="token_embeddings")])
    folder("kept", body, pieces, BERT, {"prompts": {}}, {**fixed, "document_length": None},
           [MultiVectorMask(keep_only_token_ids=[2, 3, *range(99, 104)]), Normalize()])


if __name__ == "__main__":
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    prefixes = {"pylate": ("pylate-", "stanford-"), "sentence-transformers": ("encoder-",)}[kind]
    for old in folder.iterdir():
        if old.name.startswith(prefixes):
            shutil.rmtree(old)
    torch.set_num_threads(1)
    (pylate_folders if kind == "pylate" else encoder_folders)(folder)
    share(folder)
