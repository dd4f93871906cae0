// SPDX-License-Identifier: Apache-2.0
//
// `encode` and `score --cache` on small checkpoints with random weights.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "engine/documents/document_cache_writer.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::TinyCheckpoint;

const char* const words = "@@UNKNOWN@@\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\n";

/// Scores all queries against the whole cache.
const std::vector<std::string> all_cached{"--cache", "cache", "--queries", "queries.tsv"};

std::string text_of_document(int number) {
  std::string text;
  for (int token = 0; token <= number % 9; ++token)
    text += fmt::format("{} ", static_cast<char>('a' + (number + token * token) % 16));
  return text;
}

struct ScoredLine {
  std::string query, document;
  double score = 0;
};

/// Folders with checkpoints, and documents.
class Encode : public ::testing::Test {
 protected:
  Encode() {
    write_checkpoint("dual", TinyCheckpoint::dual_bert());
    write_checkpoint("colbert", TinyCheckpoint::colbert());
    write_checkpoint("tkl", TinyCheckpoint::tkl());
    program_.write("tkl/tokens.txt", words);
    write_documents(40);
    program_.write("queries.tsv", "q1\ta b\nq2\tc\n");
  }

  void write_checkpoint(const std::string& name, const TinyCheckpoint& checkpoint) const {
    std::filesystem::create_directory(program_.path(name));
    checkpoint.write(program_.path(name));
    program_.write(name + "/vocab.txt", letters);
  }
  void write_documents(int count) const {
    std::string tsv;
    for (int i = 0; i < count; ++i) tsv += fmt::format("d{}\t{}\n", i, text_of_document(i));
    program_.write("docs.tsv", tsv);
  }

  [[nodiscard]] Outcome encode(const std::string& checkpoint,
                               const std::vector<std::string>& more = {}) const {
    return program_.run(joined(
        {"encode", "--checkpoint", checkpoint, "--documents", "docs.tsv", "-o", "cache"}, more));
  }
  void encode_well(const std::string& checkpoint, const std::vector<std::string>& more = {}) const {
    const Outcome outcome = encode(checkpoint, more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  [[nodiscard]] Outcome score(const std::string& checkpoint,
                              const std::vector<std::string>& more) const {
    return program_.run(joined({"score", "--checkpoint", checkpoint}, more));
  }
  [[nodiscard]] std::vector<ScoredLine> scores(const std::string& checkpoint,
                                               const std::vector<std::string>& more) const {
    const Outcome outcome = score(checkpoint, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<ScoredLine> lines;
    std::istringstream text(outcome.out);
    ScoredLine line;
    while (text >> line.query >> line.document >> line.score) lines.push_back(line);
    return lines;
  }
  /// By pairs of texts, without a cache.
  [[nodiscard]] std::vector<ScoredLine> direct(const std::string& checkpoint, int documents,
                                               const std::vector<std::string>& more = {}) const {
    std::string tsv;
    for (const char* query : {"q1\t{}\ta b\t{}\n", "q2\t{}\tc\t{}\n"}) {
      for (int i = 0; i < documents; ++i)
        tsv += fmt::format(fmt::runtime(query), fmt::format("d{}", i), text_of_document(i));
    }
    program_.write("texts.tsv", tsv);
    std::vector<std::string> arguments{"--pairs", "texts.tsv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return scores(checkpoint, arguments);
  }

  Program program_;
};

void expect_alike(const std::vector<ScoredLine>& some, const std::vector<ScoredLine>& others,
                  double bound) {
  ASSERT_EQ(some.size(), others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].query, others[i].query);
    EXPECT_EQ(some[i].document, others[i].document);
    EXPECT_NEAR(some[i].score, others[i].score, bound * std::max(1.0, std::fabs(others[i].score)));
  }
}

TEST_F(Encode, EncodesABeirCorpusAndScoresItsJudgedQueries) {
  std::filesystem::create_directories(program_.path("set/qrels"));
  std::string corpus;
  for (int i = 0; i < 40; ++i) {
    corpus +=
        fmt::format(R"({{"_id": "d{}", "title": "", "text": "{}"}})", i, text_of_document(i)) +
        "\n";
  }
  program_.write("set/corpus.jsonl", corpus);
  program_.write("set/queries.jsonl", R"({"_id": "q0", "text": "d"})"
                                      "\n"
                                      R"({"_id": "q1", "text": "a b"})"
                                      "\n");
  program_.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td3\t2\n");
  const auto encoded = [&](const std::vector<std::string>& what, const std::string& cache) {
    return program_.run(joined({"encode", "--checkpoint", "dual", "-o", cache}, what));
  };
  ASSERT_EQ(encoded({"--documents", "docs.tsv"}, "tsv").exit_code, 0);
  const Outcome of_set = encoded({"--beir", "set"}, "beir");
  ASSERT_EQ(of_set.exit_code, 0) << of_set.err;
  program_.write("q1.tsv", "q1\ta b\n");
  const auto scored = [&](const std::vector<std::string>& what) {
    return program_.run(joined({"score", "--checkpoint", "dual"}, what));
  };
  const Outcome expected = scored({"--cache", "tsv", "--queries", "q1.tsv"});
  ASSERT_EQ(expected.exit_code, 0) << expected.err;
  EXPECT_EQ(scored({"--cache", "beir", "--beir", "set"}).out, expected.out);
  for (const std::string out : {"set/queries.jsonl", "set/qrels/test.tsv", "beir"}) {
    EXPECT_THAT(scored({"--cache", "beir", "--beir", "set", "-o", out}).err,
                HasSubstr(out + ": is an input of this command"));
  }
  EXPECT_EQ(scored({"--cache", "beir", "--beir", "set"}).out, expected.out);
  EXPECT_THAT(encoded({"--beir", "set", "--restart"}, "set/corpus.jsonl").err,
              HasSubstr("set/corpus.jsonl: is an input of this command"));
  EXPECT_THAT(scored({"--beir", "set"}).err, HasSubstr("--beir has no pairs; add --cache"));
  EXPECT_THAT(encoded({}, "none").err, HasSubstr("--documents or --beir is required"));
}

TEST_F(Encode, ScoresFromTheCacheEqualThoseOfTheTexts) {
  for (const char* checkpoint : {"dual", "colbert", "tkl"}) {
    encode_well(checkpoint, {"--restart"});
    const auto all = scores(checkpoint, all_cached);
    ASSERT_EQ(all.size(), 80U);
    EXPECT_NE(all[0].score, all[1].score);
    expect_alike(all, direct(checkpoint, 40), 1e-6);
  }
}

TEST_F(Encode, TruncatesDocumentsAsWithoutTheCache) {
  encode_well("colbert", {"--max-tokens", "6"});
  expect_alike(scores("colbert", all_cached), direct("colbert", 40, {"--max-tokens", "6"}), 1e-6);
}

TEST_F(Encode, SmallerFormatsReportTheirErrorAndScoreSimilarly) {
  const auto expected = direct("colbert", 40);
  for (const char* dtype : {"float16", "int8"}) {
    const Outcome outcome = encode("colbert", {"--dtype", dtype, "--restart"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("cache: 40 documents, "));
    EXPECT_THAT(outcome.out,
                HasSubstr(fmt::format("relative error of the vectors in {}: 0.", dtype)));
    expect_alike(scores("colbert", all_cached), expected, 0.05);
  }
}

TEST_F(Encode, ReportsTruncatedTexts) {
  EXPECT_THAT(encode("dual", {"--max-tokens", "4"}),
              Notes("of 40 documents were truncated to 4 tokens"));
  program_.write("queries.tsv", "q1\ta b\nq2\tc d e f g h\n");
  program_.write("bm25.trec", "q1 Q0 d1 1 2 x\nq2 Q0 d2 1 2 x\n");
  EXPECT_THAT(score("dual", joined(all_cached, {"--max-query-tokens", "4"})).err,
              HasSubstr("1 of 2 queries was truncated to 4 tokens"));
  EXPECT_THAT(program_.run({"rerank", "--checkpoint", "dual", "--run", "bm25.trec", "--queries",
                            "queries.tsv", "--cache", "cache", "-o", "out.trec",
                            "--max-query-tokens", "4"}),
              Notes("1 of 2 queries was truncated to 4 tokens"));
}

TEST_F(Encode, ReportsTheLineOfADocumentWithoutAVector) {
  const std::filesystem::path golden =
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/encoder-kept";
  std::filesystem::copy(golden, program_.path("kept"), std::filesystem::copy_options::recursive);
  program_.write("kept/1_MultiVectorMask/config.json",
                 R"({"skiplist_words": [], "skiplist_tasks": ["document"],
                     "keep_only_token_ids": [5]})");
  program_.write("docs.tsv", "d1\ta b\nd2\tb c\n");
  EXPECT_THAT(encode("kept"),
              FailsWith("docs.tsv, line 2: the document has no token with a vector"));
  program_.write("pairs.tsv", "a\ta b\na\tb c\n");
  EXPECT_THAT(score("kept", {"--pairs", "pairs.tsv"}).err,
              HasSubstr("pairs.tsv, line 2: the document has no token with a vector"));
}

TEST_F(Encode, RefusesACachedIdWithABlankInATrecRun) {
  program_.write("docs.tsv", "d 1\ta b\n");
  encode_well("dual");
  EXPECT_EQ(score("dual", all_cached).exit_code, 0);
  EXPECT_THAT(score("dual", joined(all_cached, {"--format", "trec"})),
              FailsWith("cache: a TREC run needs a document id without blanks, not 'd 1'"));
}

TEST_F(Encode, RefusesACompressedCache) {
  EXPECT_THAT(program_.run({"encode", "--checkpoint", "dual", "--documents", "docs.tsv", "-o",
                            "c.cache.gz"}),
              FailsWith("c.cache.gz: a cache is memory-mapped"));
}

TEST_F(Encode, ScoresCachedDocumentsByTheirIds) {
  encode_well("dual");
  program_.write("named.tsv", "q1\td7\ta b\nq2\td3\tc\nq1\td39\ta b\n");
  const auto named = scores("dual", {"--cache", "cache", "--pairs", "named.tsv"});
  const auto all = direct("dual", 40);
  expect_alike(named, {all[7], all[43], all[39]}, 1e-6);
  program_.write("named.jsonl", "{\"qid\": \"q1\", \"docno\": \"d7\", \"query\": \"a b\"}\n");
  const auto json = score("dual", {"--cache", "cache", "--pairs", "named.jsonl"});
  EXPECT_THAT(json.out, HasSubstr("q1\td7\t"));
}

TEST_F(Encode, IgnoresDocumentTextsOfPairs) {
  encode_well("dual");
  const auto texts = direct("dual", 40);
  expect_alike(scores("dual", {"--cache", "cache", "--pairs", "texts.tsv"}), texts, 1e-6);
}

TEST_F(Encode, ReportsIdsThatAreNotInTheCache) {
  encode_well("dual");
  program_.write("named.tsv", "q1\td7\ta b\nq1\tx\ta b\nq1\ty\ta b\nq1\td1\ta b\n");
  const Outcome outcome = score("dual", {"--cache", "cache", "--pairs", "named.tsv"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("named.tsv, line 2: document 'x' is not among the 40 of cache, nor are "
                        "'y'; encode them, or remove them (1 scores before it are written)"));
  EXPECT_THAT(outcome.out, HasSubstr("q1\td7\t"));
}

TEST_F(Encode, WritesATrecRunOfAllDocuments) {
  encode_well("dual");
  const Outcome outcome = score("dual", joined(all_cached, {"--format", "trec"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("q1 Q0 "));
  EXPECT_THAT(outcome.out, HasSubstr(" 40 "));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 80);
}

TEST_F(Encode, WritesTheBestDocumentsOfACache) {
  encode_well("colbert");
  const std::vector<ScoredLine> all = scores("colbert", all_cached);
  const std::vector<ScoredLine> best = scores("colbert", joined(all_cached, {"--top", "3"}));
  ASSERT_EQ(best.size(), 6U);
  for (const ScoredLine& line : best) {
    const auto better = std::ranges::count_if(all, [&](const ScoredLine& other) {
      return other.query == line.query && other.score > line.score;
    });
    EXPECT_LT(better, 3) << line.query << " " << line.document;
  }
}

TEST_F(Encode, ComparesPrecisionsWithACache) {
  encode_well("colbert");
  EXPECT_THAT(score("colbert", joined(all_cached, {"--top", "2", "--precision", "bfloat16"})),
              Notes("bfloat16"));
}

TEST_F(Encode, ReranksFromACacheAsFromTexts) {
  encode_well("colbert");
  program_.write("run.trec",
                 "q1 Q0 d3 1 3 bm25\nq1 Q0 d9 2 2 bm25\nq1 Q0 d1 3 1 bm25\nq2 Q0 d9 1 1 bm25\n");
  const auto rerank = [&](const std::vector<std::string>& more) {
    return program_.run(joined(
        {"rerank", "--checkpoint", "colbert", "--run", "run.trec", "--queries", "queries.tsv"},
        more));
  };
  EXPECT_EQ(rerank({"--documents", "docs.tsv", "-o", "texts.trec"}).exit_code, 0);
  const Outcome cached = rerank({"--cache", "cache", "-o", "cached.trec"});
  EXPECT_EQ(cached.exit_code, 0) << cached.err;
  EXPECT_EQ(program_.read("cached.trec"), program_.read("texts.trec"));
  EXPECT_THAT(rerank({"--cache", "cache", "--max-p", "-o", "x.trec"}).err,
              HasSubstr("remove --max-p and --whole"));
  EXPECT_THAT(rerank({"--cache", "cache", "--documents", "docs.tsv", "-o", "x.trec"}).err,
              HasSubstr("remove --documents"));
  program_.write("run.trec", "q1 Q0 d3 1 3 bm25\nq1 Q0 gone 2 2 bm25\n");
  EXPECT_THAT(rerank({"--cache", "cache", "-o", "x.trec"}).err,
              AllOf(HasSubstr("line 2: document 'gone' is not in cache"), HasSubstr("1 of 2")));
  EXPECT_FALSE(std::filesystem::exists(program_.path("x.trec")));
}

TEST_F(Encode, RefusesTheCacheOfAnotherModel) {
  encode_well("dual");
  const Outcome other = score("colbert", all_cached);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("cache: its documents were encoded by a model of the family "
                                   "'dual-bert', but this one is of 'colbert'; encode them again"));
  EXPECT_EQ(other.out, "");
  TinyCheckpoint trained = TinyCheckpoint::dual_bert();
  trained.tensors["bert_model.embeddings.word_embeddings.weight"].dtype = "F16";
  write_checkpoint("trained", trained);
  EXPECT_THAT(score("trained", all_cached).err, HasSubstr("encoded with other weights"));
}

TEST_F(Encode, RefusesTruncatedCachesAndOtherFiles) {
  encode_well("dual");
  const std::string bytes = program_.read("cache");
  program_.write("cache", bytes.substr(0, bytes.size() - 7));
  Outcome outcome = score("dual", all_cached);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("it is damaged or truncated"));
  outcome = score("dual", {"--cache", "dual/model.safetensors", "--queries", "queries.tsv"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("has no encoded documents"));
}

TEST_F(Encode, RefusesCrossEncoders) {
  write_checkpoint("cross", TinyCheckpoint::cross_bert());
  write_checkpoint("bert", TinyCheckpoint::bert());
  for (const char* checkpoint : {"cross", "bert"}) {
    EXPECT_THAT(
        encode(checkpoint),
        FailsWith(fmt::format(
            "'{}' reads query and document together, so documents cannot be encoded in advance",
            checkpoint)));
  }
  encode_well("dual");
  EXPECT_THAT(score("bert", all_cached).err, HasSubstr("cannot use a cache"));
}

TEST_F(Encode, RefusesADuplicateQuery) {
  encode_well("dual");
  program_.write("twice.tsv", "q1\ta b\nq2\tc\nq1\tc\n");
  EXPECT_THAT(score("dual", {"--cache", "cache", "--queries", "twice.tsv"}),
              FailsWith("line 3: query 'q1' is already in line 1"));
}

TEST_F(Encode, RefusesContradictoryOptions) {
  EXPECT_THAT(score("dual", {}).err, HasSubstr("--pairs is required"));
  EXPECT_THAT(score("dual", {"--queries", "queries.tsv"}).err, HasSubstr("add --cache"));
  EXPECT_THAT(score("dual", {"--queries", "queries.tsv", "--pairs", "queries.tsv"}).err,
              HasSubstr("exclude each other"));
  EXPECT_THAT(encode("dual", {"--dtype", "float61"}).err,
              HasSubstr("--dtype is 'float61'; did you mean 'float16'?"));
  EXPECT_THAT(encode("dual", {"--dtype", "bfloat16"}).err, HasSubstr("not in bfloat16"));
  const Outcome input = program_.run(
      {"encode", "--checkpoint", "dual", "--documents", "docs.tsv", "-o", "./docs.tsv"});
  EXPECT_THAT(input.err, HasSubstr("is an input of this command"));
  EXPECT_THAT(program_.run({"encode", "--checkpoint", "dual", "--documents", "-", "-o", "cache"}),
              FailsWith("documents are read twice"));
}

TEST_F(Encode, NeverReplacesFilesOfTheCheckpoint) {
  encode_well("dual");
  std::filesystem::create_hard_link(program_.path("dual/vocab.txt"), program_.path("linked"));
  for (const char* name :
       {"dual/model.safetensors", "dual/config.json", "dual/vocab.txt", "linked"}) {
    const std::string before = program_.read(name);
    EXPECT_THAT(
        program_.run(
            {"encode", "--checkpoint", "dual", "--documents", "docs.tsv", "--restart", "-o", name}),
        FailsWith(fmt::format("{}: is an input of this command and would be overwritten", name)));
    EXPECT_THAT(score("dual", joined(all_cached, {"-o", name})),
                FailsWith("is an input of this command and would be overwritten"));
    EXPECT_EQ(program_.read(name), before);
  }
}

TEST_F(Encode, RefusesInvalidLinesAndDuplicateIdsBeforeEncoding) {
  program_.write("docs.tsv", "d1\ta\nalone\n");
  EXPECT_THAT(encode("dual").err, HasSubstr("docs.tsv, line 2: has 1 columns"));
  program_.write("docs.tsv", "d1\ta\nd2\tb\nd1\tc\n");
  EXPECT_THAT(encode("dual").err,
              HasSubstr("docs.tsv, line 3: the id 'd1' is also that of line 1"));
  program_.write("docs.tsv", "");
  EXPECT_THAT(encode("dual").err, HasSubstr("docs.tsv: has no documents"));
  EXPECT_FALSE(std::filesystem::exists(program_.path("cache.part")));
}

/// A worker that ends after so many lines of requests: the driver's greeting, the model, the start
/// of the cache, and documents.
std::string worker_for(int lines) {
  return fmt::format("sed -u {}q | {}", lines, ATTNSCOPE_WORKER_PROGRAM);
}

TEST_F(Encode, ContinuesAnInterruptedEncoding) {
  write_documents(2500);
  encode_well("dual", {"--dtype", "int8"});
  const std::string whole = program_.read("cache");
  std::filesystem::remove(program_.path("cache"));
  EXPECT_THAT(encode("dual", {"--dtype", "int8", "--worker", worker_for(5)}),
              FailsWith("the measuring process ended before it answered"));
  EXPECT_FALSE(std::filesystem::exists(program_.path("cache")));
  const Outcome unfinished = score("dual", {"--cache", "cache.part", "--queries", "queries.tsv"});
  EXPECT_THAT(unfinished.err, HasSubstr("of its 2500 documents are encoded"));
  EXPECT_THAT(
      encode("dual"),
      FailsWith("stored in int8, but float32 is requested; finish it with the same settings, "
                "start again with --restart, or name another file"));
  EXPECT_THAT(encode("dual", {"--dtype", "int8"}), Notes("of 2500 documents are already encoded"));
  EXPECT_FALSE(std::filesystem::exists(program_.path("cache.part")));
  EXPECT_EQ(program_.read("cache").size(), whole.size());
  EXPECT_THAT(encode("dual", {"--dtype", "int8"}), Notes("cache already contains these documents"));
  expect_alike(scores("dual", all_cached), direct("dual", 2500), 0.05);
}

TEST_F(Encode, RefusesToContinueWithOtherDocuments) {
  write_documents(2500);
  EXPECT_EQ(encode("dual", {"--worker", worker_for(5)}).exit_code, 2);
  write_documents(2400);
  EXPECT_THAT(encode("dual"),
              FailsWith("other documents than these (2500 of 'docs.tsv', now 2400 of "
                        "'docs.tsv')"));
  encode_well("dual", {"--restart"});
  EXPECT_THAT(score("dual", all_cached).err, Not(HasSubstr("attnscope")));
}

TEST_F(Encode, RefusesToReplaceExistingFiles) {
  program_.write("cache", "notes");
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--restart"}}) {
    EXPECT_THAT(
        encode("dual", how),
        FailsWith(
            "cache: exists and is not a cache of documents; move it away, or name another file"));
    EXPECT_EQ(program_.read("cache"), "notes");
  }
  std::filesystem::remove(program_.path("cache"));
  encode_well("dual");
  const std::string whole = program_.read("cache");
  EXPECT_THAT(encode("colbert").err, HasSubstr("is a cache whose documents were encoded by a model "
                                               "of the family 'dual-bert'"));
  EXPECT_EQ(program_.read("cache"), whole);
}

TEST_F(Encode, RefusesDocumentsThatChangeWhileTheyAreRead) {
  write_documents(2500);
  const std::string before = program_.read("docs.tsv");
  program_.write("other.tsv", before.substr(0, before.rfind("d2499")) + "d2499\tp\n");
  const std::string change =
      fmt::format("sed -u '/begin-cache/e cp {} {}' | {}", program_.path("other.tsv").string(),
                  program_.path("docs.tsv").string(), ATTNSCOPE_WORKER_PROGRAM);
  EXPECT_THAT(encode("dual", {"--worker", change}),
              FailsWith("cache.part: the documents changed while they were read; run "
                        "again with --restart"));
  EXPECT_FALSE(std::filesystem::exists(program_.path("cache")));
  program_.write("docs.tsv", before);
  EXPECT_THAT(encode("dual").err, HasSubstr("the 2500 documents encoded so far differ from the "
                                            "file's current ones; restart with --restart"));
  encode_well("dual", {"--restart"});
}

TEST_F(Encode, RefusesACacheOfAnotherTokenizer) {
  write_documents(2500);
  EXPECT_EQ(encode("dual", {"--worker", worker_for(5)}).exit_code, 2);
  const std::string other = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\nc\nd\ne\nf\ng\nh\n";
  program_.write("dual/vocab.txt", other);
  EXPECT_THAT(encode("dual").err,
              HasSubstr("cache.part: its documents were tokenized by another tokenizer than the "
                        "checkpoint has now; finish it with the same settings"));
  program_.write("dual/vocab.txt", letters);
  encode_well("dual");
  program_.write("dual/vocab.txt", other);
  EXPECT_THAT(score("dual", all_cached),
              Refuses("cache: its documents were tokenized by another tokenizer than the "
                      "checkpoint has now; encode them again"));
}

TEST_F(Encode, RefusesACacheOfAnotherPatternWithTheSameName) {
  const auto pattern = [&](const char* query) {
    program_.write("mine.json", fmt::format(R"({{"name": "full", "attends": {{
        "cls": {{"cls": "whole", "document": "whole"}}, "query": {{"query": "whole"}},
        "document": {{"{}": "whole", "document": "whole"}}}}}})",
                                            query));
  };
  pattern("cls");
  encode_well("dual", {"--pattern", "mine.json"});
  const std::vector<std::string> cached{"--pattern", "mine.json", "--cache",
                                        "cache",     "--queries", "queries.tsv"};
  const Outcome same = score("dual", cached);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  pattern("query");
  const Outcome other = score("dual", cached);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("encoded as 'full "), HasSubstr("encode them again")));
}

TEST_F(Encode, RefusesACacheWithAChangedByte) {
  for (const char* checkpoint : {"dual", "colbert", "tkl"}) {
    encode_well(checkpoint, {"--restart"});
    std::string bytes = program_.read("cache");
    const std::size_t ids = bytes.rfind("d0d1d2d3");
    ASSERT_NE(ids, std::string::npos);
    bytes[ids - 2] ^= 1;
    program_.write("cache", bytes);
    EXPECT_THAT(score(checkpoint, all_cached),
                Refuses("the cache is damaged: its checksum differs"))
        << checkpoint;
  }
}

TEST_F(Encode, RefusesFinishedAndUnfinishedCachesWithOtherHeads) {
  write_documents(2500);
  EXPECT_EQ(encode("tkl", {"--worker", worker_for(5)}).exit_code, 2);
  TinyCheckpoint other = TinyCheckpoint::tkl();
  other.config["attention_heads"] = "4";
  other.write(program_.path("tkl"));
  EXPECT_THAT(encode("tkl").err,
              HasSubstr("cache.part: its documents were encoded as 'chunks of 40 words, 2 heads', "
                        "but the model encodes them as 'chunks of 40 words, 4 heads'; finish it "
                        "with the same settings"));
  TinyCheckpoint::tkl().write(program_.path("tkl"));
  encode_well("tkl");
  other.write(program_.path("tkl"));
  EXPECT_THAT(score("tkl", all_cached),
              Refuses("cache: its documents were encoded as 'chunks of 40 words, 2 "
                      "heads', but the model encodes them as"));
}

TEST_F(Encode, RefusesACacheWithAnotherTokenLimit) {
  write_documents(2500);
  EXPECT_EQ(encode("tkl", {"--worker", worker_for(5)}).exit_code, 2);
  EXPECT_THAT(
      encode("tkl", {"--max-tokens", "5"}).err,
      HasSubstr("cache.part: its documents were truncated to 200 tokens, but 5 are requested; "
                "finish it with the same settings"));
  encode_well("tkl", {"--restart", "--max-tokens", "5"});
  std::vector<std::string> all = all_cached;
  EXPECT_THAT(score("tkl", all),
              Notes("note: the documents of cache were truncated to 5 tokens when they "
                    "were encoded"));
  all.insert(all.end(), {"--max-tokens", "5"});
  EXPECT_EQ(score("tkl", all).err, "");
  all.back() = "6";
  EXPECT_THAT(score("tkl", all),
              Refuses("cache: its documents were truncated to 5 tokens when they were encoded, and "
                      "--max-tokens is 6; remove it, or encode them again"));
}

TEST_F(Encode, ScoresEmptyDocumentsAsWithoutTheCache) {
  for (const char* documents : {"d0\ta b\nd1\t\nd2\t  \nd3\tc\n", "d1\t\n"}) {
    program_.write("docs.tsv", documents);
    encode_well("tkl", {"--restart"});
    program_.write("texts.tsv",
                   "q1\td0\ta b\ta b\nq1\td1\ta b\t\nq1\td2\ta b\t  \n"
                   "q1\td3\ta b\tc\n");
    program_.write("one.tsv", "q1\ta b\n");
    const auto direct = scores("tkl", {"--pairs", "texts.tsv"});
    const auto cached = scores("tkl", {"--cache", "cache", "--queries", "one.tsv"});
    ASSERT_EQ(direct.size(), 4U);
    if (cached.size() == 1) {
      EXPECT_EQ(cached[0].score, direct[1].score);
    } else {
      expect_alike(cached, direct, 0);
    }
  }
}

TEST_F(Encode, RefusesACacheThatAnotherProcessEncodes) {
  write_documents(2500);
  EXPECT_EQ(encode("dual", {"--worker", worker_for(5)}).exit_code, 2);
  const auto claim = CacheClaim::take(program_.path("cache"));
  ASSERT_TRUE(claim);
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--restart"}}) {
    EXPECT_THAT(
        encode("dual", how),
        FailsWith(fmt::format(
            "cache: is being encoded by process {}; wait until it ends, or stop it", ::getpid())));
  }
}

TEST_F(Encode, ASecondCommandIsRefusedWhileTheFirstEncodes) {
  write_documents(2500);
  // A second command while the first one's documents are on the way.
  const std::string second = fmt::format(
      "sed -u '/add-documents/e {} encode --checkpoint {} --documents {} -o {} 2>>{}' | {}",
      ATTNSCOPE_PROGRAM, program_.path("dual").string(), program_.path("docs.tsv").string(),
      program_.path("cache").string(), program_.path("second").string(), ATTNSCOPE_WORKER_PROGRAM);
  const Outcome first = encode("dual", {"--worker", second});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(program_.read("second"), HasSubstr("cache: is being encoded by process "));
}

TEST_F(Encode, ReportsACacheThatIsTruncatedWhileItIsRead) {
  encode_well("dual");
  // The worker is the process that is waited for: in a pipeline its shell would outlive it.
  const std::string cutting = fmt::format(
      "mkfifo {0}; exec 8<&0; sed -u '/\"score\"/e truncate -s 4096 {1}' <&8 >{0} 2>/dev/null & "
      "exec {2} <{0} 8<&-",
      program_.path("requests").string(), program_.path("cache").string(),
      ATTNSCOPE_WORKER_PROGRAM);
  write_documents(2500);
  encode_well("dual", {"--restart"});
  EXPECT_THAT(score("dual", joined(all_cached, {"--worker", cutting})),
              FailsWith("cache: was truncated to 4096 bytes while it was read; encode its "
                        "documents again (0 scores before it are written)"));
}

TEST_F(Encode, RefusesAMissingFolder) {
  const Outcome outcome =
      program_.run({"encode", "--checkpoint", "dual", "--documents", "docs.tsv", "-o", "no/cache"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no/cache: "));
  EXPECT_THAT(outcome.err, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace attnscope::testing
