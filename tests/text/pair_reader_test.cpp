// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pair_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "base/line_file.h"
#include "tests/base/packed.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

/// The pairs of a file up to its end or an error, and what the reader notes of them.
struct Read {
  std::vector<TextPair> pairs;
  std::string notes, error;
};

Read read(const char* name, std::string_view bytes, PairParts parts = PairParts::both,
          std::optional<PairFormat> format = std::nullopt) {
  const ScratchFolder folder;
  write_bytes(folder / name, bytes);
  Result<PairReader> reader = PairReader::open(folder / name, format, parts);
  if (!reader) return {{}, "", reader.error().message};
  Read all;
  while (true) {
    auto pair = reader->next();
    if (!pair) all.error = pair.error().message;
    if (!pair || !*pair) break;
    all.pairs.push_back(std::move(**pair));
  }
  all.notes = reader->notes();
  return all;
}

std::string error_of(const char* name, std::string_view bytes, PairParts parts = PairParts::both) {
  return read(name, bytes, parts).error;
}

/// "LINE QUERY-ID|DOCUMENT-ID|QUERY|DOCUMENT" for each pair, then the error, if there is one.
std::vector<std::string> shown(const Read& all) {
  std::vector<std::string> lines;
  lines.reserve(all.pairs.size() + 1);
  for (const TextPair& pair : all.pairs) {
    lines.push_back(fmt::format("{} {}|{}|{}|{}", pair.line, pair.query_id, pair.document_id,
                                pair.query, pair.document));
  }
  if (!all.error.empty()) lines.push_back(all.error);
  return lines;
}

TEST(PairReader, ReadsColumnsAndFields) {
  struct Case {
    const char *name, *bytes;
    PairParts parts;
    std::vector<std::string> pairs;
  };
  using enum PairParts;
  for (const auto& [name, bytes, parts, pairs] : {
           Case{"a.tsv",
                "how tall\tvery tall\nwho\t\n",
                both,
                {"1 ||how tall|very tall", "2 ||who|"}},
           // MS MARCO's four columns.
           Case{"a.tsv", "7\td9\thow tall\tvery tall", both, {"1 7|d9|how tall|very tall"}},
           // A byte order mark and Windows' line ends.
           Case{"a.tsv", "\xef\xbb\xbfhow\td\r\nr\te\r\n", both, {"1 ||how|d", "2 ||r|e"}},
           Case{"a.jsonl",
                "{\"qid\": 3, \"docno\": \"d1\", \"query\": \"q\", \"text\": \"t\", \"rank\": 1}\n"
                "{\"query_id\": \"x\", \"doc_id\": \"d2\", \"query\": \"q\\t2\", \"passage\": "
                "\"p\"}\n",
                both,
                {"1 3|d1|q|t", "2 x|d2|q\t2|p"}},
           // A header line.
           Case{"a.tsv",
                "Query-ID\tquery\tscore\tcorpus-id\ttitle\ttext\n1\tq\t2\td\tT\tt\n",
                both,
                {"2 1|d|q|T t"}},
           Case{"a.tsv", "qid\tpid\tquery\tpassage\n1\td\tq\tt\n", both, {"2 1|d|q|t"}},
           Case{"a.tsv", "doc_id\ttext\ttitle\tsource\nd\tt\tT\ts\n", document, {"2 |d||T t"}},
           Case{"a.tsv", "id\tdoc\n7\tvery tall\n", document, {"2 |7||very tall"}},
           Case{"a.tsv", "id\ttext\n7\tq\n", query, {"2 7||q|"}},
           // Parts of a pair.
           Case{"a.tsv", "d9\tvery tall\nd8\t\n", document, {"1 |d9||very tall", "2 |d8||"}},
           Case{"a.jsonl", R"({"docno": 9, "text": "very tall"})", document, {"1 |9||very tall"}},
           Case{"a.tsv", "7\thow tall\n", query, {"1 7||how tall|"}},
           Case{"a.tsv", "7\td9\thow tall", named_document, {"1 7|d9|how tall|"}},
           Case{"a.tsv", "7\td9\thow tall\tvery tall", named_document, {"1 7|d9|how tall|"}},
           // A passage also names the document that it is part of.
           Case{"a.jsonl", R"({"pid": "p", "passage": "t", "docid": "d"})", document, {"1 |p||t"}},
           Case{"a.jsonl", R"({"_id": "b", "title": "T", "text": "t"})", document, {"1 |b||T t"}},
       }) {
    EXPECT_EQ(shown(read(name, bytes, parts)), pairs) << bytes;
  }
}

TEST(PairReader, ReadsCompressedFilesByTheNameBeforeGz) {
  EXPECT_EQ(read("a.tsv.gz", tests::packed("a\td\nq\te\n")).pairs.size(), 2U);
  EXPECT_EQ(read("a.jsonl.gz", tests::packed(R"({"query": "q", "text": "t"})")).pairs.size(), 1U);
  EXPECT_EQ(read("a.gz", tests::packed("a\td\n")).pairs.size(), 1U);
  EXPECT_EQ(read("a.json.gz", tests::packed(R"([{"query": "q", "text": "t"}])")).pairs.size(), 1U);
  const Read cut = read("a.tsv.gz", tests::packed("a\td\nq\te\n").substr(0, 20));
  EXPECT_THAT(cut.error, HasSubstr("a.tsv.gz: its gzip data are truncated"));
}

TEST(PairReader, RefusesEmptyLinesBetweenPairs) {
  EXPECT_EQ(read("a.tsv", "a\td\n\n\n").pairs.size(), 1U);
  const Read between = read("a.tsv", "a\td\n\nq\te\n");
  EXPECT_EQ(between.pairs.size(), 1U);
  EXPECT_THAT(between.error, HasSubstr("a.tsv, line 2: is empty"));
}

TEST(PairReader, NamesAnInvalidLineAfterThePairsBeforeIt) {
  const Read all = read("a.tsv", "a\td\nq\td\nalone\n");
  EXPECT_EQ(all.pairs.size(), 2U);
  EXPECT_THAT(all.error, HasSubstr("a.tsv, line 3: has 1 columns, and the first line has 2"));
  EXPECT_THAT(error_of("a.tsv", "a\tb\tc\n"), HasSubstr("line 1: has 3 columns; a pair is"));
  EXPECT_THAT(error_of("a.jsonl", "{\"query\": \"q\"}\n"), HasSubstr("has no text 'document'"));
  EXPECT_THAT(error_of("a.jsonl", "[1]\n"),
              HasSubstr("element 1: is not a JSON object but a number"));
  EXPECT_THAT(error_of("a.jsonl", R"({"query": "q", "text": "t", "qid": [1]})"),
              HasSubstr("a query id that is neither"));
}

TEST(PairReader, RefusesInvalidFiles) {
  using enum PairParts;
  struct Case {
    const char* name;
    std::string bytes;
    PairParts parts;
    const char* error;
  };
  const std::string pair = R"({"query": "q", "text": "t"})";
  for (const auto& [name, bytes, parts, error] : {
           Case{"a.tsv", "a\td\xff\n", both, "line 1: is not UTF-8 from byte 4 on"},
           Case{"a.jsonl", "{\"query\": \"\xc3\"}", both, "is not UTF-8"},
           Case{"a.tsv", "d\tt\n\ne\tt\n", document,
                "a.tsv, line 2: is empty; each line must be a document"},
           Case{"a.tsv", "q\tt\n\nr\tt\n", query, "line 2: is empty; each line must be a query"},
           Case{"a.tsv", std::string(LineFile::longest_line + (1U << 17U), 'a'), both,
                "line 1: is longer than 33554432 bytes"},
           Case{"a.txt", pair, both, "a.txt, line 1 is JSON, but the file's name indicates TSV"},
           Case{"a.txt", "[\n{\"query\": 1}]", both, "a.txt, line 1 is JSON"},
           // A key with two values, and two ids that differ.
           Case{"a.jsonl", R"({"_id":"a","text":"noon","text":"hour"})", document,
                "a.jsonl, line 1: has 'text' twice, with different values"},
           Case{"a.jsonl", R"({"_id":"a","docid":"b","text":"t"})", document,
                "has 'docid' and '_id', which differ"},
           Case{"a.jsonl", R"({"_id":"a","qid":"b","query":"t"})", query,
                "has 'qid' and '_id', which differ"},
           // Missing parts.
           Case{"a.tsv", "very tall\n", document,
                "line 1: has 1 columns; a document is DOCID, TEXT or DOCID, URL, TITLE, BODY, "
                "separated by tabs"},
           Case{"a.tsv", "\tvery tall\n", document, "line 1: has no document id"},
           Case{"a.jsonl", R"({"query": "q", "qid": 1})", named_document, "has no document id"},
           Case{"a.tsv", "how\ttall\n", named_document,
                "a query for a document in a cache is QID, DOCID, QUERY"},
           Case{"a.jsonl", R"({"docno": "d"})", document, "has no text 'document'"},
           // Other compressions.
           Case{"x.tsv", std::string("\xfd\x37zXZ\0...", 9), both, "x.tsv: is compressed by xz"},
           Case{"x.tsv", "\x28\xb5\x2f\xfd...", both, "x.tsv: is compressed by zstd"},
           Case{"x.tsv", "PK\x03\x04...", both, "x.tsv: is compressed by zip"},
           Case{"x.tsv", "BZh91AY&SY...", both, "x.tsv: is compressed by bzip2"},
       }) {
    EXPECT_THAT(error_of(name, bytes, parts), HasSubstr(error)) << bytes.substr(0, 80);
  }
  EXPECT_EQ(error_of("a.jsonl", R"({"_id":"a","text":"n:\":","text":"n:\":"})", document), "");
  const ScratchFolder folder;
  EXPECT_THAT(PairReader::open(folder / "no.tsv", std::nullopt).error().message,
              HasSubstr("no.tsv: cannot be opened: No such file"));
  EXPECT_THAT(PairReader::open(folder.path(), PairFormat::tsv).error().message,
              HasSubstr("is a directory"));
}

TEST(PairReader, RefusesIdsWithControlCharacters) {
  for (const char* id : {R"(d\t1)", R"(d\n1)", R"(\u0000)", R"(d\u001b[1m)"}) {
    const std::string document = fmt::format(R"({{"docno": "{}", "text": "t"}})", id);
    EXPECT_THAT(error_of("a.jsonl", document, PairParts::document),
                HasSubstr("line 1: has a document id with a tab, a line end or another control"));
    const std::string query = fmt::format(R"({{"qid": "{}", "query": "t"}})", id);
    EXPECT_THAT(error_of("a.jsonl", query, PairParts::query),
                HasSubstr("line 1: has a query id with a tab"));
  }
}

TEST(PairReader, ReadsLinesLongerThanABlock) {
  const std::string document(200'000, 'x');
  const Read all = read("a.tsv", "q\t" + document + "\nr\t" + document + "y\n");
  ASSERT_EQ(all.pairs.size(), 2U);
  EXPECT_EQ(all.pairs[0].document, document);
  EXPECT_EQ(all.pairs[1].document, document + "y");
}

TEST(PairReader, DetectsTheFormatByTheFirstLine) {
  EXPECT_EQ(read("top1000.dev", "7\td\tq\tt\n").pairs.size(), 1U);
  EXPECT_EQ(read("pairs", R"({"query": "q", "text": "t"})").pairs.size(), 1U);
  EXPECT_EQ(read("pairs", "[\n {\"query\": \"q\", \"text\": \"t\"}\n]\n").pairs.size(), 1U);
  // "[1] ..." is a text.
  EXPECT_EQ(read("pairs", "[1] q\td\n").pairs.at(0).query, "[1] q");
  EXPECT_THAT(error_of("pairs.csv", "q,d\n"), HasSubstr("shows whether it is tsv or jsonl"));
  EXPECT_FALSE(parse_pair_format("csv").has_value());
}

TEST(PairReader, ReadsAJsonArray) {
  const std::string text(100'000, 'x');
  const std::string array =
      "\xef\xbb\xbf[ {\"qid\": 1, \"query\": \"q]\", \"docno\": \"a\",\n  \"text\": \"" + text +
      "\"},\n{\"qid\":1,\"query\":\"q\",\"docno\":\"b\",\"text\":\"t\\\"}\",\"rank\":2}]\n";
  for (const char* name : {"a.json", "a.jsonl"}) {
    EXPECT_THAT(shown(read(name, array)), ElementsAre("1 1|a|q]|" + text, "2 1|b|q|t\"}"));
  }
  EXPECT_THAT(error_of("a.json", "[]"), HasSubstr("has no pairs"));
  const std::string one = R"([{"query": "q", "text": "t"})";
  EXPECT_THAT(error_of("a.json", one), HasSubstr("its array has no closing ']'"));
  EXPECT_THAT(error_of("a.json", one.substr(0, 20)), HasSubstr("element 1: is truncated"));
  EXPECT_THAT(error_of("a.json", one + ","), HasSubstr("its array has no closing ']'"));
  EXPECT_THAT(error_of("a.json", one + ",]"), HasSubstr("element 2: is empty"));
  EXPECT_THAT(error_of("a.json", one + "] {}"), HasSubstr("has text after its array's ']'"));
  EXPECT_THAT(error_of("a.json", one + " {}]"), HasSubstr("neither ',' nor ']'"));
  EXPECT_THAT(error_of("a.json", R"([{"query": "q", "text": 5}])"), HasSubstr("element 1: has no"));
}

TEST(PairReader, RefusesAnInvalidHeaderLine) {
  EXPECT_THAT(error_of("a.tsv", "qid\tquery\tquery\n"), HasSubstr("names two columns 'query'"));
  EXPECT_THAT(error_of("a.tsv", "query-id\tcorpus-id\tscore\n1\td\t1\n"),
              HasSubstr("a.tsv, line 1 names columns but has no text 'query'"));
  EXPECT_THAT(error_of("a.tsv", "qid\tpid\tquery\tpassage\n1\td\tq\n"),
              HasSubstr("line 2: has 3 columns, and the first line has 4"));
}

TEST(PairReader, ReadsCommonColumnNames) {
  for (const char* names :
       {"query\tdoc", "question\tanswer", "sentence1\tsentence2", "q\td", "QUERY\tText"}) {
    const Read all = read("a.tsv", fmt::format("{}\nhow tall\tvery tall\n", names));
    EXPECT_THAT(shown(all), ElementsAre("2 ||how tall|very tall")) << names;
    EXPECT_EQ(all.notes, "") << names;
  }
  for (const char* names :
       {"qid\tdid\tquery\tpassage", "q_id\td_id\tq\td", "topic\tdocno\tquery\ttext",
        "#qid\tdocno\tquery\ttext", "qid\tdocid\tquery\tdoc"}) {
    const Read all = read("a.tsv", fmt::format("{}\n7\tx\thow tall\tvery tall\n", names));
    EXPECT_THAT(shown(all), ElementsAre("2 7|x|how tall|very tall")) << names;
  }
}

TEST(PairReader, NotesIgnoredColumns) {
  EXPECT_THAT(read("a.tsv", "query\ttext\tlabel\nhow\ttall\t1\n").notes,
              HasSubstr("a.tsv: these columns are ignored: 'label'"));
  EXPECT_THAT(read("a.tsv", "q\tp\tn\nhow\ttall\tlow\n").notes, HasSubstr("ignored: 'n'"));
  // pandas writes an index without a name.
  EXPECT_THAT(read("a.tsv", "\tquery\ttext\n0\thow\ttall\n").notes, HasSubstr("ignored: ''"));
  EXPECT_THAT(read("a.tsv", "qid\tdocno\tquery\ttext\tsource\n1\ta\thow\ttall\tx\n").notes,
              HasSubstr("ignored: 'source'"));
}

TEST(PairReader, RefusesAnAmbiguousFirstLine) {
  EXPECT_THAT(
      read("a.tsv", "query\tremark\nhow\ttall\n").error,
      HasSubstr(
          "a.tsv, line 1 may name columns or be a text: 'remark' is not a known column name"));
  EXPECT_THAT(read("a.tsv", "qid\tmine\tquery\tpassage\n1\tx\tq\tt\n").error,
              HasSubstr("line 1 names columns but has no document id, unless it is 'mine'"));
  EXPECT_THAT(read("a.tsv", "query\tpositive\nhow\ttall\n").error,
              HasSubstr("line 1 names columns but has no text 'document'"));
  for (const char* text : {"7\ttext\n", "what is it about\ttext\n", "http://u\ttext\n"})
    EXPECT_EQ(read("a.tsv", text).pairs.size(), 1U) << "no column is called " << text;
  const Read texts = read("a.tsv", "query\tremark\n", PairParts::both, PairFormat::tsv_texts);
  ASSERT_EQ(texts.pairs.size(), 1U) << texts.error;
  EXPECT_EQ(texts.pairs[0].document, "remark");
  const Read names =
      read("a.tsv", "query\tremark\ttext\nhow\tx\ttall\n", PairParts::both, PairFormat::tsv_names);
  ASSERT_EQ(names.pairs.size(), 1U) << names.error;
  EXPECT_EQ(names.pairs[0].document, "tall");
  EXPECT_THAT(names.notes, HasSubstr("ignored: 'remark'"));
}

TEST(PairReader, RefusesQuotesOfCsv) {
  for (const char* text :
       {"\"qid\"\t\"docno\"\t\"query\"\t\"text\"\n\"1\"\t\"a\"\t\"q\"\t\"t\"\n",
        "1\ta\thow\t\"He said \"\"noon\"\"\"\n", "\"how tall\"\t\"very tall\"\n"}) {
    EXPECT_THAT(read("a.tsv", text).error, HasSubstr("line 1")) << text;
    EXPECT_THAT(read("a.tsv", text).error, HasSubstr("TSV has no quoting")) << text;
  }
  EXPECT_THAT(read("a.tsv", "how\ttall\nwho\t\"\"\"he\"\"\"\n").error,
              HasSubstr("line 2: has a field in quotes"));
  const Read literal =
      read("a.tsv", "how\t\"He said \"\"noon\"\"\"\n", PairParts::both, PairFormat::tsv_texts);
  ASSERT_EQ(literal.pairs.size(), 1U) << literal.error;
  EXPECT_EQ(literal.pairs[0].document, "\"He said \"\"noon\"\"\"");
  // A phrase that is sought.
  const Read phrase = read("a.tsv", "\"to be\"\tor not to be\n7\t\"not\" \"to\"\n");
  ASSERT_EQ(phrase.pairs.size(), 2U) << phrase.error;
  EXPECT_EQ(phrase.pairs[0].query, "\"to be\"");
}

TEST(PairReader, NotesAnEmptyQuery) {
  const Read all = read("a.tsv", "\ttall\nhow\ttall\n");
  EXPECT_EQ(all.pairs.size(), 2U) << all.error;
  EXPECT_THAT(all.notes, HasSubstr("a.tsv: 1 record has an empty query"));
}

TEST(PairReader, NamesColumnAndReasonOfInvalidJson) {
  const auto error = [](const char* text) { return error_of("a.jsonl", text); };
  EXPECT_THAT(error(R"({"query": "q", "text": NaN})"),
              HasSubstr("line 1: is not a JSON object: column 24: invalid literal"));
  EXPECT_THAT(error(R"({"query": "\ud800", "text": "t"})"),
              HasSubstr("column 18: invalid string: surrogate"));
  for (const char* text :
       {R"({"query": "q", "text": "t"} {})", "{\"query\": \"q\",\n\"text\": \"t\"}"}) {
    EXPECT_THAT(error(text), HasSubstr("end of input"));
    EXPECT_THAT(error(text), HasSubstr("write each object on a line of its own"));
  }
  EXPECT_THAT(error((R"({"query": )" + std::string(70, '[')).c_str()),
              HasSubstr("is nested deeper than 64 levels"));
}

TEST(PairReader, PutsTheTitleBeforeTheText) {
  for (const auto parts : {PairParts::both, PairParts::document}) {
    const auto text_of = [&](const char* fields) {
      const Read all =
          read("a.jsonl", fmt::format(R"({{"query": "q", "_id": "1", "docno": "1", {}}})", fields),
               parts);
      return all.pairs.empty() ? all.error : all.pairs[0].document;
    };
    EXPECT_EQ(text_of(R"("title": "T", "text": "t\n")"), "T t");
    EXPECT_EQ(text_of(R"("title": "", "text": " t")"), "t");
    EXPECT_EQ(text_of(R"("title": "T", "text": "")"), "T");
    EXPECT_EQ(text_of(R"("title": null, "text": " t")"), " t");
    EXPECT_EQ(text_of(R"("text": " t ")"), " t ") << "without a title nothing is changed";
    EXPECT_EQ(text_of(R"("url": "u", "title": "T", "headings": "H", "body": "b")"), "T H b");
    EXPECT_EQ(text_of(R"("text": "t", "contents": "t")"), "t");
    EXPECT_THAT(text_of(R"("text": "t", "contents": "c")"),
                HasSubstr("has 'text' and 'contents', which differ"));
    EXPECT_THAT(text_of(R"("text": "t", "title": ["T"])"),
                HasSubstr("has a 'title' that is not a text"));
  }
}

TEST(PairReader, RefusesContradictoryIdsAndOtherColumns) {
  EXPECT_THAT(error_of("a.jsonl", R"({"_id": "a", "id": "b", "text": "t"})", PairParts::document),
              HasSubstr("has '_id' and 'id', which differ"));
  EXPECT_THAT(error_of("a.jsonl", R"({"qid": 1, "query_id": "2", "query": "t"})", PairParts::query),
              HasSubstr("has 'qid' and 'query_id', which differ"));
  // Columns of another order than MS MARCO's, as ir_datasets exports BEIR's documents.
  EXPECT_THAT(error_of("a.tsv", "d\tThe text\tThe title\thttp://u\n", PairParts::document),
              HasSubstr("line 1: has 4 columns, but the second is not a URL"));
}

TEST(PairReader, ReportsProgress) {
  const ScratchFolder folder;
  write_bytes(folder / "a.tsv", "a\td\nq\te\n");
  auto reader = PairReader::open(folder / "a.tsv", std::nullopt);
  EXPECT_EQ(reader->progress(), 0.0);
  static_cast<void>(reader->next());
  EXPECT_EQ(reader->progress(), 0.5);
  static_cast<void>(reader->next());
  EXPECT_EQ(reader->progress(), 1.0);
}

}  // namespace
}  // namespace attnscope
