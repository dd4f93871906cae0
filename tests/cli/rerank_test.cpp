// SPDX-License-Identifier: Apache-2.0
//
// `rerank` on a small checkpoint with random weights.

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/base/packed.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

constexpr int documents = 12;

/// Document i has 6 * i + 1 tokens; the model has room for 64 with the query.
std::string document_text(int i) {
  std::string text;
  for (int token = 0; token <= 6 * i; ++token)
    text += fmt::format("{} ", static_cast<char>('a' + (i * 5 + token * token) % 16));
  return text;
}

class Rerank : public ProgramTest {
 protected:
  Rerank() {
    tests::TinyCheckpoint::bert().write(program.path(""));
    program.write("vocab.txt", letters);
    program.write("queries.tsv", "q1\ta b c\nq2\td e\nq3\tf\n");
    std::string collection, run;
    for (int i = documents - 1; i >= 0; --i)
      collection += fmt::format("d{}\t{}\n", i, document_text(i));
    program.write("documents.tsv", collection);
    for (const char* query : {"q2", "q1"}) {
      for (int i = 0; i < documents; ++i)
        run += fmt::format("{} Q0 d{} {} {} bm25\n", query, i, i + 1, 100 - i);
    }
    program.write("bm25.trec", run);
  }

  [[nodiscard]] Outcome rerank(const std::string& more = "",
                               const std::string& out = "out.trec") const {
    return program.run(
        fmt::format("rerank --checkpoint . --run bm25.trec --queries queries.tsv "
                    "--documents documents.tsv -o {} {}",
                    out, more));
  }
  /// "q1 d3" -> score, of the run that was written.
  [[nodiscard]] std::map<std::string, double> written() const {
    std::map<std::string, double> scores;
    std::istringstream lines(program.read("out.trec"));
    std::string query, zero, document, rank, score, tag;
    while (lines >> query >> zero >> document >> rank >> score >> tag)
      scores[query + " " + document] = std::stod(score);
    return scores;
  }
  /// The scores of `score` for these documents with the query.
  [[nodiscard]] std::vector<double> scored(const std::string& query,
                                           const std::vector<std::string>& texts) const {
    std::string pairs;
    for (const std::string& text : texts) pairs += fmt::format("{}\t{}\n", query, text);
    program.write("pairs.tsv", pairs);
    const Outcome outcome = program.run("score --checkpoint . --pairs pairs.tsv");
    EXPECT_THAT(outcome, Succeeds());
    std::vector<double> scores = scores_in(outcome.out);
    EXPECT_EQ(scores.size(), texts.size());
    scores.resize(texts.size());
    return scores;
  }
  /// Tokens [begin, end) of document i.
  [[nodiscard]] static std::string part(int i, std::size_t begin, std::size_t end) {
    return document_text(i).substr(2 * begin, 2 * (end - begin));
  }
};

TEST_F(Rerank, DefaultTagNamesWhatIsNotTheCheckpointsOwn) {
  const std::string own = fs::canonical(program.path("")).filename().string();
  using Row = std::pair<const char*, const char*>;
  for (const auto& [options, differs] :
       {Row{"", ""}, Row{"--pattern full", ""}, Row{"--pattern sparse --window 4", "-sparse-w4"},
        Row{"--pattern sparse --window inf", "-sparse-winf"}, Row{"--precision int8", "-int8"},
        Row{"--pattern full --dtype bfloat16", "-bfloat16"}}) {
    ASSERT_THAT(rerank(options), Succeeds());
    EXPECT_THAT(program.read("out.trec"), ::testing::EndsWith(" " + own + differs + "\n"));
  }
}

TEST_F(Rerank, ReadsAndWritesCompressedFiles) {
  ASSERT_THAT(rerank("--tag mine"), Succeeds());
  const std::string plain = program.read("out.trec");
  for (const std::string name : {"bm25.trec", "queries.tsv", "documents.tsv"}) {
    program.write(name + ".gz", tests::packed(program.read(name)));
    fs::remove(program.path(name));
  }
  EXPECT_THAT(program.run("rerank --checkpoint . --run bm25.trec.gz --queries queries.tsv.gz "
                          "--documents documents.tsv.gz -o out.trec.gz --tag mine"),
              Succeeds());
  EXPECT_EQ(tests::unpacked(program.path("out.trec.gz")), plain);
}

TEST_F(Rerank, WritesTheRunToStandardOutputAndRemovesTemporaryFilesOfAKilledCommand) {
  program.write("out.trec.part-aB3xYz", "half");
  ASSERT_THAT(rerank(), Succeeds());
  EXPECT_FALSE(program.has("out.trec.part-aB3xYz"));
  const std::string written = program.read("out.trec");
  EXPECT_EQ(rerank("", "-").out, written);
}

TEST_F(Rerank, RanksCandidatesByTheScoresOfTheirTexts) {
  EXPECT_THAT(rerank("--tag mine"),
              Notes("4 of 24 documents were truncated; a pair has at most 64 tokens; --max-p also "
                    "scores the ends of documents"));
  const auto scores = written();
  ASSERT_EQ(scores.size(), 2U * documents);
  std::vector<std::string> texts;
  for (int i = 0; i < documents; ++i) texts.push_back(document_text(i));
  for (const auto& [id, text] : {std::pair("q1", "a b c"), std::pair("q2", "d e")}) {
    const std::vector<double> expected = scored(text, texts);
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_NEAR(scores.at(fmt::format("{} d{}", id, i)), expected[i], 1e-5);
  }
  std::istringstream lines(program.read("out.trec"));
  std::vector<double> of_first;
  std::string query, zero, document, rank, score, tag;
  while (lines >> query >> zero >> document >> rank >> score >> tag && query == "q1") {
    of_first.push_back(std::stod(score));
    EXPECT_EQ(rank, fmt::format("{}", of_first.size()));
    EXPECT_EQ(tag, "mine");
  }
  EXPECT_TRUE(std::is_sorted(of_first.rbegin(), of_first.rend()));
}

TEST_F(Rerank, LimitsDepthAndQueryTokens) {
  EXPECT_THAT(rerank("--max-query-tokens 3 --depth 2"),
              Notes("1 of 2 queries was truncated to 3 tokens"));
  const auto scores = written();
  EXPECT_EQ(scores.size(), 4U);
  EXPECT_TRUE(scores.contains("q1 d0") && scores.contains("q1 d1"));
}

TEST_F(Rerank, MaxPIsTheMaximumOfAllPassages) {
  const Outcome outcome = rerank("--max-p --max-tokens 40");
  EXPECT_THAT(outcome, Succeeds());
  EXPECT_THAT(outcome.err, Not(HasSubstr("no pair")));
  const auto scores = written();
  ASSERT_EQ(scores.size(), 2U * documents);
  // 40 - [CLS] - "a b c" - two [SEP] leave 34; document 11 has 67 tokens.
  const auto expected =
      scored("a b c", {part(11, 0, 34), part(11, 17, 51), part(11, 33, 67), document_text(2)});
  EXPECT_NEAR(scores.at("q1 d11"), std::max({expected[0], expected[1], expected[2]}), 1e-5);
  EXPECT_NEAR(scores.at("q1 d2"), expected[3], 1e-5);
}

TEST_F(Rerank, AsPublishedDropsTheEndOfTheLongestCandidate) {
  EXPECT_THAT(rerank("--max-p --as-published --max-tokens 40"),
              Notes("--max-p without --as-published"));
  // Lengths with [SEP]: 35 for a document, stride 17, starts below 68 - 35: 0 and 17.
  const auto expected = scored("a b c", {part(11, 0, 34), part(11, 17, 51)});
  EXPECT_NEAR(written().at("q1 d11"), std::max(expected[0], expected[1]), 1e-5);
}

TEST_F(Rerank, WholeRefusesADocumentThatIsTooLong) {
  EXPECT_THAT(rerank("--whole"), FailsWith("bm25.trec, line", "more than the limit of",
                                           "--extend-positions", "nothing is written"));
  EXPECT_FALSE(program.has("out.trec"));
  EXPECT_THAT(rerank("--whole --extend-positions 80 --pattern sparse --window 4"), Succeeds());
  EXPECT_EQ(written().size(), 2U * documents);
}

TEST_F(Rerank, RefusesMissingTextsBeforeScoring) {
  const auto refused = [&](const char* file, const std::string& text, const char* words) {
    const std::string before = program.read(file);
    program.write(file, text);
    EXPECT_THAT(rerank("--worker /no/worker"), Refuses(words));
    EXPECT_FALSE(program.has("out.trec"));
    program.write(file, before);
  };
  refused("documents.tsv", "d0\ta\nd1\tb\n",
          "bm25.trec, line 3: document 'd2' is not in documents.tsv (20 of 24 are missing)");
  refused("queries.tsv", "q2\ta\n",
          "query 'q1' is not in queries.tsv (1 of 2 queries are missing)");
  refused("documents.tsv", "d0\ta\nd0\tb\n",
          "documents.tsv, line 2: the id 'd0' is already used in line 1");
  refused("bm25.trec", "q1 Q0 d0 1", "is incomplete");
}

TEST_F(Rerank, WritesMetadataInCommentLines) {
  program.write("own.json", R"({"actor": {"name": "N. N."}, "data": {"training data": []}})");
  ASSERT_THAT(rerank("--tag mine"), Succeeds());
  const std::string bare = program.read("out.trec");
  ASSERT_THAT(rerank("--tag mine --ir-metadata-with own.json"), Succeeds());
  const std::string whole = program.read("out.trec");
  const std::string end = "# ir_metadata.end\n";
  const std::size_t after = whole.find(end) + end.size();
  EXPECT_EQ(whole.substr(after), bare);
  const std::string head = whole.substr(0, after);
  EXPECT_TRUE(head.starts_with("# ir_metadata.start\n# schema-version: 0.1\n")) << head;
  for (const char* part : {"# tag: \"mine\"\n", "#       number of cores: ",
                           "# research goal: {}\n", "--ir-metadata-with own.json\"\n",
                           "#       reranks: \"bm25\"\n", "# actor:\n#   name: \"N. N.\"\n",
                           "#     topics: \"queries.tsv\"\n", "#   training data: []\n", " ms\"\n"})
    EXPECT_THAT(head, HasSubstr(part));
  program.write("own.json", R"({"acter": {}})");
  EXPECT_THAT(rerank("--ir-metadata-with own.json"), FailsWith("own.json", "acter"));
}

/// A data set as BEIR lays it out, with the collection of the other tests.
class RerankBeir : public Rerank {
 protected:
  RerankBeir() {
    std::vector<BeirDocument> corpus{{"d0", "a", "b "}};
    for (int i = 1; i < documents; ++i)
      corpus.push_back({fmt::format("d{}", i), "", document_text(i)});
    corpus.push_back({"q1", "", "a b c"});
    write_beir(program, corpus, {{"q1", "a b c"}, {"q2", "d e"}}, "q1\td3\t2\nq1\td5\t1\n");
    program.write("bm25.trec", program.read("bm25.trec") + "q1 Q0 q1 13 101 bm25\n");
  }
  [[nodiscard]] Outcome rerank_set(const std::string& more) const {
    return program.run("rerank --checkpoint . --beir set " + more);
  }
};

TEST_F(RerankBeir, ReranksAndEvaluatesABeirFolder) {
  const Outcome outcome = rerank_set("--run bm25.trec -o out.trec --measures nDCG@10,R@5");
  ASSERT_THAT(outcome, Notes("1 query is not judged in set/qrels/test.tsv and ignored",
                             "1 document has the id of its query and is ignored"));
  const auto scores = written();
  EXPECT_EQ(scores.size(), 1U * documents) << "judged queries alone, without the query's own text";
  // The title stands before the text, and the text has no blank at its end.
  EXPECT_NEAR(scores.at("q1 d0"), scored("a b c", {"a b"})[0], 1e-5);
  const Outcome evaluated =
      program.run("evaluate --qrels set/qrels/test.tsv out.trec --measures nDCG@10,R@5");
  const auto numbers = [](const std::string& text) { return text.substr(text.find("0.")); };
  EXPECT_THAT(outcome.out, HasSubstr("nDCG@10"));
  EXPECT_EQ(numbers(outcome.out), numbers(evaluated.out));
  const Outcome alone = rerank_set("--run bm25.trec --measures nDCG@10,R@5");
  EXPECT_EQ(numbers(alone.out), numbers(outcome.out)) << alone.err;
  for (const std::string name : {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}) {
    program.write("set/" + name + ".gz", tests::packed(program.read("set/" + name)));
    fs::remove(program.path("set/" + name));
  }
  EXPECT_EQ(rerank_set("--run bm25.trec --measures nDCG@10,R@5").out, alone.out);
}

TEST_F(RerankBeir, ReportsMissingFiles) {
  EXPECT_THAT(rerank_set(""), FailsWith("--beir has no first-stage run; give one"));
  EXPECT_THAT(rerank_set("--run bm25.trec --split dev"),
              FailsWith("has no judgements qrels/dev.tsv; --split is one of: test"));
  EXPECT_THAT(rerank_set("--run bm25.trec --queries queries.tsv"),
              FailsWith("remove --queries and --documents"));
  program.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq9\td3\t2\n");
  EXPECT_THAT(rerank_set("--run bm25.trec"),
              FailsWith("none of its queries is judged in set/qrels/test.tsv"));
  fs::remove(program.path("set/queries.jsonl"));
  EXPECT_THAT(rerank_set("--run bm25.trec"), FailsWith("--beir set: has no queries.jsonl"));
  EXPECT_THAT(program.run("rerank --checkpoint .").err, HasSubstr("--run is required"));
}

TEST_F(Rerank, RequiresRunColumnsUnlessRanksCountUp) {
  ASSERT_THAT(rerank("--depth 2 --tag mine"), Succeeds());
  const std::string expected = program.read("out.trec");
  program.write("bm25.trec", "q2\td0\t1\nq2\td1\t2\nq1\td0\t1\nq1\td1\t2\n");
  ASSERT_THAT(rerank("--tag mine"), Succeeds());
  EXPECT_EQ(program.read("out.trec"), expected);
  program.write("bm25.trec", "q2\td0\t8\nq2\td1\t7\nq1\td0\t8\nq1\td1\t7\nq1\td2\t6\n");
  EXPECT_THAT(rerank(), FailsWith("--run-columns rank or --run-columns score"));
  ASSERT_THAT(rerank("--tag mine --depth 2 --run-columns score"), Succeeds());
  EXPECT_EQ(program.read("out.trec"), expected);
}

TEST_F(Rerank, RefusesWrongUse) {
  EXPECT_THAT(rerank("--as-published").err, HasSubstr("--max-p"));
  EXPECT_THAT(rerank("--max-p --whole").err, HasSubstr("--whole"));
  EXPECT_THAT(rerank("--tag 'a b'").err, HasSubstr("blank"));
}

TEST_F(Rerank, NeverReplacesInputFiles) {
  program.write("qrels.txt", "q1 0 d0 1\n");
  program.write("own.json", R"({"actor": {"name": "me"}})");
  for (const std::string out :
       {"qrels.txt", "own.json", "queries.tsv", "documents.tsv", "bm25.trec", "config.json"}) {
    const std::string before = program.read(out);
    EXPECT_THAT(rerank("--precision int8 --qrels qrels.txt --ir-metadata-with own.json", out),
                FailsWith(out + ": is an input of this command"));
    EXPECT_EQ(program.read(out), before);
  }
}

}  // namespace
}  // namespace attnscope::testing
