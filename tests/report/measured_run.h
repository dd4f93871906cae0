#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A small run whose numbers are known: lengths 64 and 256, contenders full/dense, sparse/segment/4,
// sparse/segment/64 ("Sparse, fused") and sparse/sdpa-mask/4, which runs out of memory at 256.

#include <string>

#include "engine/report/table.h"
#include "tests/store/sample_runs.h"

namespace attnscope::test {

/// A cell of six samples around median_ms, all alike but for a spread of 1%.
[[nodiscard]] Cell timed_cell(std::string pattern, std::string implementation,
                              std::optional<Window> window, std::string name, double median_ms);
[[nodiscard]] HeatPoint point_at(std::int64_t sequence_tokens);
/// A stage of re-rankers at 199 tokens. Cross-BERT takes 100 ms for each candidate and keeps
/// nothing; of MixEncoder-a ("mixencoder-a"), offline 50 ms for a document, online 1 ms and 0.1 ms
/// for each candidate, and 3072 bytes kept of each.
[[nodiscard]] HeatResult stage_heat(Stage stage, std::int64_t candidates);

class MeasuredRun {
 public:
  MeasuredRun();
  void add(const HeatResult& heat);
  void add(const Ceilings& ceilings);
  [[nodiscard]] RunInfo info() const;
  [[nodiscard]] report::Table table(std::optional<std::string_view> baseline = std::nullopt,
                                    const std::string& only = "") const;
  /// The message of a table that is refused; "" when it is not.
  [[nodiscard]] std::string refusal(std::optional<std::string_view> baseline,
                                    const std::string& only = "") const;
  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] static HeatResult heat_at(std::int64_t sequence_tokens);

 private:
  TemporaryFolder folder_;
  Store store_;
  RunId run_;
};

[[nodiscard]] OnlyFilter filter_of(const std::string& only);
[[nodiscard]] const report::Row& row_of(const report::Table& table, std::string_view contender,
                                        std::int64_t sequence_tokens);
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

}  // namespace attnscope::test
