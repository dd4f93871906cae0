#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Published numbers of papers, shown next to ours: never measured here, and only where the paper
// has them. The files are in resources/reference.
//
//   for (const PublishedTable& table : published_tables()) show(table.title, table.citation);
//   if (const auto loss = published_ndcg("sparse", Window::of(4), 174)) print(loss->ndcg10);

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/pattern/axes.h"
#include "engine/report/row.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

/// The label shown next to every published number.
inline constexpr std::string_view published_label = "published, not measured here";

struct PublishedTable {
  std::string_view id;        // "ecir24-table3"
  std::string_view title;     // "ECIR 2024, Table 3"
  std::string_view subject;   // "Time and memory per document"
  std::string_view citation;  // authors, title, venue
  std::string_view machine;   // as named in the paper
  std::string_view note;      // how to read the table
  std::vector<SheetColumn> columns;
  std::vector<std::vector<std::string>> rows;  // one text per column; empty: not published
};

/// All published tables, in display order.
[[nodiscard]] std::vector<PublishedTable> published_tables();

/// In the formats of a run's table, always with the citation and the label.
[[nodiscard]] std::string write_published(const PublishedTable& table, TableFormat format);

/// The sheet with rows of texts; if the sheet has a block column, the first text of each row is the
/// block's title. Formats for programs have the source in every row.
[[nodiscard]] std::string write_grid(Sheet sheet, const std::vector<std::vector<std::string>>& rows,
                                     const std::string& source, TableFormat format);
/// "Sparse cross-encoder" for "sparse"; an unknown name is returned unchanged.
[[nodiscard]] std::string model_words(const std::string& model);

/// One model of the ECIR 2024 paper's Table 3: a whole cross-encoder on one NVIDIA A100.
struct PublishedCost {
  std::string task;     // "passage", "document"
  std::string row;      // its model's name in our sweeps: "sparse-without-kernel"
  std::string model;    // its name in the paper
  std::string pattern;  // our pattern of the same name and meaning; empty: none
  std::optional<Window> window;
  std::int64_t sequence_tokens = 0;
  double time_us_per_document = 0, memory_mb_per_document = 0;  // megabytes of 10^6 bytes
  std::string relative_time, relative_memory;  // difference to the task's baseline in %, "-43";
                                               // empty for the baseline
  bool is_baseline = false;                    // baseline of its task
};
[[nodiscard]] const std::vector<PublishedCost>& published_costs();

/// Our cells with the lengths, windows and patterns of Table 3, in the table's order; for whole
/// models, the cells of the same row.
struct PublishedComparison {
  const Row* row = nullptr;
  PublishedCost cost;
};
[[nodiscard]] std::vector<PublishedComparison> published_comparison(const Table& table);

/// One model of the MixEncoder paper's Tables 4 and 6: a query against 1,000 candidates.
struct PublishedQuery {
  std::string row;                // its model's name in our sweeps: "mixencoder-a+contexts-4"
  std::string time_ms, cache_gb;  // as printed in the paper; empty: not published
};
[[nodiscard]] std::vector<PublishedQuery> published_queries();

/// One model of the TKL paper's Table 1, with documents of at most `most_words` words.
struct PublishedRate {
  std::string row;  // its model's name in our sweeps: "match-pyramid"
  std::int64_t most_words = 0;
  double documents_per_ms = 0;
  double trec_ndcg10 = 0, dev_ndcg10 = 0;  // TREC DL 2019 documents; MS MARCO Dev, sparse labels
};
[[nodiscard]] std::vector<PublishedRate> published_rates();
/// The published rate for the same model and longest document, whether lengths are drawn or equal;
/// empty if the paper has none.
[[nodiscard]] std::optional<PublishedRate> published_rate(const Row& row);

/// The margin of the paper's equivalence tests.
inline constexpr double published_margin = 0.02;

/// The paper's mean nDCG@10 over the TREC Deep Learning tracks of 2019 to 2022.
struct PublishedNdcg {
  double ndcg10 = 0;
  bool is_equivalent = false;  // to the task's reference model within 0.02, by the paper's test
  bool is_reference = false;
  std::string_view reference;  // "full attention" for passages, "Longformer w = 64" for documents
  double reference_ndcg10 = 0;
  std::string_view task;  // "passages" up to 512 tokens, else "documents"
  std::string source;     // "Schlatt et al., ECIR 2024, Table 1, mean over passages"
  std::string_view note;  // how the paper's model differs from ours; empty: no difference
};
/// Empty if the paper has no number: other patterns and windows, above 4096 tokens.
[[nodiscard]] std::optional<PublishedNdcg> published_ndcg(std::string_view pattern,
                                                          std::optional<Window> window,
                                                          std::int64_t sequence_tokens);
/// Whether the contender is attention alone, or in the cross-encoder of the paper on the patterns.
/// Other families may have patterns too, but the paper's numbers do not apply to them.
[[nodiscard]] bool is_papers_cross_encoder(const Contender& contender);
/// The published value of a contender, if is_papers_cross_encoder.
[[nodiscard]] std::optional<PublishedNdcg> published_ndcg(const Contender& contender,
                                                          std::int64_t sequence_tokens);

/// Rows of a reference file as texts in the order of `keys`, without comments (#) and the header.
/// An error names the line if the file lacks the expected columns.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> parse_reference(
    std::string_view csv, std::span<const std::string_view> keys);

/// A run of whole models in the form of a paper's table, with the paper's numbers next to ours,
/// which come from another machine: no ratio between the two is formed.
///
///   fmt::print("{}", *write_paper_table(table, "ecir24-table3", TableFormat::text));
///
/// `published` is the table's id (published.h):
///
/// - ecir24-table3: time and memory per document in its units, each relative to the task's
///   baseline: the table's own, else the first measured contender, in the run's order, that is the
///   paper's baseline (passages: full, documents: longformer, w = 64).
/// - mixencoder-table6: a query's time (stage online) for each number of candidates, the bytes kept
///   of these, a document's time offline, and the speed-up per candidate over the table's baseline,
///   else over Cross-BERT.
/// - tkl-table1: documents per millisecond with their interval, for documents that are encoded with
///   the query (stage whole) and before it (online), with the paper's rate and nDCG@10.
///
/// An error names the available tables, or the sweep that measures what the run lacks.
[[nodiscard]] Result<std::string> write_paper_table(const Table& table, std::string_view published,
                                                    TableFormat format);

}  // namespace attnscope::report
