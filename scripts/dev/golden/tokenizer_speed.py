#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of AttnScope's tokenizers with Hugging Face's: tokenizer_speed.py [FILE...]

Both read the same tokenizer.json (WordPiece, byte-level BPE and Unigram, trained on the texts) and tokenize the same
texts in turn on one thread: pieces of 30 to 190 words of the files, by default docs/*.md. The result is the smallest
processor time of several rounds; the ids must be equal. Build the program first:

    ninja -C build/release attnscope_tokenizer_speed

Run it in an environment of scripts/dev/golden/requirements.txt.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before the library is imported
from make_tokenizer_golden import sentence_pieces, trained_bytes, xlm_roberta  # noqa: E402
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors  # noqa: E402
from tokenizers.models import WordPiece  # noqa: E402
from tokenizers.trainers import WordPieceTrainer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROUNDS, TURNS = 5, 3


def stretches(files):
    draw, texts = random.Random(1), []
    for file in files:
        words = pathlib.Path(file).read_text().split()
        while words:
            size = draw.randint(30, 190)
            texts.append(" ".join(words[:size]))
            words = words[size:]
    return texts


def word_piece(texts):
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(texts, WordPieceTrainer(
        vocab_size=30000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def byte_pairs(texts):
    tokenizer = trained_bytes(texts, pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC(), size=30000,
                              special=["<s>", "<pad>", "</s>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def unigram(texts):
    return xlm_roberta(*sentence_pieces({"normalization_rule_name": "nmt_nfkc"}, texts, 8000))


def theirs(tokenizer, texts, batch):
    fastest, encoded = float("inf"), None
    for _ in range(ROUNDS):
        start = time.process_time()
        encoded = batch(texts, add_special_tokens=False)
        fastest = min(fastest, time.process_time() - start)
    total = 0
    for encoding in encoded:
        for token in encoding.ids:
            total = (total * 31 + token) % 2**64
    return fastest, total


def main():
    texts = stretches(sys.argv[1:] or sorted(ROOT.glob("docs/*.md")))
    size = sum(len(text.encode()) for text in texts)
    program = ROOT / "build/release/attnscope_tokenizer_speed"
    with tempfile.TemporaryDirectory() as folder:
        text_list, tokenizer_file = pathlib.Path(folder) / "texts", pathlib.Path(folder) / "tokenizer.json"
        text_list.write_text("".join(f"{text}\n" for text in texts))
        print(f"{len(texts)} texts, {size} bytes; million tokens a second of processor time, one thread")
        for name, make in (("WordPiece", word_piece), ("byte-level BPE", byte_pairs), ("Unigram", unigram)):
            made = make(texts)
            made.save(str(tokenizer_file))
            tokenizer = Tokenizer.from_file(str(tokenizer_file))
            best = {"ours": float("inf"), "encode_batch": float("inf"), "encode_batch_fast": float("inf")}
            for _ in range(TURNS):
                ours = json.loads(subprocess.run([program, tokenizer_file, text_list, str(ROUNDS)], check=True,
                                                 capture_output=True, text=True).stdout)
                best["ours"] = min(best["ours"], ours["seconds"])
                for way in ("encode_batch", "encode_batch_fast"):
                    taken, total = theirs(tokenizer, texts, getattr(tokenizer, way))
                    assert total == ours["sum"], f"{name}: other ids"
                    best[way] = min(best[way], taken)
            print(f"{name:15} {ours['tokens']} tokens of {tokenizer.get_vocab_size()} pieces: ours "
                  f"{ours['tokens'] / best['ours'] / 1e6:.2f} ({size / best['ours'] / 1e6:.0f} MB/s)", *(
                      f"{way} {ours['tokens'] / best[way] / 1e6:.2f} (ours {best[way] / best['ours']:.1f} times)"
                      for way in ("encode_batch", "encode_batch_fast")), sep=", ")


if __name__ == "__main__":
    main()
