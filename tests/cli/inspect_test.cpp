// SPDX-License-Identifier: Apache-2.0
//
// `inspect` on a small checkpoint with random weights.

#include <cmath>
#include <sstream>

#include "base/spawn.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::ElementsAre;
using tests::TinyCheckpoint;

class Inspect : public ProgramTest {
 protected:
  Inspect() {
    TinyCheckpoint::bert().write(program.path(""));
    program.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n##d\n");
  }

  [[nodiscard]] Outcome inspect(const std::string& more = "") const {
    return program.run("inspect --checkpoint . --query 'a b' --document 'cd b [MASK] c' " + more);
  }
  [[nodiscard]] Dump dump_with(const std::string& more = "") const {
    EXPECT_THAT(inspect(more + " -o dump.safetensors"), Succeeds());
    Result<Dump> dump = Dump::open(program.path("dump.safetensors"));
    if (!dump) throw std::runtime_error(dump.error().message);
    return std::move(*dump);
  }
};

TEST_F(Inspect, NeverReplacesInputFiles) {
  program.write("text.safetensors", "cd b");
  for (const std::string out : {"text.safetensors", "model.safetensors"}) {
    const std::string before = program.read(out);
    EXPECT_THAT(
        program.run(fmt::format(
            "inspect --checkpoint . --query 'a b' --document-file text.safetensors -o {}", out)),
        FailsWith(out + ": is an input of this command"));
    EXPECT_EQ(program.read(out), before);
  }
}

TEST_F(Inspect, ADumpHasPatternTokensAndLayers) {
  const Dump dump = dump_with("--pattern sparse --window 1");
  const DumpInfo& info = dump.info();
  EXPECT_THAT(info.tokens,
              ElementsAre("[CLS]", "a", "b", "[SEP]", "c", "##d", "b", "[MASK]", "c", "[SEP]"));
  EXPECT_EQ(info.patterns.front().name, "sparse");
  EXPECT_EQ(info.windows.front(), Window::of(1));
  EXPECT_THAT(info.layers, ElementsAre(0, 1));
  EXPECT_EQ(info.heads, 2);
  const Dump half = dump_with("--layers 1 --half");
  EXPECT_THAT(half.info().layers, ElementsAre(1));
  EXPECT_TRUE(half.head(0, 0).has_value());
}

TEST_F(Inspect, WritesTheComputedQueriesAndKeys) {
  // The vectors of the first layer depend only on the embeddings, not on the pattern.
  const Dump full = dump_with();
  const HeadVectors first = full.head(0, 1).value();
  const Dump sparse = dump_with("--pattern sparse --window 0");
  const HeadVectors again = sparse.head(0, 1).value();
  const HeadVectors later = sparse.head(1, 1).value(), full_later = full.head(1, 1).value();
  double changed = 0;
  for (std::int64_t row = 0; row < first.tokens(); ++row) {
    for (std::int64_t at = 0; at < first.head_dim(); ++at) {
      EXPECT_NEAR(first.query(row)[at], again.query(row)[at], 1e-5);
      changed = std::fmax(changed, std::fabs(static_cast<double>(full_later.query(row)[at] -
                                                                 later.query(row)[at])));
    }
  }
  EXPECT_GT(changed, 1e-3);
}

TEST_F(Inspect, MassesOfEveryRowAddUpToOne) {
  const Outcome outcome = inspect("--mass json");
  EXPECT_THAT(outcome, Notes("score "));
  const json heads = json::parse(outcome.out);
  ASSERT_EQ(heads.size(), 4U);
  for (const json& head : heads) {
    for (const json& from : head.at("mass")) {
      double sum = 0;
      for (const json& mass : from) sum += mass.get<double>();
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  // An independent query has no mass on other groups.
  EXPECT_THAT(
      inspect("--pattern sparse --window 1 --mass csv"),
      Prints("layer,head,from,to,mass\n", "\n1,1,query,cls,0\n", "\n1,1,query,document,0\n"));
  EXPECT_THAT(inspect("--max-tokens 8 --mass csv"),
              Notes("note: the document was truncated to 4 tokens"));
}

TEST_F(Inspect, InspectsAnEncoderWithoutAHead) {
  TinyCheckpoint tiny = TinyCheckpoint::bert().with_prefix("bert.", "");
  tiny.config["architectures"] = R"(["BertModel"])";
  tiny.tensors.erase("classifier.weight");
  tiny.tensors.erase("classifier.bias");
  tiny.write(program.path(""));
  const Outcome outcome = inspect("--mass text");
  EXPECT_THAT(outcome, Succeeds());
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Inspect, PrintsTheScoreOrTheNamesOfWrittenFiles) {
  EXPECT_THAT(inspect("-o dump.safetensors").err, HasSubstr("dump.safetensors written"));
  EXPECT_THAT(inspect().out, ::testing::MatchesRegex("score -?[0-9.]+\n"));
}

/// Models that encode query and document apart, from the golden fixtures.
class InspectLate : public Inspect {
 protected:
  void take(const std::string& model) const {
    for (const std::string file : {"config.json", "model.safetensors", "tokens.txt"}) {
      const fs::path source = golden("models/" + model) / file;
      if (fs::exists(source))
        fs::copy_file(source, program.path(file), fs::copy_options::overwrite_existing);
    }
  }
};

TEST_F(InspectLate, ColbertShowsTheMatchOfEachQueryToken) {
  take("colbert");
  const Dump dump = dump_with();
  const DumpInfo& info = dump.info();
  EXPECT_THAT(info.tokens, ElementsAre("[CLS]", "a", "b", "[SEP]", "[CLS]", "c", "##d", "b",
                                       "[MASK]", "c", "[SEP]"));
  EXPECT_EQ(info.patterns.front().name, "matches");
  EXPECT_EQ(info.heads, 1);
  EXPECT_THAT(info.note, HasSubstr("MaxSim"));
  const auto weights = head_weights(dump, 0, 0);
  ASSERT_TRUE(weights) << weights.error().message;
  RowWeights row;
  (*weights)->row(2, row);
  ASSERT_EQ(row.keys.size(), 1U);
  EXPECT_EQ(row.keys[0].begin, 4);  // the document alone
  EXPECT_EQ(row.keys[0].end, 11);
}

TEST_F(InspectLate, MixEncoderShowsAttentionOfItsContextsToTheQuery) {
  take("mixencoder-c");
  const Dump dump = dump_with();
  EXPECT_THAT(dump.info().tokens,
              ElementsAre("[CLS]", "a", "b", "[SEP]", "[context 1]", "[context 2]"));
  EXPECT_THAT(dump.info().layers, ElementsAre(0, 1, 2));
  EXPECT_THAT(inspect("--mass csv"), Prints(",document,query,"));
}

TEST_F(InspectLate, CountsTheClsTokenOfTheDocument) {
  for (const char* model : {"cross-bert", "deformer"}) {
    take(model);
    EXPECT_EQ(dump_with().info().layout.item(0).documents.at(0), 7) << model;
  }
  EXPECT_THAT(inspect("--layers 0 -o dump.safetensors"),
              FailsWith("do not attend to each other in layer 0; they do in "));
}

TEST_F(InspectLate, RefusesModelsWithoutAttentionBetweenTheTexts) {
  take("dual-bert");
  EXPECT_THAT(inspect("-o dump.safetensors"), FailsWith("encodes query and document separately"));
  EXPECT_FALSE(program.has("dump.safetensors"));
}

/// TKL and TK, of the golden fixtures, which know no word of the texts.
class InspectRegions : public InspectLate {};

TEST_F(InspectRegions, TheScoreEqualsThePrintedSumAndThePageMarksUnknownWords) {
  take("tkl");
  const Outcome outcome = inspect();
  EXPECT_THAT(outcome, Prints("(region 1)", "\nRegion 1: words 1 to "));
  double score = 0, sum = 0;
  std::istringstream first(outcome.out.substr(0, outcome.out.find('\n')));
  std::string part;
  first >> part >> score >> part;
  EXPECT_EQ(part, "=");
  for (double number = 0; first >> part;) {
    std::istringstream text(part);
    if (text >> number && text.eof()) sum += number;
  }
  EXPECT_NEAR(sum, score, 0.001 * std::abs(score));
  EXPECT_THAT(inspect("-o page.html"), Notes("page.html written"));
  EXPECT_THAT(program.read("page.html"),
              AllOf(HasSubstr("Not in the model's list of words: a, b;"), HasSubstr("<u>b</u>")));
}

TEST_F(InspectRegions, RefusesOptionsForHeads) {
  take("tk");
  for (const std::string option : {"--layer", "--head", "--layers"}) {
    EXPECT_THAT(inspect(option + " 0 -o page.html"),
                FailsWith("instead of heads; remove " + option));
  }
  EXPECT_THAT(inspect("--half -o r.safetensors").err, HasSubstr("remove --half"));
}

TEST_F(Inspect, RefusesMissingDocumentsLayersAndHeads) {
  EXPECT_THAT(program.run("inspect --checkpoint . --query 'a b'"),
              FailsWith("give --document or --document-file"));
  program.write("bad.txt", "cd \xff b");
  EXPECT_THAT(
      program.run("inspect --checkpoint . --query 'a b' --document-file bad.txt -o d.safetensors"),
      FailsWith("bad.txt: not valid UTF-8 at byte 4; convert it"));
  EXPECT_THAT(inspect("--layers 2 -o dump.safetensors"),
              FailsWith("layers are counted from 0 to 1"));
#ifdef ATTNSCOPE_HAS_GUI
  EXPECT_THAT(inspect("--head 2 -o head.pdf"),
              FailsWith("head 2 does not exist; this model has the heads 0 to 1"));
#endif
}

#ifdef ATTNSCOPE_HAS_GUI
TEST_F(Inspect, DrawsAHeadWithItsTokens) {
  EXPECT_THAT(inspect("--head 1 -o head.svg --csv"), Succeeds());
  EXPECT_THAT(program.read("head.svg"), HasSubstr("##d"));
  EXPECT_THAT(program.read("head.csv"), HasSubstr("0,1,cls,document,"));
}
#else
TEST_F(Inspect, ABuildWithoutQtRefusesToDraw) {
  EXPECT_THAT(inspect("-o head.svg"), FailsWith("has no Qt and cannot draw"));
}
#endif

TEST_F(Inspect, RefusesRegionsThatAreNotFinite) {
  std::string list = "@@UNKNOWN@@\n";
  for (char word = 'a'; word <= 'r'; ++word) list += std::string(1, word) + "\n";
  program.write("tkl/tokens.txt", list);
  TinyCheckpoint::tkl().write(program.path("tkl"));
  // The weights are so large that the words' vectors are no numbers.
  for (const std::size_t value : {0U, 1U})
    tests::set_value(program.path("tkl/model.safetensors"), "dense.weight", value, 3e38F);
  for (const std::string name : {"r.safetensors", "r.html"}) {
    EXPECT_THAT(
        program.run("inspect --checkpoint tkl --query 'a b' --document 'c d e a' -o " + name),
        FailsWith("'regions' of layer 0 has values that are infinite or NaN"));
    EXPECT_FALSE(program.has(name));
  }
}

/// The worker sends SIGTERM to the program when it receives the request to inspect.
TEST_F(Inspect, AnInterruptLeavesNoTemporaryFiles) {
  fs::create_directory(program.path("temporary"));
  const std::string interrupting = "sed -u '/\"inspect\"/e kill -TERM '$PPID | ";
  const Outcome outcome =
      program.run("inspect --checkpoint . --query 'a b' --document c --mass text --worker " +
                      shell_word(interrupting + ATTNSCOPE_WORKER_PROGRAM),
                  {"TMPDIR=" + program.path("temporary").string()});
  EXPECT_THAT(outcome, EndsWithCode(130));
  EXPECT_THAT(outcome.err, HasSubstr("attnscope: interrupted"));
  EXPECT_TRUE(fs::is_empty(program.path("temporary")));
}

}  // namespace
}  // namespace attnscope::testing
