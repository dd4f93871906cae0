// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "engine/report/table.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

std::string latex(std::optional<std::string_view> baseline) {
  const MeasuredRun run;
  return write_table(run.table(baseline), TableFormat::latex);
}

/// Columns that a line of the tabular fills: one more than its &, \multicolumn counted as it spans.
int columns_filled(const std::string& line) {
  int count = 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '&' && (i == 0 || line[i - 1] != '\\')) ++count;
  }
  const std::string spanning = "\\multicolumn{";
  for (std::size_t at = line.find(spanning); at != std::string::npos;
       at = line.find(spanning, at + 1)) {
    count += std::stoi(line.substr(at + spanning.size())) - 1;
  }
  return count;
}

TEST(Latex, EveryLine_FillsTheDeclaredColumns) {
  std::stringstream lines(latex("full/dense"));
  int declared = 0, checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find("\\begin{tabular}{"); at != std::string::npos) {
      declared = static_cast<int>(line.size() - at - std::string("\\begin{tabular}{}").size());
    }
    if (!line.ends_with("\\\\")) continue;
    EXPECT_EQ(columns_filled(line), declared) << line;
    ++checked;
  }
  EXPECT_EQ(declared, 5);
  EXPECT_EQ(checked, 8);  // two of head, three a length
}

TEST(Latex, BracesAndEnvironments_AreBalanced) {
  const std::string text = latex("full/dense");
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool literal = i > 0 && text[i - 1] == '\\';
    if (text[i] == '{' && !literal) ++depth;
    if (text[i] == '}' && !literal) --depth;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  const auto count = [&](const std::string& word) {
    int found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\\begin{"), count("\\end{"));
  EXPECT_EQ(count("$") % 2, 0);
  EXPECT_EQ(count("\\toprule") + count("\\bottomrule"), 2);
}

TEST(Latex, TheForm_IsThatOfThePapersTable3) {
  const std::string text = latex("full/dense");
  EXPECT_THAT(text, HasSubstr("\\multicolumn{1}{c}{Full/dense} & \\multicolumn{2}{c}{Sparse, fused}"
                              " & \\multicolumn{1}{c}{sparse/sdpa-mask}"));
  EXPECT_THAT(text, HasSubstr("Unit, $w =$ & -- & 4 & 64 & 4 \\\\"));
  // 256 tokens, batch 4: dense 32 ms, segment 4 and 6 ms, each over four documents.
  EXPECT_THAT(text,
              HasSubstr("ms & \\underline{8.00} & 1.00 $(-88\\,\\%)$ & 1.50 $(-81\\,\\%)$ & oom"));
  EXPECT_THAT(text,
              HasSubstr("$\\mu$s & \\underline{500} & 250 $(-50\\,\\%)$ & 375 $(-25\\,\\%)$ & "
                        "1000 $(+100\\,\\%)$"));
  EXPECT_THAT(text, HasSubstr("MB & \\underline{2.00} & 2.00 $(0\\,\\%)$"));
  EXPECT_LT(text.find("64 tokens"), text.find("256 tokens"));
}

TEST(Latex, TextOfPeople_IsEscaped) {
  const std::string text = latex("full/dense");
  EXPECT_THAT(text, HasSubstr("50\\% \\& more\\_"));
}

TEST(Latex, WithoutBaseline_NothingIsUnderlinedOrCompared) {
  const std::string text = latex(std::nullopt);
  EXPECT_THAT(text, Not(HasSubstr("underline")));
  EXPECT_THAT(text, Not(HasSubstr("\\,\\%)")));
}

TEST(Latex, AnEmptyTable_IsStillWellFormed) {
  const std::string text = write_table(Table{}, TableFormat::latex);
  EXPECT_THAT(text, HasSubstr("\\begin{tabular}{l}"));
}

}  // namespace
}  // namespace attnscope::report
