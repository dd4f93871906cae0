#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/text/golden/tokenizers: make_tokenizer_golden.py [FOLDER]

They have small tokenizers of the kinds that re-rankers use, trained here, and the results of Hugging Face's
`tokenizers` for the texts and pairs of make_text_golden.py:

  NAME.json    a tokenizer.json
  NAME.sums    a line "text CRC" for each text of texts.jsonl: the CRC-32 of its ids, in decimal and separated by spaces,
               without special tokens; a line "pair CRC" for each pair of pairs.jsonl, of the document's token type and
all ids, or "pair -" if the limit is too small; a line "code-points CRC" for every 4096 code points, of the
               ids of all their "A?b ? " in one text
  parts.jsonl  a normalizer or pre-tokenizer per line, with its results for all texts, and for all code points (null: not
               tested), as CRC-32s of lines

Run it by hand in an environment of scripts/dev/golden/requirements.txt; the same versions write the same bytes.
"""
import io
import json
import pathlib
import sys
import tempfile
import zlib

import sentencepiece
import tokenizers
from make_text_golden import SENTENCES, pairs, texts
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram
from tokenizers.trainers import BpeTrainer

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def trained_bytes(all_texts, splitter, normalizer=None, size=1500, special=()):
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = splitter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(all_texts, BpeTrainer(vocab_size=size, initial_alphabet=BYTES, show_progress=False,
                                                        special_tokens=list(special)))
    return tokenizer


def roberta(all_texts):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = trained_bytes(all_texts, pre_tokenizers.ByteLevel(add_prefix_space=False), special=special)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def modern(all_texts):
    """ModernBERT's kind: NFC, and runs of spaces and other tokens after the vocabulary."""
    tokenizer = trained_bytes(all_texts, pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC(),
                              special=["[UNK]", "[PAD]"])
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    tokenizer.add_tokens([AddedToken("|||EMAIL|||", normalized=True), AddedToken("É", normalized=True),
                          AddedToken("word", single_word=True), AddedToken("ing", single_word=True, normalized=False)])
    tokenizer.add_special_tokens([AddedToken("[CLS]", special=True), AddedToken("[SEP]", rstrip=True, special=True),
                                  AddedToken("[MASK]", lstrip=True, special=True)])
    ids = {name: tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]")}
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                      special_tokens=list(ids.items()))])
    return tokenizer


def split(all_texts):
    """Split by another expression, as in larger models; whole words precede merges; merges are lists."""
    expression = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                  r"|\s*[\r\n]+|\s+(?!\S)|\s+")
    splitter = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)])
    tokenizer = trained_bytes(all_texts, splitter, normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()]),
                              size=1000, special=["[CLS]", "[SEP]"])
    tokenizer.model.ignore_merges = True
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 1), ("[CLS]", 0))
    return tokenizer


def characters():
    """BPE of characters over the whole text; what is in no piece becomes bytes, or one unknown token."""
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trained = Tokenizer(BPE())
    trained.normalizer = normalizers.Sequence([normalizer, normalizers.Replace("▁", " ▁")])
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    european = [text for text in SENTENCES if max(map(ord, text), default=0) < 0x500]
    trained.train_from_iterator(european, BpeTrainer(vocab_size=1000, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(0xF0)]
    pieces = {piece: number for number, piece in enumerate(special + list(model["vocab"]))}
    tokenizer = Tokenizer(BPE(pieces, [tuple(merge) for merge in model["merges"]], unk_token="<unk>", fuse_unk=True,
                              byte_fallback=True))
    tokenizer.normalizer = normalizer
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in special[:3]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


def sentence_pieces(rules, all_texts=SENTENCES, size=2200):
    """Pieces with scores, and SentencePiece's table of normalizations, which every model trained by it has."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for text in all_texts if text.strip() and "\0" not in text] * 2),
        model_writer=model, vocab_size=size, character_coverage=0.98, model_type="unigram", num_threads=1,
        minloglevel=2, hard_vocab_limit=False, **rules)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(3, processor.get_piece_size())]
    return pieces, charsmap(model.getvalue())


def own_table():
    """A table of other rules: sequences of characters, and characters that are removed."""
    rules = ["41 301\t61", "E9\t65", "65 301\t65", "3A3\t3C3", "66 66 69\tFB03", "AD\t", "200B\t20", "A\t20",
             "4E2D 6587\t6587 4E2D", "1F600\t3A 29"]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write("".join(f"{rule}\n" for rule in rules))
        file.flush()
        return sentence_pieces({"normalization_rule_tsv": file.name})


def fields(message):
    """Number and value of the length-delimited fields of a protocol buffer message."""
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
    at = 0
    while at < len(message):
        key, at = varint(at)
        if key & 7 == 2:
            size, at = varint(at)
            yield key >> 3, message[at:at + size]
            at += size
        elif key & 7 == 0:
            _, at = varint(at)
        else:
            at += 8 if key & 7 == 1 else 4


def charsmap(model):
    normalizer = dict(fields(model))[3]
    return dict(fields(normalizer))[2]


def xlm_roberta(pieces, table):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(Unigram([(name, 0.0) for name in special] + pieces, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(table), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in special])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def metaspace(pieces, table):
    """The kind of newer files: the whole text is one word; what is in no piece becomes bytes."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    listed = [(name, 0.0) for name in special] + [(f"<0x{byte:02X}>", -20.0) for byte in range(256)] + pieces[:900]
    tokenizer = Tokenizer(Unigram(listed, unk_id=3, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Strip(left=False, right=True), normalizers.Precompiled(table),
        normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in special])
    tokenizer.add_tokens([AddedToken("ΟΣ", normalized=True, rstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def crc(lines):
    return f"{zlib.crc32(chr(10).join(lines).encode()):08x}"


def around(c):
    return f"A{chr(c)}b {chr(c)} "


def code_point_texts():
    for block in range(0, 0x110000, 0x1000):
        yield "".join(around(c) for c in range(block, block + 0x1000) if not 0xD800 <= c < 0xE000)


def ids_line(ids):
    return " ".join(map(str, ids))


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def sums(tokenizer, all_texts, with_code_points):
    def of(text):
        return crc([ids_line(tokenizer.encode(text, add_special_tokens=False).ids)])
    for text in all_texts:
        yield f"text {of(text)}"
    for pair in pairs(tokenizer):
        yield f"pair {crc([str(pair['types'][-1]), ids_line(pair['ids'])])}"
    tokenizer.no_truncation()
    for text in code_point_texts() if with_code_points else ():
        yield f"code-points {of(text)}"


def write_tokenizer(folder, name, tokenizer, all_texts):
    content = json.loads(tokenizer.to_str())
    if name == "modern":  # as strings "a b", as in older files
        content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
    content["padding"] = {"strategy": {"Fixed": 8000}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                       "pad_type_id": 0, "pad_token": "x"}
    (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")))
    read = Tokenizer.from_file(str(folder / f"{name}.json"))
    read.no_padding()
    # \\p{L} in an expression depends on the Unicode version of the engine.
    write_lines(folder / f"{name}.sums", sums(read, all_texts, name != "split"))
    print(f"{name}: {read.get_vocab_size()} pieces")


def parts():
    """Normalizers and pre-tokenizers one by one, and whether they are tested on all code points."""
    for form in (normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(),
                 normalizers.StripAccents(), normalizers.BertNormalizer()):
        yield form, True
    for normalizer in (
            normalizers.Strip(), normalizers.Strip(left=True, right=False), normalizers.Strip(left=False, right=True),
            normalizers.Replace("e", "--"), normalizers.Replace(Regex(r"\s+"), "_"), normalizers.Prepend("▁"),
            normalizers.BertNormalizer(clean_text=False, lowercase=False),
            normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False)):
        yield normalizer, False
    for splitter in (pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True),
                     pre_tokenizers.Digits(False), pre_tokenizers.BertPreTokenizer()):
        yield splitter, True
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        yield pre_tokenizers.Split("e", behavior), False
        yield pre_tokenizers.Split(Regex(r"[a-z]+|\p{L}|(?=\s)"), behavior, invert=True), False
        yield pre_tokenizers.Punctuation(behavior), False
    for splitter in (pre_tokenizers.Metaspace(), pre_tokenizers.Metaspace(prepend_scheme="never"),
                     pre_tokenizers.Metaspace("_", "first", False),
                     pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), pre_tokenizers.Metaspace()])):
        yield splitter, False


def part_line(part, with_code_points, all_texts):
    cuts = hasattr(part, "pre_tokenize_str")

    def lines_of(some):
        for text in some:
            yield from [word for word, _ in part.pre_tokenize_str(text)] + [""] if cuts else [part.normalize_str(text)]
    content = json.loads(part.__getstate__())
    return json.dumps({"json": content, "cuts": cuts, "texts": crc(lines_of(all_texts)),
                       "code_points": crc(lines_of(code_point_texts())) if with_code_points else None})


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/text/golden/tokenizers")
    folder.mkdir(parents=True, exist_ok=True)
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    assert sentencepiece.__version__ == "0.2.3", sentencepiece.__version__
    all_texts = texts()
    for name, tokenizer in (("roberta", roberta(all_texts)), ("modern", modern(all_texts)), ("split", split(all_texts)),
                            ("characters", characters()),
                            ("xlm-roberta", xlm_roberta(*sentence_pieces({"normalization_rule_name": "nmt_nfkc"}))),
                            ("metaspace", metaspace(*own_table()))):
        write_tokenizer(folder, name, tokenizer, all_texts)
    write_lines(folder / "parts.jsonl", (part_line(part, every, all_texts) for part, every in parts()))


if __name__ == "__main__":
    main()
