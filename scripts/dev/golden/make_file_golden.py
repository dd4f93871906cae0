#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes three more fixtures of tests/text/golden/tokenizers: make_file_golden.py [FOLDER]

  expressions.jsonl  a regular expression per line, with the CRC-32 of the words into which it splits the texts of
                     make_text_golden.py whose characters are below "below", and all code points (null: not tested);
                     "texts" is null if Hugging Face's `tokenizers` rejects the expression
  file_texts.jsonl   the texts of files.jsonl.gz, one per line
  files.jsonl.gz     a tokenizer.json per line, as text: the ids of the texts, and of the first two as a pair if there is
                     a post-processor; null if `tokenizers` rejects the file or the text, "panic" if it panics

Run it by hand in an environment of scripts/dev/golden/requirements.txt; the same versions write the same bytes.
"""
import json
import pathlib
import sys

import tokenizers
from make_text_golden import texts
from make_tokenizer_golden import code_point_texts, crc, write_lines
from tokenizers import Regex, Tokenizer, pre_tokenizers

# Character classes that are tested on every code point.
CLASSES = [r"\w", r"\h", r"\s", r"\d", r"[[:punct:]]", r"\p{L}", r"\p{M}", r"\p{N}", r"\p{P}", r"\p{S}", r"[\p{Lu}\p{Lt}]",
           r"[\p{Ll}\p{Lm}]", r"[\p{Lo}\p{Mc}\p{Mn}]", r"[\p{Nd}\p{Sm}]", r"[\p{So}\p{Po}]", r"[[:print:]]", r"\b"]
EXPRESSIONS = CLASSES + [
    r"\h+", r"\H+", r"\w+", r"\W+", r"\d+", r"\D+", r"\s+", r"\S+", r"\B", r"\R", r"\X", r"\O", r"\N+", r"\y", r"\K",
    r"^.", r".$", r"^", r"$", r"\A.", r".\Z", r".\z", r"(?m).+", r".+", r"(?m:^.+$)", r"(?i)[a-f]+",
    r"(?i:straße|ss|ſ|k)", '(?x: [a-z]+ # a comment\n )', r"(?W)\w+", r"(?D)\d+", r"(?S)\s+", r"(?P)[[:alpha:]]+",
    r"(?a)\w+", r"[[:punct:]]+", r"[[:alpha:]]+", r"[[:alnum:]]+", r"[[:space:]]+", r"[[:upper:]]+", r"[[:lower:]]+",
    r"[[:digit:]]+", r"[[:xdigit:]]+", r"[[:cntrl:]]+", r"[[:graph:]]+", r"[[:print:]]+", r"[[:blank:]]+",
    r"[[:word:]]+", r"[[:ascii:]]+", r"[[:^punct:]]+", r"\p{punct}+", r"\p{L}+", r"\P{L}+", r"\p{^L}+",
    r"\p{Lu}\p{Ll}*", r"\p{Lt}|\p{Lm}|\p{Lo}+", r"\p{M}+", r"\p{Mn}+|\p{Mc}+", r"\p{N}{1,3}", r"\p{Nd}+",
    r"\p{No}|\p{Nl}", r"\p{P}+", r"\p{Pd}|\p{Po}", r"\p{S}+", r"\p{Sc}|\p{Sm}|\p{Sk}", r"\p{So}+", r"\p{Z}+",
    r"\p{C}+", r"\p{Cf}", r"\p{Cn}+", r"\p{Letter}+", r"\p{Han}+", r"\p{Hiragana}|\p{Katakana}+", r"\p{Latin}+",
    r"\p{Greek}+", r"\p{Emoji}", r"\p{Alphabetic}+", r"\p{Uppercase}+", r"\p{ASCII}+", r"\p{Any}",
    r"\p{Script=Latin}+", r"[^\s\p{L}\p{N}]+", r"[\p{L}\p{M}]+", r"[a-z&&[^aeiou]]+", r"[\w&&\p{L}]+",
    r"[^[:space:][:punct:]]+", r"[]a]+", r"[a-]+", r"a++b|a+", r"(?>a|ab)c|b", r"[a-z]*+[a-z]|\d", r"(?<=a)b|(?<!a)b",
    r"(?=\s)", r"(?!\S)\s+", r"(\w)\1", r"(?<x>e)\k<x>", r"(?~ab)", r"(?<n>\((?:[^()]|\g<n>)*\))", r"(a)?(?(1)b|c)",
    r"x*", r"a{,2}", r"a{2,}", r"a{0}b", r"e??.", r"e+?.", r"\x{e9}|\x{4E2D}", r"\xC3\xA9", r"é", r"\u00e9", r"\101",
    r"\t|\n|\r|\f|\v|\a|\e", r"\Q.*\E", r"\G\w", r"(?#c)e", r"\cA|\C-a", r"a|b|", r"|a", r"(?:)", r"(?I)k",
    r"(?C)(e)", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[一-龥぀-ゟ゠-ヿ]+",
    '[!\\"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
    r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{N}(?=(?:\p{N}{3})*\b)", r"\r?\n", r"(?<![\p{L}])\p{L}", r" {2,}", r"(?{c})a",
    r"(", r"[", r"\p{Foo}", r"a**", r"*a", r"(?<=a+)b", r"(?z)a", r"[b-a]", r"\k<x>", r"a{100001}",
]


# The texts that the files below tokenize.
TEXTS = ["ab abc E\u00e9 -- 12 x", "a  b\tab\u0301 \u4e2d\u6587 [SEP]X <x>y", " Ab-c\n\u0130\u00df", "\u03b1\u3042\u30a2\u4e00 \u0440\u0661", "",
         "xX x  x", "zq"]
PIECES = ["[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "ab", "##b", "##c", "e", "E", "\u00e9", "-", "1", "2", "12", "x", "X",
          "\u0120", "\u0120a", "\u00c3", "\u00a9", "\u2581", "\u2581a", "_", "_a", " ", "<0xE4>", "<0xB8>", "<0xAD>", "b</w>", "ab</w>",
          "\u4e2d", "A", "y", ">", "<", "\u03b1", "\u3042", "<0x62>", "##ab", "##", "</w>", "a##b"]
IDS = {piece: number for number, piece in enumerate(PIECES)}
WORD_PIECE = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 4}
MERGES = [["a", "b"], ["\u0120", "a"], ["\u00c3", "\u00a9"], ["\u2581", "a"]]
BPE = {"type": "BPE", "vocab": {**IDS, "\u00c3\u00a9": 90}, "merges": MERGES}
UNIGRAM = [[piece, -1.0 - number / 8] for number, piece in enumerate(PIECES)]
BERT_RULES = {"clean_text": True, "handle_chinese_chars": True, "lowercase": False}


def added(content, number, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": False, **flags}


def file_of(model=None, normalizer=None, pre_tokenizer="WhitespaceSplit", tokens=(), **more):
    """The text of a tokenizer.json; without `model` it is WordPiece."""
    if isinstance(pre_tokenizer, str):
        pre_tokenizer = {"type": pre_tokenizer}
    if model is None:
        model = {"type": "WordPiece", **WORD_PIECE, "vocab": IDS}
    return json.dumps({"version": "1.0", "added_tokens": list(tokens), "normalizer": normalizer,
                       "pre_tokenizer": pre_tokenizer, "decoder": None, "model": model, **more})


def model_files():
    """Models, with and without fields that have a default."""
    untyped = {"vocab": IDS, **WORD_PIECE}
    yield file_of(untyped)
    for field in WORD_PIECE:
        yield file_of({name: value for name, value in untyped.items() if name != field})
        yield file_of({"type": "WordPiece", **{name: value for name, value in untyped.items() if name != field}})
        yield file_of({**untyped, "type": "WordPiece", field: None})
    yield file_of({**untyped, "type": "WordLevel"})
    yield file_of({"vocab": IDS, "unk_token": "[UNK]"})
    yield file_of({"vocab": IDS, "unk_token": "none"})
    yield file_of({"vocab": IDS})
    yield file_of({"vocab": IDS, "type": "WordLevel"})
    yield file_of({**untyped, "type": "Other"})
    yield file_of({**untyped, "type": None})
    yield file_of({**untyped, "unk_token": "none"})
    yield file_of({**untyped, "merges": MERGES})
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    for pre_tokenizer in ("WhitespaceSplit", byte_level):
        for fields in ({}, {"type": "BPE"}, {"dropout": None}, {"dropout": 0.0}, {"unk_token": None}, {"unk_token": "[UNK]"},
                       {"unk_token": "none"}, {"unk_token": "[UNK]", "fuse_unk": True}, {"unk_token": "[UNK]", "fuse_unk": None},
                       {"byte_fallback": True}, {"byte_fallback": None, "unk_token": "[UNK]"}, {"ignore_merges": True},
                       {"byte_fallback": True, "fuse_unk": True, "unk_token": "[UNK]"}, {"ignore_merges": None},
                       {"continuing_subword_prefix": "", "end_of_word_suffix": ""}, {"end_of_word_suffix": "</w>"},
                       {"continuing_subword_prefix": None, "end_of_word_suffix": None}, {"other": 1},
                       {"end_of_word_suffix": "</w>", "merges": ["a b</w>"], "unk_token": "[UNK]"},
                       {"end_of_word_suffix": "</w>", "byte_fallback": True, "merges": [], "unk_token": "[UNK]"},
                       {"continuing_subword_prefix": "##", "merges": [["a", "##b"]], "unk_token": "[UNK]"},
                       {"continuing_subword_prefix": "##", "merges": [["##", "##"]], "ignore_merges": True},
                       {"merges": ["#version: 0.2", "a b"]}, {"merges": ["a b c"]}, {"merges": ["a q"]}, {"merges": []},
                       {"merges": [["a", "b"], ["a", "b"]]}):
            model = {name: value for name, value in BPE.items() if name != "type"}
            yield file_of({**model, **fields}, pre_tokenizer=pre_tokenizer)
        yield file_of({"type": "WordLevel", "vocab": IDS, "unk_token": "[UNK]"}, pre_tokenizer=pre_tokenizer)
        yield file_of(pre_tokenizer=pre_tokenizer)
        yield file_of({"type": "Unigram", "vocab": UNIGRAM, "unk_id": 0}, pre_tokenizer=pre_tokenizer)
    for fields in ({}, {"type": "Unigram"}, {"unk_id": None}, {"unk_id": 0}, {"unk_id": 99}, {"unk_id": 0, "byte_fallback": True},
                   {"unk_id": 0, "byte_fallback": None}, {"unk_id": 0, "vocab": UNIGRAM + [["ab", -0.5], ["x", -30.0]]},
                   {"unk_id": 0, "vocab": UNIGRAM + [["", -0.5]]}, {"type": "Unigram", "vocab": IDS, "unk_id": 0}):
        yield file_of({"vocab": UNIGRAM, **fields})
    # If a piece occurs twice, the last one counts.
    whole = file_of()
    yield whole.replace('"a": 3', '"a": 3, "ab": 3, "x": 5, "a": 41')
    yield file_of(BPE).replace('"a": 3', '"a": 3, "a": 6, "x": 3')
    yield file_of({**untyped, "vocab": {**IDS, "": 77, "x": 3, "zq": 200}})


def added_files():
    """Added tokens: an id is the vocabulary's, or else the next one from the number of pieces on."""
    lower = {"type": "Lowercase"}
    for tokens in ([added("<x>", 9)], [added("<x>", 44), added("y", 44)], [added("<x>", 500), added("zq", 45)],
                   [added("a", 3), added("a", 9, lstrip=True)], [added("a", 9, rstrip=True)], [added("", 44), added("zq", 44)],
                   [added("zq", 44, other=1)], [added("zq", 44, special=True, lstrip=True), added("<x>", 45, rstrip=True)],
                   [added("x", 16, single_word=True), added("X", 17, normalized=True)], [added("zq", -1)], [added("zq", "a")],
                   [added("ab", 6, normalized=True)], [added("zq", 44), added("zq", 45, single_word=True), added("<x>", 44)]):
        yield file_of(tokens=tokens)
        yield file_of(BPE, tokens=tokens, normalizer=lower)
        yield file_of({"vocab": UNIGRAM + [["a", -1.0]], "unk_id": 0}, tokens=tokens)
    yield file_of({"type": "WordLevel", "vocab": {**IDS, "last": 100}, "unk_token": "[UNK]"}, tokens=[added("zq", 101)])
    yield file_of({"type": "WordLevel", "vocab": {**IDS, "b": 3}, "unk_token": "[UNK]"}, tokens=[added("a", 3), added("b", 3)])
    yield file_of(tokens=[added("X", 17, normalized=True), added("<x>", 44)], normalizer=lower)


def part_files():
    """Normalizers, pre-tokenizers, post-processors and decoders, with and without fields that have a default."""
    simple = [{"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel", "Strip",
                                          "Prepend", "Replace", "Sequence", "BertNormalizer", "Bert", "Precompiled", "Other")]
    first = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}
    for normalizer in simple + [
            {}, {"type": "NFC", "other": 1}, {"type": "Strip", "strip_left": True}, {"strip_left": True, "strip_right": False},
            {"type": "Other", "strip_left": False, "strip_right": True}, {"prepend": "a"}, {"type": "Prepend", "prepend": ""},
            {"type": "Sequence", "normalizers": []}, {"normalizers": [{"type": "Lowercase"}]}, {"type": "Lowercase2"},
            {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}, {"type": "BertNormalizer", **BERT_RULES},
            {"type": "Bert", **BERT_RULES, "strip_accents": True}, {"type": "BertNormalizer", **BERT_RULES, "strip_accents": None},
            {**BERT_RULES}, {**BERT_RULES, "type": "NFC"}, {"type": "Bert", "clean_text": True}, {"precompiled_charsmap": ""},
            {"type": "Precompiled", "precompiled_charsmap": None}, {"type": "Replace", "pattern": {"String": "a"}},
            {"type": "Replace", "pattern": "a", "content": "b"}, {"pattern": {"String": "a"}, "content": "$0b"},
            {"type": "Replace", "pattern": {"String": ""}, "content": "a"}, {"type": "Replace", "pattern": {"Regex": ""}, "content": "a"},
            {"type": "Replace", "pattern": {"Regex": "(a)(b)"}, "content": "$2\\1"}, {"type": "Replace", "pattern": {"Regex": "("}, "content": "a"},
            {"type": "Replace", "pattern": {"String": "a", "Regex": "b"}, "content": "c"}, {"type": "Replace", "pattern": {}, "content": "c"},
            {"type": "Replace", "pattern": {"Regex": "^"}, "content": "a"}, {"type": "Replace", "pattern": {"Regex": r"\s+$"}, "content": ""}]:
        yield file_of(normalizer=normalizer)
    for text, content in (("ab", "X"), ("a", "X"), ("a", ""), ("ab", ""), ("ab", "XX"), (" ", "_"), (" a", "b"), ("", "")):
        yield file_of({**BPE, "unk_token": "[UNK]"}, {"type": "Replace", "pattern": {"String": text}, "content": content}, first)
    yield file_of({**BPE, "unk_token": "[UNK]"}, {"type": "Nmt"}, first)
    yield file_of({**BPE, "unk_token": "[UNK]"}, {"type": "ByteLevel"}, None)
    simple = [{"type": name} for name in ("WhitespaceSplit", "Whitespace", "BertPreTokenizer", "Punctuation", "UnicodeScripts", "Digits",
                                          "Split", "ByteLevel", "Metaspace", "FixedLength", "CharDelimiterSplit", "Sequence", "Other")]
    split = {"type": "Split", "pattern": {"String": "b"}, "behavior": "Isolated", "invert": False}
    meta = {"type": "Metaspace", "replacement": "_"}
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    for pre_tokenizer in simple + [
            {}, None, {"type": "Whitespace", "other": 1}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Punctuation", "behavior": None},
            {"type": "Punctuation", "behavior": "MergedWithNext"}, {"type": "Punctuation", "behavior": "isolated"}, split,
            {**split, "invert": True}, {**split, "behavior": "Removed"}, {**split, "behavior": "MergedWithPrevious"}, {"pattern": {"String": "b"}},
            {**split, "behavior": "Other"}, {**split, "pattern": {"String": ""}}, {**split, "pattern": {"Regex": ""}}, {**split, "pattern": "b"},
            {name: value for name, value in split.items() if name != "invert"}, {name: value for name, value in split.items() if name != "behavior"},
            {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False}, {"type": "Delimiter", "delimiter": "b"},
            {"type": "CharDelimiterSplit", "delimiter": "b"}, {"type": "CharDelimiterSplit", "delimiter": "bc"}, {"type": "FixedLength", "length": 2},
            {"type": "CharDelimiterSplit", "delimiter": "\u4e2d"}, {"type": "FixedLength", "length": None}, {"type": "FixedLength", "length": -1},
            {"replacement": "_"}, {"type": "Metaspace", "replacement": "__"}, meta, {**meta, "split": None}, {**meta, "split": False},
            {**meta, "prepend_scheme": None}, {**meta, "prepend_scheme": "never"}, {**meta, "prepend_scheme": "first"}, {**meta, "prepend_scheme": "other"},
            {**meta, "add_prefix_space": False}, {**meta, "add_prefix_space": True, "prepend_scheme": "never"}, {**meta, "add_prefix_space": None},
            {**meta, "add_prefix_space": False, "prepend_scheme": "never"}, {**meta, "str_rep": "x"}, byte_level, {**byte_level, "use_regex": False},
            {**byte_level, "use_regex": None}, {"type": "ByteLevel", "trim_offsets": False}, {"type": "Sequence", "pretokenizers": []},
            {"type": "Sequence", "pretokenizers": [None]}, {"type": "Sequence", "pretokenizers": [byte_level, {"type": "Punctuation"}]},
            {"type": "Sequence", "pretokenizers": [byte_level, byte_level]}, {"type": "Sequence", "pretokenizers": [byte_level, meta]},
            {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, meta, {"type": "UnicodeScripts"}]},
            {"type": "Sequence", "pretokenizers": [meta, {**meta, "replacement": "a"}]},
            {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": [split]}, {"type": "FixedLength", "length": 1}]}]:
        yield file_of({**BPE, "unk_token": "[UNK]"}, pre_tokenizer=pre_tokenizer)
    bert = {"sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    roberta = {**bert, "trim_offsets": True, "add_prefix_space": False}
    piece, text = (lambda name, type_id: {"SpecialToken": {"id": name, "type_id": type_id}}), (lambda name, type_id: {
        "Sequence": {"id": name, "type_id": type_id}})
    template = {"single": [piece("[CLS]", 0), text("A", 0), piece("[SEP]", 0)],
                "pair": [piece("[CLS]", 0), text("A", 0), piece("[SEP]", 0), text("B", 1), piece("[SEP]", 1)],
                "special_tokens": {name: {"id": name, "ids": [IDS[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}}
    for processor in (
            {"type": "BertProcessing", **bert}, bert, {"type": "BertProcessing", **roberta}, {"type": "RobertaProcessing", **roberta}, roberta,
            {"type": "RobertaProcessing", **bert}, {"type": "Other", **bert}, {"type": "TemplateProcessing", **template}, template,
            {"type": "Other"}, {"type": "BertProcessing", "sep": ["[SEP]", 2]},
            {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}, template]}):
        yield file_of(post_processor=processor)
    for decoder in ({"type": "WordPiece", "prefix": "##", "cleanup": True}, {"prefix": "##", "cleanup": True}, {"type": "Other"}):
        yield file_of(decoder=decoder)
    yield file_of(version="2.0")
    yield file_of(other=1)
    for field in ("version", "added_tokens", "normalizer", "pre_tokenizer", "model"):
        yield json.dumps({name: value for name, value in json.loads(file_of()).items() if name != field})


def files():
    yield from model_files()
    yield from added_files()
    yield from part_files()


def ids_of(encode):
    try:
        return encode().ids
    except Exception:
        return None
    except BaseException:  # Rust panics
        return "panic"


def file_line(text):
    """A file, the ids of the texts without special tokens, and the ids of a pair if it has a post-processor."""
    try:
        tokenizer = Tokenizer.from_str(text)
    except BaseException:
        return json.dumps({"file": text, "ids": None, "pair": None})
    pair = '"post_processor"' in text
    return json.dumps({
        "file": text,
        "ids": [ids_of(lambda some=some: tokenizer.encode(some, add_special_tokens=False)) for some in TEXTS],
        "pair": ids_of(lambda: tokenizer.encode(*TEXTS[:2])) if pair else None})


# Older releases of Oniguruma lack later characters of these classes: only texts without them count.
OF_LATER_UNICODE = [r"\X", r"\y", r"[[:alpha:]]+", r"[[:alnum:]]+", r"[[:lower:]]+", r"\p{Alphabetic}+", r"\p{Emoji}", r"\p{Han}+",
                    r"\p{Latin}+"]
OLD = 0x300  # no character below this has changed


def expression_line(expression, all_texts):
    try:
        splitter = pre_tokenizers.Split(Regex(expression), "isolated")
    except Exception:
        return json.dumps({"regex": expression, "texts": None, "code_points": None})

    def words(some):
        return crc(line for text in some for line in [word for word, _ in splitter.pre_tokenize_str(text)] + [""])
    below = OLD if expression in OF_LATER_UNICODE else 0x110000
    some = [text for text in all_texts if all(ord(c) < below for c in text)]
    return json.dumps({"regex": expression, "below": below, "texts": words(some),
                       "code_points": words(code_point_texts()) if expression in CLASSES else None})


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/text/golden/tokenizers")
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    all_texts = texts()
    write_lines(folder / "expressions.jsonl", (expression_line(expression, all_texts) for expression in EXPRESSIONS))
    write_lines(folder / "file_texts.jsonl", map(json.dumps, TEXTS))
    write_lines(folder / "files.jsonl.gz", map(file_line, files()))


if __name__ == "__main__":
    main()
