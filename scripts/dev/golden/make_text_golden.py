#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/text/golden: make_text_golden.py [FOLDER]

They have the results of Hugging Face's `tokenizers` for texts in many scripts, including hostile ones:

  vocab.txt         pieces taken from the texts, so that words are made of one, several or no pieces
  texts.jsonl.gz    a text per line: {"text", "ids"} without special tokens
  pairs.jsonl       {"query", "document", "most", "ids", "types"}: a pair, truncated in the longer text first
  code_points.txt   for every 4096 code points the CRC-32 of how each, between two letters, is split into words

Run it by hand in an environment of scripts/dev/golden/requirements.txt; the same version writes the same bytes.
"""
import collections
import gzip
import json
import pathlib
import random
import sys
import zlib

import tokenizers
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

SENTENCES = [
    "How tall is the Eiffel Tower, really?", "The quick brown fox jumps over the lazy dog.",
    "re-ranking: a cross-encoder's cost (in ms) is 3.14e-2 @ n=4096!", "don't won't isn't I'd we'll O'Neill",
    "Où est-ce que l'élève naïf a garé sa voiture à Noël ?", "Đặng Thị Mỹ Hạnh sống ở Thành phố Hồ Chí Minh.",
    "Größenwahn, ÄÖÜ äöü ß ẞ Straße Maß", "Zażółć gęślą jaźń ŁÓDŹ", "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "İstanbul'da ILIK ılık İİ Iğdır", "Ærøskøbing Ångström œuvre ŒUVRE þorn Ðað", "Ŋgala ɛwe ɔkɔ Ɓaɗa ƙasa",
    "Ελληνική γλώσσα: ΌΛΑ ΚΑΛΆ, τι κάνεις; ΣΊΣΥΦΟΣ σίσυφος", "ᾳ ᾼ ῷ Ὦ ἄνθρωπος ΐ ΰ",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. ЁЖИК ёжик Йод", "Ґанок їжак Єва ўсё ѓ ќ",
    "نص عربي مع تَشْكِيل كامل، وأرقام ١٢٣٤ ؟", "فارسی: می‌خواهم گچ پژ", "اُردُو کا متن ہے ۔", "ـــكشيدةـــ ﷺ ﷲ ﻻ ﺍﻟ",
    "שָׁלוֹם עוֹלָם! מה שלומך? ״צה״ל״ ג׳ירפה", "הַמֶּלֶךְ", "हिन्दी में लिखा हुआ वाक्य। क़ ख़ ज़ ड़ ढ़ फ़", "विश्वविद्यालय क्षेत्रज्ञ",
    "বাংলা ভাষায় একটি বাক্য। ড় ঢ় য়", "தமிழ் மொழி ஸ்ரீ கொ கௌ", "తెలుగు భాష కై", "ಕನ್ನಡ ಭಾಷೆ ಕೊ ಕೋ", "മലയാളം ഭാഷ കൊ",
    "ਪੰਜਾਬੀ ਸ਼ ਖ਼ ਗ਼", "ગુજરાતી ભાષા", "සිංහල භාෂාව කො", "ภาษาไทยไม่มีช่องว่างระหว่างคำ น้ำ กำ", "ພາສາລາວ ນ້ຳ ຫຼາຍ",
    "မြန်မာဘာသာ ဦး", "ភាសាខ្មែរ", "བོད་ཡིག གྷ ཌྷ ཱི", "ქართული ᲥᲐᲠᲗᲣᲚᲘ Ⴀⴀ", "Հայերեն լեզու։ և", "አማርኛ ቋንቋ።",
    "한국어 문장입니다. 뷁 가각힣", "각 한 decomposed jamo", "한국 ㄱㄴㄷ ﾡﾢ", "日本語の文章です。カタカナ、ひらがな、漢字。", "が ぎ ば ぱ ヴ ヷ ゔ が ぱ",
    "ﾊﾝｶｸ ｶﾅ ＦＵＬＬ　ｗｉｄｔｈ！？", "東京都庁は１９９１年完成", "中文句子沒有空格。简体中文，标点符号！", "㐀㐁 䶵 鿿 豈 更 車 𠀀𠀁 𪛖 𪜀 𫜴 𫝀 𫠝 𫠠 𬺡 𬺰 丽 𰀀",
    "你好world混合text文字abc", "ꦧꦱꦗꦮ ᬩᬲ ᮞᮥᮔ᮪ᮓ", "ꯃꯩꯇꯩꯂꯣꯟ ᱥᱟᱱᱛᱟᱲᱤ", "ᏣᎳᎩ ꮳꮃꭹ Ᏸ ᏸ", "ᐃᓄᒃᑎᑐᑦ", "ᚠᚢᚦᚨᚱᚲ ᛫ ᛬", "𐌰𐌱 𐍈 𐐀𐐨 𐒰𐓘 𐲀𐳀", "𝔄𝕓𝒸 𝟘𝟙 ℌ ℝ ½ ² ³ ⁴ ₁",
    "𒀀𒀁 𓀀𓀁 𐎀 𐤀", "𑂚 𑂜 𑄮 𑍋 𑒻 𑖺 𑤸", "ߒߞߏ ߛߓߊ߫", "ⵜⴰⵎⴰⵣⵉⵖⵜ ⵿", "ꓡꓲꓢꓴ", "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ ᢅ ᢆ", "𞤀𞤁 𞤢𞥊𞥄 𞥞",
    "😀 😃🤣 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 ❤️ ☃ ✈️ 1️⃣ #️⃣ ™️ © ®", "🫠 🫡 🪿 🥹", "→ ⇒ ∀x∈ℝ: x²≥0 ∑ ∫ ≠ √2 ±1 × ÷",
    "€5 £3 ¥100 ₹50 ₿1 $9.99 ¢ ¤", "§ ¶ † ‡ • … ‰ ′ ″ ‹ › « » „ “ ” ‘ ’ – — ― ¡ ¿", "⸂⸃ ⸺ ⸻ ⹀ ⹂ ⹃ ⹏ ⹒ ⹕ ⹝ 〈〉《》「」『』【】 〜 〽 ・ ー",
    "` ^ ~ | \\ / < > = + $ ^^ `` ~~", "a_b a-b a.b a,b a;b a:b (a) [b] {c} <d> \"e\" 'f' *g* &h; %i #j @k",
    "http://example.org/a?b=c&d=%20#e user@example.org C:\\dir\\file.txt", "x = y[0] * (z - 1) // 2; # comment",
    "zero\u200bwidth\u200cjoiners\u200dhere\ufeffbom\u2060word", "soft\u00adhyphen", "lrm\u200ehere\u200frlm \u202aembed\u202c \u2066iso\u2069",
    "tab\there\nnewline\r\ncarriage\rform\x0cfeed\x0bvertical\x85next", "nbsp\u00a0thin\u2009ideo\u3000ogham\u1680ls\u2028ps\u2029mmsp\u205fnn\u202f",
    "nul\x00in\x01the\x1fmiddle\x7fdel\x80c1\x9f", "\x1c\x1d\x1e\x1f separators", "private \ue000\uf8ff\U000f0000\U0010fffd use",
    "unassigned \u0378\u0379\u05ff\u2fe0\U0001f9ff\U000e0080\U0003ffff", "nonchar \ufdd0\ufffe\uffff\U0001ffff", "replaced \ufffd here\ufffdtoo",
    "tags \U000e0001\U000e0061\U000e007f", "variation \ufe0e\ufe0f\U000e0100", "object\ufffcreplacement \ufff9annot\ufffaation\ufffb",
    "a\u0301 e\u0300\u0323 o\u0302\u0301 q\u0307\u0323 Å \u212b \u2126 \u212a", "\u0301leading \u0300 lone mark", "x\u0345\u0300\u20dd\u0488 y\u20e3",
    "a\u0344 b\u0340\u0341 c\u0343 \u0374 \u037e \u0387", "\u1e9b\u0323 \ufb01 \ufb03 \ufb00 \u0149 \u01f0 \u0390 \u03b0", "ﬀ ﬁ ﬂ Ǆ ǅ ǆ Ǉ Ǌ",
    "u\u08ca\u08cb\u08d4\u08e1 v\u1ab0\u1abf\u1ac0 w\u1df6\u1dfa\u1dfb x\u1dfc", "\U00011938 \U00011935\U00011930 \u1734 \u166d \U000111c9",
    "\U0001e944\U0001e94a\u0345 \U00011442\u0345 \u0345\u08ca \u0345\U00011d97 \u302a\u302e\u302f\u3099", "ᲀ ᲁ ᲂ \u1c89 \ua7cb \ua7cc \ua7da \ua7dc \U00010d50 \U00016ea0",
    "[SEP] [CLS]x[MASK]y [PAD] [UNK] [sep] [ SEP ] [SEP][SEP] [[SEP]] [SEP", "text [SEP] injected [CLS] tokens",
    "##ing ## # ##a [unused0]", "[CLS", "", " ", "\n\n\t", "\u00ad", "\u0301", ".", "...", "?!", "a", "é", "中", "😀",
]
# Ranges of characters, by script.
SCRIPTS = [(0x20, 0x7E), (0xA1, 0x17F), (0x180, 0x24F), (0x250, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F),
           (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x7FF), (0x800, 0x8FF), (0x900, 0x97F), (0x980, 0xA7F),
           (0xA80, 0xBFF), (0xC00, 0xD7F), (0xD80, 0xDFF), (0xE00, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F),
           (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x139F), (0x13A0, 0x169F), (0x16A0, 0x17FF), (0x1800, 0x1AFF),
           (0x1B00, 0x1CFF), (0x1D00, 0x1DFF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x218F), (0x2190, 0x23FF),
           (0x2400, 0x27BF), (0x27C0, 0x2BFF), (0x2C00, 0x2DFF), (0x2E00, 0x2FFF), (0x3000, 0x30FF), (0x3100, 0x33FF),
           (0x3400, 0x34FF), (0x4E00, 0x4FFF), (0x9F00, 0xA4FF), (0xA500, 0xA7FF), (0xA800, 0xABFF), (0xAC00, 0xAD00),
           (0xD700, 0xD7FF), (0xE000, 0xE040), (0xF8F0, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFFFF), (0x10000, 0x102FF),
           (0x10300, 0x105FF), (0x10600, 0x10DFF), (0x10E00, 0x111FF), (0x11200, 0x116FF), (0x11700, 0x11FFF),
           (0x12000, 0x123FF), (0x16800, 0x16FFF), (0x1B000, 0x1BCFF), (0x1CF00, 0x1D3FF), (0x1D400, 0x1D7FF),
           (0x1E000, 0x1E9FF), (0x1EC00, 0x1F1FF), (0x1F200, 0x1F6FF), (0x1F700, 0x1FBFF), (0x1FFF0, 0x20100),
           (0x2A6D0, 0x2A710), (0x2B730, 0x2B750), (0x2B810, 0x2B930), (0x2CEA0, 0x2CEC0), (0x2F7F0, 0x2FA30),
           (0xE0000, 0xE01FF), (0x10FF00, 0x10FFFF)]
SPACES = [" "] * 12 + ["  ", "\t", "\n", "\u00a0", "\u3000", "\u2028"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def drawn_text(draw):
    """Words of one script or several, separated by ASCII."""
    scripts = draw.sample(SCRIPTS, draw.choice((1, 1, 1, 2, 4)))
    text = ""
    for _ in range(draw.randint(1, 7)):
        if draw.random() < 0.2:
            text += "".join(draw.choice(LETTERS + "AÉ") for _ in range(draw.randint(1, 8)))
        else:
            low, high = draw.choice(scripts)
            text += "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 6)))
        text += draw.choice(SPACES) if draw.random() < 0.8 else draw.choice(".,;-'")
    return text


def cut_and_joined(draw):
    """Parts of two sentences."""
    parts = [draw.choice(SENTENCES) for _ in range(2)]
    return "".join(part[draw.randint(0, len(part) // 2):][:40] for part in parts)


def marked(draw):
    """Latin letters with many combining marks in any order."""
    marks = [chr(draw.randint(0x300, 0x36F)) for _ in range(4)] + ["\u0345", "\u08d4", "\u1dfb", "\u3099", "\u20d0", "\u05b0"]
    return "".join(draw.choice("aeiouAOU ") + "".join(draw.choice(marks) for _ in range(draw.randint(0, 3)))
                   for _ in range(8))


def texts():
    draw = random.Random(9)
    listed = list(SENTENCES)
    listed += ["a" * n for n in (98, 99, 100, 101, 102, 300)]
    listed += ["é" * 100, "é" * 101, "中" * 101, "x" * 99 + "\u0301", "x" * 100 + "\u0301", "." * 120, "😀" * 100, "😀" * 101,
               "ab" * 50 + "c", "ß" * 100, "İ" * 100, "a\u00ad" * 100, "q" * 150 + " tail"]
    listed += [drawn_text(draw) for _ in range(1500)]
    listed += [cut_and_joined(draw) for _ in range(500)]
    listed += [marked(draw) for _ in range(200)]
    # Surrogates are not characters.
    return ["".join(c for c in text if not 0xD800 <= ord(c) < 0xE000) for text in listed]


def vocabulary(all_texts):
    """Frequent beginnings, inner parts and characters of the words; some scripts have no pieces."""
    normaliser, splitter = BertNormalizer(), BertPreTokenizer()
    pieces = collections.Counter()
    for text in all_texts:
        for word, _ in splitter.pre_tokenize_str(normaliser.normalize_str(text)):
            word = word[:20]
            for end in range(1, len(word) + 1):
                pieces[word[:end]] += 2 if end == len(word) else 1
            for begin in range(1, len(word)):
                for end in range(begin + 1, min(begin + 5, len(word)) + 1):
                    pieces["##" + word[begin:end]] += 1
    kept = [piece for piece, count in pieces.items()
            if count > 3 or (count > 1 and len(piece.removeprefix("##")) == 1)]
    return SPECIAL + sorted(set(kept) - set(SPECIAL))


def tokenizer_of(pieces):
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")])
    return tokenizer


def pairs(tokenizer):
    """Pairs truncated like `longest_first`, with long queries too."""
    draw = random.Random(10)
    for number in range(200):
        query = " ".join(draw.choice(SENTENCES) for _ in range(draw.randint(1, 2)))
        document = " ".join(draw.choice(SENTENCES) for _ in range(draw.randint(0, 3)))
        most = (8, 12, 16, 24, 32, 64, 512)[number % 7]
        tokenizer.enable_truncation(most, strategy="longest_first")
        pair = tokenizer.encode(query, document)
        yield {"query": query, "document": document, "most": most, "ids": pair.ids, "types": pair.type_ids}


def code_point_blocks():
    normaliser, splitter = BertNormalizer(), BertPreTokenizer()
    for block in range(0, 0x110000, 0x1000):
        words = []
        for c in range(block, block + 0x1000):
            if not 0xD800 <= c < 0xE000:
                words += [word for word, _ in splitter.pre_tokenize_str(normaliser.normalize_str(f"A{chr(c)}b"))]
                words.append("")
        yield f"{block:06X} {zlib.crc32(chr(10).join(words).encode()):08x}"


def write_lines(path, lines):
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/text/golden")
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    all_texts = texts()
    pieces = vocabulary(all_texts)
    tokenizer = tokenizer_of(pieces)
    write_lines(folder / "vocab.txt", pieces)
    write_lines(folder / "texts.jsonl.gz",
                (json.dumps({"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids})
                 for text in all_texts))
    write_lines(folder / "pairs.jsonl", map(json.dumps, pairs(tokenizer)))
    write_lines(folder / "code_points.txt", code_point_blocks())
    print(f"{len(all_texts)} texts, {len(pieces)} pieces")


if __name__ == "__main__":
    main()
