#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A small run whose numbers are known: lengths 64 and 256, contenders full/dense, sparse/segment/4,
// sparse/segment/64 ("Sparse, fused") and sparse/sdpa-mask/4, which runs out of memory at 256.

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/report/table.h"
#include "tests/store/sample_runs.h"

namespace attnscope::test {

/// A cell of six samples around median_ms with a spread of 1%.
[[nodiscard]] Cell timed_cell(std::string pattern, std::string implementation,
                              std::optional<Window> window, std::string name, double median_ms);
[[nodiscard]] HeatPoint point_at(std::int64_t sequence_tokens);
/// One stage of two re-rankers at 199 tokens. Cross-BERT needs 100 ms per candidate and stores no
/// data. MixEncoder-a ("mixencoder-a") needs 50 ms per document offline, 1 ms plus 0.1 ms per
/// candidate online, and stores 3072 bytes per candidate.
[[nodiscard]] HeatResult stage_heat(Stage stage, std::int64_t candidates);

class MeasuredRun {
 public:
  MeasuredRun();
  MeasuredRun& add(const HeatResult& heat);
  MeasuredRun& add(const Ceilings& ceilings);
  [[nodiscard]] RunInfo info() const;
  [[nodiscard]] report::Table table(std::optional<std::string_view> baseline = std::nullopt,
                                    const std::string& only = "") const;
  /// The message with which a table is refused; "" if it is made.
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
[[nodiscard]] nlohmann::json json_rows(const report::Table& table);
/// The records of CSV text as in RFC 4180, with lines that end in CRLF.
[[nodiscard]] std::vector<std::vector<std::string>> parse_csv(const std::string& text);

inline constexpr std::array every_format{report::TableFormat::text, report::TableFormat::markdown,
                                         report::TableFormat::csv,  report::TableFormat::latex,
                                         report::TableFormat::json, report::TableFormat::html};

}  // namespace attnscope::test
