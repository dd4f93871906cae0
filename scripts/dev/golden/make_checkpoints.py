#!/usr/bin/env python3
"""Makes checkpoint folders of common layouts, with the scores that transformers and sentence-transformers compute.

    python scripts/dev/golden/make_checkpoints.py tests/golden/checkpoints

Each folder is a checkpoint with random weights and a tokenizer of a few words. cases.json has pairs
of texts, the ids of their tokens if the library returns them, and the raw scores in float32.
"""

import json
import os
import pathlib
import shutil
import sys

import numpy
import tokenizers
import torch
import transformers
from tokenizers import models, normalizers, pre_tokenizers, processors

HIDDEN = 8
WORDS = "the ferry leaves harbour at noon and every hour after Ferry Café café naïve old".split()
LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("CFN.,?!:'0123456789") + ["é", "ï"]
PAIRS = [
    ("when does the ferry leave", "The ferry leaves the harbour at noon and every hour after."),
    ("old Café", "naïve: the café at noon, 3 hours"),
    ("harbour", ""),
    ("the [SEP] ferry", "at [MASK] noon <mask> the <pad> hour"),
]
LONG = [("when does the ferry leave the old harbour at noon", "the ferry leaves " * 12),
        ("the ferry leaves the harbour at noon " * 5, "every hour"),
        ("the ferry " * 10, "at noon " * 10)]


def fill(model, seed):
    """Draws all weights from a normal distribution, in alphabetical order of their names."""
    generator = numpy.random.default_rng(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            numbers = generator.normal(0, 0.4 if weight.dim() > 1 else 0.15, tuple(weight.shape))
            weight.copy_(torch.tensor(numbers) + (1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0))
    return model.float().eval()


def word_piece(lowercase=True, types=(0, 1), extra=(), letters=""):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = LETTERS + [c for c in letters if c not in LETTERS]
    pieces = dict.fromkeys(specials + known + ["##" + c for c in known] + WORDS + list(extra))
    made = tokenizers.Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(specials)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=f"[CLS] $A [SEP] $B:{types[1]} [SEP]:{types[1]}",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def byte_level():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {p: i for i, p in enumerate(specials + sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    for word in WORDS:
        for begin in ("\u0120", ""):
            left = begin + word[0] if begin else word[0]
            if begin and left not in vocabulary:
                vocabulary[left] = len(vocabulary)
                merges.append((begin, word[0]))
            for letter in word[1:]:
                if letter not in vocabulary or left not in vocabulary:
                    break
                if left + letter not in vocabulary:
                    vocabulary[left + letter] = len(vocabulary)
                    merges.append((left, letter))
                left += letter
    made = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([tokenizers.AddedToken(s, lstrip=s == "<mask>", special=True) for s in specials])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def unigram():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    texts = dict.fromkeys(["\u2581"] + LETTERS + ["\u2581" + w for w in WORDS] + WORDS)
    pieces = [(s, 0.0) for s in specials] + [(t, -2.0 - 0.02 * i - (4 if len(t) == 1 else 0)) for i, t in enumerate(texts)]
    made = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.add_special_tokens([tokenizers.AddedToken(s, special=True) for s in specials])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return made


SIZES = dict(hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def bert(tokenizer, seed, kind=transformers.BertForSequenceClassification, **fields):
    config = transformers.BertConfig(**{**SIZES, "vocab_size": tokenizer.get_vocab_size(), "num_labels": 1,
                                        "max_position_embeddings": 96, **fields})
    return fill(kind(config), seed)


def roberta(tokenizer, seed, name="Roberta", kind="ForSequenceClassification", **fields):
    config = getattr(transformers, name + "Config")(**{
        **SIZES, "vocab_size": tokenizer.get_vocab_size(), "num_labels": 1, "max_position_embeddings": 98,
        "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, **fields})
    return fill(getattr(transformers, name + kind)(config), seed)


def longformer(tokenizer, windows):
    config = transformers.LongformerConfig(**{
        **SIZES, "vocab_size": tokenizer.get_vocab_size(), "num_labels": 1, "max_position_embeddings": 130,
        "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "sep_token_id": 2,
        "attention_window": windows})
    return fill(transformers.LongformerForSequenceClassification(config), 5)


def distilbert(tokenizer, seed):
    return fill(transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
        vocab_size=tokenizer.get_vocab_size(), dim=HIDDEN, n_layers=2, n_heads=2, hidden_dim=12, num_labels=1,
        max_position_embeddings=96)), seed)


def modernbert(tokenizer, seed, kind=transformers.ModernBertForSequenceClassification, **fields):
    return fill(kind(transformers.ModernBertConfig(**{
        "vocab_size": tokenizer.get_vocab_size(), "hidden_size": HIDDEN, "intermediate_size": 12, "num_hidden_layers": 3,
        "num_attention_heads": 2, "max_position_embeddings": 128, "num_labels": 1, "pad_token_id": 0,
        "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3, "local_attention": 8,
        "attn_implementation": "eager", **fields})), seed)


class Folder:
    """A folder of tests/golden/checkpoints: its model and files, then its cases."""

    def __init__(self, root, name, model, tokenizer, config=None, pairs=PAIRS):
        self.path, self.pairs = root / name, pairs
        self.path.mkdir(parents=True)
        model.save_pretrained(self.path)
        if tokenizer is not None:
            tokenizer.save(str(self.path / "tokenizer.json"))
        if config is not None:
            self.write("tokenizer_config.json", config)

    def write(self, name, value):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")

    def cases(self, scores, ids=None, **more):
        self.write("cases.json", {"pairs": self.pairs, "scores": scores, **({"ids": ids} if ids else {}), **more})

    @torch.no_grad()
    def by_transformers(self, choose=lambda logits: logits[0], **more):
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.path)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(self.path, dtype=torch.float32).eval()
        limit = {"truncation": True, "max_length": min(tokenizer.model_max_length, 96)}
        encoded = [tokenizer([q], [d], return_tensors="pt", **limit) for q, d in self.pairs]
        self.cases([choose(model(**e).logits[0]).item() for e in encoded],
                   [e["input_ids"][0].tolist() for e in encoded], **more)

    def by_cross_encoder(self, choose=float, **more):
        from sentence_transformers import CrossEncoder
        model = CrossEncoder(str(self.path), activation_fn=torch.nn.Identity(), device="cpu")
        self.cases([float(choose(model.predict([pair])[0])) for pair in self.pairs], **more)


def with_modules(root, name, encoder, tokenizer, config, modules, sentence=None, pairs=PAIRS):
    folder = Folder(root, name, encoder, tokenizer, config, pairs)
    kinds = "sentence_transformers.models."
    listed = [{"idx": 0, "name": "0", "path": "", "type": kinds + "Transformer"}]
    for number, module in enumerate(modules, 1):
        kind = type(module).__name__
        if kind != "Normalize":
            (folder.path / f"{number}_{kind}").mkdir()
            module.save(str(folder.path / f"{number}_{kind}"))
        listed.append({"idx": number, "name": str(number), "path": f"{number}_{kind}", "type": kinds + kind})
    folder.write("modules.json", listed)
    folder.write("config_sentence_transformers.json", {"model_type": "CrossEncoder", **(sentence or {})})
    folder.write("sentence_bert_config.json", {"transformer_task": "feature-extraction"})
    return folder


def make(root):
    from sentence_transformers.sentence_transformer import modules
    pieces, bytes_, grams = word_piece(), byte_level(), unigram()
    both = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}

    # The tokenizer's class and its fields.
    Folder(root, "bert-tokenizer-json-alone", bert(pieces, 1), word_piece(lowercase=False)).by_transformers()
    Folder(root, "bert-cased", bert(pieces, 1), pieces,
           {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True}).by_transformers()
    Folder(root, "bert-generic", bert(pieces, 1), pieces, {"tokenizer_class": "PreTrainedTokenizerFast"}).by_transformers()
    Folder(root, "bert-generic-types", bert(pieces, 1), pieces,
           {"tokenizer_class": "PreTrainedTokenizerFast", **both}).by_transformers()
    Folder(root, "bert-limit", bert(pieces, 1), pieces,
           {"tokenizer_class": "BertTokenizer", "model_max_length": 24}, LONG).by_transformers()
    Folder(root, "bert-limit-left", bert(pieces, 1), pieces,
           {"tokenizer_class": "BertTokenizer", "model_max_length": 24, "truncation_side": "left"}, LONG).by_transformers()
    one_type = Folder(root, "bert-one-type", bert(pieces, 1, type_vocab_size=1), pieces,
                      {"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids", "attention_mask"]})
    one_type.by_transformers()
    vocabulary = Folder(root, "bert-vocabulary", bert(pieces, 1), None, {"do_lower_case": True, "tokenize_chinese_chars": False})
    lines = [piece for piece, _ in sorted(pieces.get_vocab().items(), key=lambda entry: entry[1])]
    lines[lines.index("old")] = "harbour"  # twice: the last line counts
    vocabulary.write("vocab.txt", "\n".join(lines) + "\n")
    vocabulary.write("special_tokens_map.json", {"mask_token": {"content": "[MASK]", "lstrip": True, "rstrip": False,
                                                                "single_word": False, "normalized": False},
                                                 "additional_special_tokens": ["noon"]})
    vocabulary.by_transformers()
    decoder = Folder(root, "bert-added-tokens", bert(pieces, 1), pieces,
                     {"tokenizer_class": "BertTokenizer", "added_tokens_decoder": {
                         str(i): {"content": c, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
                                  "special": True} for c, i in (("[PAD]", 0), ("[UNK]", 1), ("[CLS]", 2), ("[SEP]", 3),
                                                                ("e", pieces.token_to_id("e")))}})
    decoder.by_transformers()
    Folder(root, "bert-split-special", bert(pieces, 1), pieces,
           {"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": True}).by_transformers()
    Folder(root, "roberta-prefix-space", roberta(bytes_, 2), bytes_, {"add_prefix_space": True}).by_transformers()
    Folder(root, "roberta-padding-in-text", roberta(bytes_, 2), bytes_, {}).by_transformers()
    Folder(root, "xlm-roberta", roberta(grams, 3, "XLMRoberta"), grams, {}).by_transformers()
    Folder(root, "distilbert", distilbert(pieces, 1), pieces,
           {"tokenizer_class": "DistilBertTokenizer", "model_input_names": ["input_ids", "attention_mask"]}).by_transformers()
    Folder(root, "modernbert-mean", modernbert(pieces, 1, classifier_pooling="mean"), pieces, {}).by_transformers()

    Folder(root, "longformer", longformer(bytes_, 4), bytes_, {}, PAIRS + LONG).by_transformers()
    Folder(root, "longformer-windows", longformer(bytes_, [4, 8]), bytes_, {}, PAIRS + LONG).by_transformers()

    # Labels.
    two = Folder(root, "bert-two-labels", bert(pieces, 1, num_labels=2), pieces, {"tokenizer_class": "BertTokenizer"})
    two.by_transformers(lambda logits: logits[1] - logits[0], label="1-0")
    soft = Folder(root, "bert-log-softmax", bert(pieces, 1, num_labels=3), pieces, {"tokenizer_class": "BertTokenizer"})
    soft.by_transformers(lambda logits: logits.log_softmax(0)[2], label="log-softmax-2")

    # The files of sentence-transformers.
    def head(*poolings, dense=()):
        width = HIDDEN * len(poolings)
        return [modules.Pooling(HIDDEN, poolings), *dense,
                modules.Dense(width, 1, activation_function=torch.nn.Identity(), module_output_name="scores")]

    stacks = {
        "modules-weighted-max": head("weightedmean", "max"),
        "modules-cls-last": head("cls", "lasttoken"),
        "modules-mean": head("mean", dense=(modules.Dense(HIDDEN, HIDDEN, use_residual=True),
                                            modules.LayerNorm(HIDDEN), modules.Normalize())),
        "modules-root": [modules.Pooling(HIDDEN, "mean_sqrt_len_tokens"),
                         modules.Dense(HIDDEN, 6, activation_function=torch.nn.SiLU(), use_residual=True),
                         modules.Dense(6, 1, bias=False, activation_function=torch.nn.Identity(),
                                       module_output_name="scores")],
    }
    for number, (name, stack) in enumerate(stacks.items()):
        fill(torch.nn.ModuleList(stack), 30 + number)
        with_modules(root, name, bert(pieces, 1, transformers.BertModel), pieces,
                     {"tokenizer_class": "BertTokenizer"}, stack).by_cross_encoder()
    stack = head("mean")
    fill(torch.nn.ModuleList(stack), 40)
    with_modules(root, "modules-roberta", roberta(bytes_, 2, kind="Model"), bytes_, {}, stack).by_cross_encoder()
    stack = head("cls", dense=(modules.Dense(HIDDEN, HIDDEN, activation_function=torch.nn.GELU()),))
    fill(torch.nn.ModuleList(stack), 41)
    with_modules(root, "modules-modernbert", modernbert(pieces, 1, transformers.ModernBertModel), pieces, {"pad_token": "[PAD]", **both},
                 stack).by_cross_encoder()
    stack = [modules.Pooling(HIDDEN, "cls"),
             modules.Dense(HIDDEN, 2, activation_function=torch.nn.Identity(), module_output_name="scores")]
    fill(torch.nn.ModuleList(stack), 43)
    with_modules(root, "modules-two-labels", bert(pieces, 1, transformers.BertModel), pieces,
                 {"tokenizer_class": "BertTokenizer"}, stack).by_cross_encoder(lambda logits: logits[1] - logits[0],
                                                                               label="1-0")
    stack = head("mean")
    stack[0].include_prompt = False
    fill(torch.nn.ModuleList(stack), 42)
    with_modules(root, "modules-without-prompt", bert(pieces, 1, transformers.BertModel), pieces,
                 {"tokenizer_class": "BertTokenizer"}, stack,
                 {"prompts": {"q": "every hour: "}, "default_prompt_name": "q"}).by_cross_encoder()
    prompted = Folder(root, "prompt-and-limit", bert(pieces, 1), pieces, {"tokenizer_class": "BertTokenizer"}, LONG)
    prompted.write("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}])
    prompted.write("sentence_bert_config.json", {"transformer_task": "sequence-classification", "max_seq_length": 30,
                                                 "do_lower_case": True})
    prompted.write("config_sentence_transformers.json", {"model_type": "CrossEncoder", "prompts": {"find": "old: "},
                                                         "default_prompt_name": "find"})
    prompted.by_cross_encoder()
    ignored = Folder(root, "modules-ignored", bert(pieces, 1), pieces, {"tokenizer_class": "BertTokenizer"})
    ignored.write("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}])
    ignored.write("sentence_bert_config.json", {"max_seq_length": 12})
    ignored.by_cross_encoder()


def share(root):
    """Replaces equal files by links to the first one."""
    first = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size > 2000:
            known = first.setdefault(path.read_bytes(), path)
            if known != path:
                path.unlink()
                path.symlink_to(os.path.relpath(known, path.parent))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    torch.set_num_threads(1)
    make(folder)
    share(folder)
