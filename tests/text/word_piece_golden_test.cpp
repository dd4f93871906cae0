// SPDX-License-Identifier: Apache-2.0
//
// Id for id what Hugging Face's tokenizer answers: tests/text/golden/README.md.

#include <gtest/gtest.h>

#include "tests/text/golden_texts.h"

namespace attnscope {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

const SubwordTokenizer& pieces() {
  static const SubwordTokenizer made =
      std::move(tests::bert_tokenizer(tests::golden_text("vocab.txt")).value());
  return made;
}

TEST(GoldenTexts, MatchHuggingFaceIds) {
  const std::vector<json> lines = tests::golden_values("texts.jsonl.gz");
  EXPECT_GE(lines.size(), 2000U);
  for (const json& line : lines) {
    const auto text = line["text"].get<std::string>();
    EXPECT_EQ(*pieces().tokenize(text), line["ids"].get<Ids>()) << line["text"].dump(-1, ' ', true);
  }
}

TEST(GoldenPairs, TruncateTheLongerTextFirstAsHuggingFace) {
  int documents = 0, queries = 0;
  for (const json& line : tests::golden_values("pairs.jsonl")) {
    const auto pair =
        pieces().encode(line["query"].get<std::string>(), line["document"].get<std::string>(),
                        {.most_tokens = line["most"].get<std::int64_t>()});
    ASSERT_TRUE(pair.has_value()) << pair.error().message << line.dump();
    EXPECT_EQ(tests::whole(pieces(), *pair), line["ids"].get<Ids>()) << line.dump();
    Ids types(1 + pair->query.size(), 0);
    types.resize(types.size() + pair->document.size(), pieces().document_type());
    EXPECT_EQ(types, line["types"].get<Ids>());
    documents += pair->document_cut ? 1 : 0;
    queries += pair->query_cut ? 1 : 0;
  }
  EXPECT_GT(documents, 20);
  EXPECT_GT(queries, 10);
}

}  // namespace
}  // namespace attnscope
