// SPDX-License-Identifier: Apache-2.0
//
// `encode` and `score --cache` on small checkpoints with random weights.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/spawn.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using tests::TinyCheckpoint;

const char* const words = "@@UNKNOWN@@\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\n";

/// Scores all queries against the whole cache.
const std::string all_cached = "--cache cache --queries queries.tsv";

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
class Encode : public ProgramTest {
 protected:
  Encode() {
    write_checkpoint("dual", TinyCheckpoint::dual_bert());
    write_checkpoint("colbert", TinyCheckpoint::colbert());
    write_checkpoint("tkl", TinyCheckpoint::tkl());
    program.write("tkl/tokens.txt", words);
    write_documents(40);
    program.write("queries.tsv", "q1\ta b\nq2\tc\n");
  }

  void write_checkpoint(const std::string& name, const TinyCheckpoint& checkpoint) const {
    fs::create_directory(program.path(name));
    checkpoint.write(program.path(name));
    program.write(name + "/vocab.txt", letters);
  }
  void write_documents(int count) const {
    std::string tsv;
    for (int i = 0; i < count; ++i) tsv += fmt::format("d{}\t{}\n", i, text_of_document(i));
    program.write("docs.tsv", tsv);
  }

  [[nodiscard]] Outcome encode(const std::string& checkpoint, const std::string& more = "",
                               const std::string& out = "cache") const {
    return program.run(
        fmt::format("encode --checkpoint {} --documents docs.tsv -o {} {}", checkpoint, out, more));
  }
  void encode_well(const std::string& checkpoint, const std::string& more = "") const {
    ASSERT_THAT(encode(checkpoint, more), Succeeds());
  }
  /// Starts to encode 2500 documents with a worker that ends after five lines of requests: the
  /// greeting, the model, the start of the cache, and documents.
  void encode_partly(const std::string& checkpoint, const std::string& more = "") const {
    write_documents(2500);
    EXPECT_THAT(encode(checkpoint, more + with_worker("sed -u 5q | ")),
                FailsWith("the measuring process ended before it answered"));
  }
  /// The option for a worker that reads its requests through `filter`.
  [[nodiscard]] static std::string with_worker(const std::string& filter) {
    return " --worker " + shell_word(filter + ATTNSCOPE_WORKER_PROGRAM);
  }
  [[nodiscard]] Outcome score(const std::string& checkpoint, const std::string& more) const {
    return program.run(fmt::format("score --checkpoint {} ", checkpoint) + more);
  }
  [[nodiscard]] std::vector<ScoredLine> scores(const std::string& checkpoint,
                                               const std::string& more) const {
    const Outcome outcome = score(checkpoint, more);
    EXPECT_THAT(outcome, Succeeds());
    std::vector<ScoredLine> lines;
    std::istringstream text(outcome.out);
    ScoredLine line;
    while (text >> line.query >> line.document >> line.score) lines.push_back(line);
    return lines;
  }
  /// The scores of pairs of texts, without a cache.
  [[nodiscard]] std::vector<ScoredLine> direct(const std::string& checkpoint, int documents,
                                               const std::string& more = "") const {
    std::string tsv;
    for (const char* query : {"q1\t{}\ta b\t{}\n", "q2\t{}\tc\t{}\n"}) {
      for (int i = 0; i < documents; ++i)
        tsv += fmt::format(fmt::runtime(query), fmt::format("d{}", i), text_of_document(i));
    }
    program.write("texts.tsv", tsv);
    return scores(checkpoint, "--pairs texts.tsv " + more);
  }
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
  std::vector<BeirDocument> corpus;
  for (int i = 0; i < 40; ++i) corpus.push_back({fmt::format("d{}", i), "", text_of_document(i)});
  write_beir(program, corpus, {{"q0", "d"}, {"q1", "a b"}}, "q1\td3\t2\n");
  const auto encoded = [&](const std::string& what, const std::string& cache) {
    return program.run(fmt::format("encode --checkpoint dual -o {} ", cache) + what);
  };
  ASSERT_THAT(encoded("--documents docs.tsv", "tsv"), Succeeds());
  ASSERT_THAT(encoded("--beir set", "beir"), Succeeds());
  program.write("q1.tsv", "q1\ta b\n");
  const Outcome expected = score("dual", "--cache tsv --queries q1.tsv");
  ASSERT_THAT(expected, Succeeds());
  EXPECT_EQ(score("dual", "--cache beir --beir set").out, expected.out);
  for (const std::string out : {"set/queries.jsonl", "set/qrels/test.tsv", "beir"}) {
    EXPECT_THAT(score("dual", "--cache beir --beir set -o " + out).err,
                HasSubstr(out + ": is an input of this command"));
  }
  EXPECT_EQ(score("dual", "--cache beir --beir set").out, expected.out);
  EXPECT_THAT(encoded("--beir set --restart", "set/corpus.jsonl").err,
              HasSubstr("set/corpus.jsonl: is an input of this command"));
  EXPECT_THAT(score("dual", "--beir set").err, HasSubstr("--beir has no pairs; add --cache"));
  EXPECT_THAT(encoded("", "none").err, HasSubstr("--documents or --beir is required"));
}

TEST_F(Encode, ScoresFromTheCacheEqualThoseOfTheTexts) {
  for (const char* checkpoint : {"dual", "colbert", "tkl"}) {
    encode_well(checkpoint, "--restart");
    const auto all = scores(checkpoint, all_cached);
    ASSERT_EQ(all.size(), 80U);
    EXPECT_NE(all[0].score, all[1].score);
    expect_alike(all, direct(checkpoint, 40), 1e-6);
  }
  encode_well("colbert", "--restart --max-tokens 6");
  expect_alike(scores("colbert", all_cached), direct("colbert", 40, "--max-tokens 6"), 1e-6);
}

TEST_F(Encode, SmallerFormatsReportTheirErrorAndScoreSimilarly) {
  const auto expected = direct("colbert", 40);
  for (const std::string dtype : {"float16", "int8"}) {
    EXPECT_THAT(
        encode("colbert", "--restart --dtype " + dtype),
        Prints("cache: 40 documents, ", "relative error of the vectors in " + dtype + ": 0."));
    expect_alike(scores("colbert", all_cached), expected, 0.05);
  }
}

TEST_F(Encode, ReportsTruncatedTexts) {
  EXPECT_THAT(encode("dual", "--max-tokens 4"),
              Notes("of 40 documents were truncated to 4 tokens"));
  program.write("queries.tsv", "q1\ta b\nq2\tc d e f g h\n");
  EXPECT_THAT(score("dual", all_cached + " --max-query-tokens 4"),
              Notes("1 of 2 queries was truncated to 4 tokens"));
}

TEST_F(Encode, ReportsTheLineOfADocumentWithoutAVector) {
  fs::copy(golden("checkpoints/encoder-kept"), program.path("kept"), fs::copy_options::recursive);
  program.write("kept/1_MultiVectorMask/config.json",
                R"({"skiplist_words": [], "skiplist_tasks": ["document"],
                     "keep_only_token_ids": [5]})");
  program.write("docs.tsv", "d1\ta b\nd2\tb c\n");
  EXPECT_THAT(encode("kept"),
              FailsWith("docs.tsv, line 2: the document has no token with a vector"));
  program.write("pairs.tsv", "a\ta b\na\tb c\n");
  EXPECT_THAT(score("kept", "--pairs pairs.tsv").err,
              HasSubstr("pairs.tsv, line 2: the document has no token with a vector"));
}

TEST_F(Encode, RefusesACachedIdWithABlankInATrecRun) {
  program.write("docs.tsv", "d 1\ta b\n");
  encode_well("dual");
  EXPECT_THAT(score("dual", all_cached), Succeeds());
  EXPECT_THAT(score("dual", all_cached + " --format trec"),
              FailsWith("cache: a TREC run needs a document id without blanks, not 'd 1'"));
}

TEST_F(Encode, ScoresCachedDocumentsByTheirIds) {
  encode_well("dual");
  program.write("named.tsv", "q1\td7\ta b\nq2\td3\tc\nq1\td39\ta b\n");
  const auto named = scores("dual", "--cache cache --pairs named.tsv");
  const auto all = direct("dual", 40);
  expect_alike(named, {all[7], all[43], all[39]}, 1e-6);
  // The texts of documents in the pairs are ignored.
  expect_alike(scores("dual", "--cache cache --pairs texts.tsv"), all, 1e-6);
  program.write("named.jsonl", "{\"qid\": \"q1\", \"docno\": \"d7\", \"query\": \"a b\"}\n");
  EXPECT_THAT(score("dual", "--cache cache --pairs named.jsonl"), Prints("q1\td7\t"));
}

TEST_F(Encode, ReportsIdsThatAreNotInTheCache) {
  encode_well("dual");
  program.write("named.tsv", "q1\td7\ta b\nq1\tx\ta b\nq1\ty\ta b\nq1\td1\ta b\n");
  const Outcome outcome = score("dual", "--cache cache --pairs named.tsv");
  EXPECT_THAT(outcome,
              FailsWith("named.tsv, line 2: document 'x' is not among the 40 of cache, nor "
                        "are 'y'; encode them, or remove them (1 scores before it are "
                        "written)"));
  EXPECT_THAT(outcome.out, HasSubstr("q1\td7\t"));
}

TEST_F(Encode, WritesATrecRunOfAllDocuments) {
  encode_well("dual");
  const Outcome outcome = score("dual", all_cached + " --format trec");
  EXPECT_THAT(outcome, Prints("q1 Q0 ", " 40 "));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 80);
}

TEST_F(Encode, WritesTheBestDocumentsOfACache) {
  encode_well("colbert");
  const std::vector<ScoredLine> all = scores("colbert", all_cached);
  const std::vector<ScoredLine> best = scores("colbert", all_cached + " --top 3");
  ASSERT_EQ(best.size(), 6U);
  for (const ScoredLine& line : best) {
    const auto better = std::ranges::count_if(all, [&](const ScoredLine& other) {
      return other.query == line.query && other.score > line.score;
    });
    EXPECT_LT(better, 3) << line.query << " " << line.document;
  }
  EXPECT_THAT(score("colbert", all_cached + " --top 2 --precision bfloat16"), Notes("bfloat16"));
}

TEST_F(Encode, ReranksFromACacheAsFromTexts) {
  encode_well("colbert");
  program.write("run.trec",
                "q1 Q0 d3 1 3 bm25\nq1 Q0 d9 2 2 bm25\nq1 Q0 d1 3 1 bm25\nq2 Q0 d9 1 1 bm25\n");
  const auto rerank = [&](const std::string& more) {
    return program.run("rerank --checkpoint colbert --run run.trec --queries queries.tsv " + more);
  };
  EXPECT_THAT(rerank("--documents docs.tsv -o texts.trec"), Succeeds());
  EXPECT_THAT(rerank("--cache cache -o cached.trec"), Succeeds());
  EXPECT_EQ(program.read("cached.trec"), program.read("texts.trec"));
  EXPECT_THAT(rerank("--cache cache --max-p -o x.trec").err,
              HasSubstr("remove --max-p and --whole"));
  EXPECT_THAT(rerank("--cache cache --documents docs.tsv -o x.trec").err,
              HasSubstr("remove --documents"));
  program.write("run.trec", "q1 Q0 d3 1 3 bm25\nq1 Q0 gone 2 2 bm25\n");
  EXPECT_THAT(rerank("--cache cache -o x.trec").err,
              AllOf(HasSubstr("line 2: document 'gone' is not in cache"), HasSubstr("1 of 2")));
  EXPECT_FALSE(program.has("x.trec"));
}

TEST_F(Encode, RefusesTheCacheOfAnotherModel) {
  encode_well("dual");
  EXPECT_THAT(score("colbert", all_cached),
              Refuses("cache: its documents were encoded by a model of the family 'dual-bert', but "
                      "this one is of 'colbert'; encode them again"));
  TinyCheckpoint trained = TinyCheckpoint::dual_bert();
  trained.tensors["bert_model.embeddings.word_embeddings.weight"].dtype = "F16";
  write_checkpoint("trained", trained);
  EXPECT_THAT(score("trained", all_cached).err, HasSubstr("encoded with other weights"));
}

TEST_F(Encode, RefusesDamagedCachesAndOtherFiles) {
  for (const std::string checkpoint : {"dual", "colbert", "tkl"}) {
    encode_well(checkpoint, "--restart");
    const std::string bytes = program.read("cache");
    std::string changed = bytes;
    const std::size_t ids = bytes.rfind("d0d1d2d3");
    ASSERT_NE(ids, std::string::npos);
    changed[ids - 2] ^= 1;
    program.write("cache", changed);
    EXPECT_THAT(score(checkpoint, all_cached),
                Refuses("the cache is damaged: its checksum differs"));
    program.write("cache", bytes.substr(0, bytes.size() - 7));
    EXPECT_THAT(score(checkpoint, all_cached), FailsWith("it is damaged or truncated"));
    fs::remove(program.path("cache"));
  }
  EXPECT_THAT(score("dual", "--cache dual/model.safetensors --queries queries.tsv"),
              FailsWith("has no encoded documents"));
}

TEST_F(Encode, RefusesCrossEncoders) {
  write_checkpoint("cross", TinyCheckpoint::cross_bert());
  write_checkpoint("bert", TinyCheckpoint::bert());
  for (const std::string checkpoint : {"cross", "bert"}) {
    EXPECT_THAT(encode(checkpoint), FailsWith("'" + checkpoint +
                                              "' reads query and document together, so documents "
                                              "cannot be encoded in advance"));
  }
  encode_well("dual");
  EXPECT_THAT(score("bert", all_cached).err, HasSubstr("cannot use a cache"));
}

TEST_F(Encode, RefusesContradictoryOptionsAndQueries) {
  EXPECT_THAT(score("dual", ""), FailsWith("--pairs is required"));
  EXPECT_THAT(score("dual", "--queries queries.tsv"), FailsWith("add --cache"));
  EXPECT_THAT(score("dual", "--queries queries.tsv --pairs queries.tsv"),
              FailsWith("exclude each other"));
  EXPECT_THAT(encode("dual", "--dtype float61"),
              FailsWith("--dtype is 'float61'; did you mean 'float16'?"));
  EXPECT_THAT(encode("dual", "--dtype bfloat16"), FailsWith("not in bfloat16"));
  EXPECT_THAT(encode("dual", "", "./docs.tsv"), FailsWith("is an input of this command"));
  EXPECT_THAT(encode("dual", "", "c.cache.gz"), FailsWith("c.cache.gz: a cache is memory-mapped"));
  EXPECT_THAT(encode("dual", "", "no/cache"), FailsWith("no/cache: ", "No such file or directory"));
  EXPECT_THAT(program.run("encode --checkpoint dual --documents - -o cache"),
              FailsWith("documents are read twice"));
  encode_well("dual");
  program.write("twice.tsv", "q1\ta b\nq2\tc\nq1\tc\n");
  EXPECT_THAT(score("dual", "--cache cache --queries twice.tsv"),
              FailsWith("line 3: query 'q1' is already in line 1"));
}

TEST_F(Encode, NeverReplacesFilesOfTheCheckpoint) {
  encode_well("dual");
  fs::create_hard_link(program.path("dual/vocab.txt"), program.path("linked"));
  for (const std::string name :
       {"dual/model.safetensors", "dual/config.json", "dual/vocab.txt", "linked"}) {
    const std::string before = program.read(name);
    EXPECT_THAT(encode("dual", "--restart", name),
                FailsWith(name + ": is an input of this command and would be overwritten"));
    EXPECT_THAT(score("dual", all_cached + " -o " + name),
                FailsWith("is an input of this command and would be overwritten"));
    EXPECT_EQ(program.read(name), before);
  }
}

TEST_F(Encode, RefusesInvalidLinesAndDuplicateIdsBeforeEncoding) {
  program.write("docs.tsv", "d1\ta\nalone\n");
  EXPECT_THAT(encode("dual").err, HasSubstr("docs.tsv, line 2: has 1 columns"));
  program.write("docs.tsv", "d1\ta\nd2\tb\nd1\tc\n");
  EXPECT_THAT(encode("dual").err,
              HasSubstr("docs.tsv, line 3: the id 'd1' is also that of line 1"));
  program.write("docs.tsv", "");
  EXPECT_THAT(encode("dual").err, HasSubstr("docs.tsv: has no documents"));
  EXPECT_FALSE(program.has("cache.part"));
}

TEST_F(Encode, ContinuesAnInterruptedEncoding) {
  write_documents(2500);
  encode_well("dual", "--dtype int8");
  const std::string whole = program.read("cache");
  fs::remove(program.path("cache"));
  encode_partly("dual", "--dtype int8");
  EXPECT_FALSE(program.has("cache"));
  EXPECT_THAT(score("dual", "--cache cache.part --queries queries.tsv").err,
              HasSubstr("of its 2500 documents are encoded"));
  EXPECT_THAT(
      encode("dual"),
      FailsWith("stored in int8, but float32 is requested; finish it with the same settings, "
                "start again with --restart, or name another file"));
  EXPECT_THAT(encode("dual", "--dtype int8"), Notes("of 2500 documents are already encoded"));
  EXPECT_FALSE(program.has("cache.part"));
  EXPECT_EQ(program.read("cache").size(), whole.size());
  EXPECT_THAT(encode("dual", "--dtype int8"), Notes("cache already contains these documents"));
  expect_alike(scores("dual", all_cached), direct("dual", 2500), 0.05);
}

TEST_F(Encode, RefusesToContinueWithOtherDocuments) {
  encode_partly("dual");
  write_documents(2400);
  EXPECT_THAT(encode("dual"),
              FailsWith("other documents than these (2500 of 'docs.tsv', now 2400 of "
                        "'docs.tsv')"));
  encode_well("dual", "--restart");
  EXPECT_THAT(score("dual", all_cached).err, Not(HasSubstr("attnscope")));
}

TEST_F(Encode, RefusesDocumentsThatChangeWhileTheyAreRead) {
  write_documents(2500);
  const std::string before = program.read("docs.tsv");
  program.write("other.tsv", before.substr(0, before.rfind("d2499")) + "d2499\tp\n");
  EXPECT_THAT(encode("dual", with_worker(fmt::format("sed -u '/begin-cache/e cp {} {}' | ",
                                                     program.path("other.tsv").string(),
                                                     program.path("docs.tsv").string()))),
              FailsWith("cache.part: the documents changed while they were read; run again with "
                        "--restart"));
  EXPECT_FALSE(program.has("cache"));
  program.write("docs.tsv", before);
  EXPECT_THAT(encode("dual").err, HasSubstr("the 2500 documents encoded so far differ from the "
                                            "file's current ones; restart with --restart"));
  encode_well("dual", "--restart");
}

TEST_F(Encode, RefusesACacheOfAnotherTokenizer) {
  encode_well("dual");
  program.write("dual/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\nc\nd\ne\nf\ng\nh\n");
  EXPECT_THAT(score("dual", all_cached),
              Refuses("cache: its documents were tokenized by another tokenizer than the "
                      "checkpoint has now; encode them again"));
}

TEST_F(Encode, RefusesACacheOfAnotherPatternWithTheSameName) {
  const auto pattern = [&](const char* query) {
    program.write("mine.json", fmt::format(R"({{"name": "full", "attends": {{
        "cls": {{"cls": "whole", "document": "whole"}}, "query": {{"query": "whole"}},
        "document": {{"{}": "whole", "document": "whole"}}}}}})",
                                           query));
  };
  pattern("cls");
  encode_well("dual", "--pattern mine.json");
  const std::string cached = "--pattern mine.json --cache cache --queries queries.tsv";
  EXPECT_THAT(score("dual", cached), Succeeds());
  pattern("query");
  EXPECT_THAT(score("dual", cached), FailsWith("encoded as 'full ", "encode them again"));
}

TEST_F(Encode, RefusesFinishedAndUnfinishedCachesWithOtherHeads) {
  encode_partly("tkl");
  TinyCheckpoint other = TinyCheckpoint::tkl();
  other.config["attention_heads"] = "4";
  other.write(program.path("tkl"));
  EXPECT_THAT(encode("tkl"),
              FailsWith("cache.part: its documents were encoded as 'chunks of 40 words, 2 heads', "
                        "but the model encodes them as 'chunks of 40 words, 4 heads'; finish it "
                        "with the same settings"));
  encode_well("tkl", "--restart");
  TinyCheckpoint::tkl().write(program.path("tkl"));
  EXPECT_THAT(score("tkl", all_cached),
              Refuses("cache: its documents were encoded as 'chunks of 40 words, 4 heads', but the "
                      "model encodes them as"));
}

TEST_F(Encode, RefusesACacheWithAnotherTokenLimit) {
  encode_partly("tkl");
  EXPECT_THAT(
      encode("tkl", "--max-tokens 5").err,
      HasSubstr("cache.part: its documents were truncated to 200 tokens, but 5 are requested; "
                "finish it with the same settings"));
  encode_well("tkl", "--restart --max-tokens 5");
  EXPECT_THAT(score("tkl", all_cached),
              Notes("note: the documents of cache were truncated to 5 tokens when they were "
                    "encoded"));
  EXPECT_EQ(score("tkl", all_cached + " --max-tokens 5").err, "");
  EXPECT_THAT(score("tkl", all_cached + " --max-tokens 6"),
              Refuses("cache: its documents were truncated to 5 tokens when they were encoded, and "
                      "--max-tokens is 6; remove it, or encode them again"));
}

TEST_F(Encode, ScoresEmptyDocumentsAsWithoutTheCache) {
  for (const char* documents : {"d0\ta b\nd1\t\nd2\t  \nd3\tc\n", "d1\t\n"}) {
    program.write("docs.tsv", documents);
    encode_well("tkl", "--restart");
    program.write("texts.tsv",
                  "q1\td0\ta b\ta b\nq1\td1\ta b\t\nq1\td2\ta b\t  \n"
                  "q1\td3\ta b\tc\n");
    program.write("one.tsv", "q1\ta b\n");
    const auto direct = scores("tkl", "--pairs texts.tsv");
    const auto cached = scores("tkl", "--cache cache --queries one.tsv");
    ASSERT_EQ(direct.size(), 4U);
    if (cached.size() == 1) {
      EXPECT_EQ(cached[0].score, direct[1].score);
    } else {
      expect_alike(cached, direct, 0);
    }
  }
}

TEST_F(Encode, ASecondCommandIsRefusedWhileTheFirstEncodes) {
  write_documents(2500);
  // The worker starts two more commands when documents of the first arrive.
  const std::string second = fmt::format(
      "sed -u '/add-documents/e for how in \"\" --restart; do {0} encode --checkpoint {1}/dual "
      "--documents {1}/docs.tsv -o {1}/cache $how 2>>{1}/second; done' | ",
      ATTNSCOPE_PROGRAM, program.path(".").string());
  EXPECT_THAT(encode("dual", with_worker(second)), Succeeds());
  std::istringstream errors(program.read("second"));
  int refused = 0;
  for (std::string line; std::getline(errors, line); ++refused) {
    EXPECT_THAT(line, AllOf(HasSubstr("cache: is being encoded by process "),
                            HasSubstr("; wait until it ends, or stop it")));
  }
  EXPECT_GE(refused, 2);
}

TEST_F(Encode, ReportsACacheThatIsTruncatedWhileItIsRead) {
  // The worker is the process that is waited for: in a pipeline its shell would outlive it.
  const std::string cutting = fmt::format(
      "mkfifo {0}; exec 8<&0; sed -u '/\"score\"/e truncate -s 4096 {1}' <&8 >{0} 2>/dev/null & "
      "exec {2} <{0} 8<&-",
      program.path("requests").string(), program.path("cache").string(), ATTNSCOPE_WORKER_PROGRAM);
  write_documents(2500);
  encode_well("dual");
  EXPECT_THAT(score("dual", all_cached + " --worker " + shell_word(cutting)),
              FailsWith("cache: was truncated to 4096 bytes while it was read; encode its "
                        "documents again (0 scores before it are written)"));
}

}  // namespace
}  // namespace attnscope::testing
