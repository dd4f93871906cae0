// SPDX-License-Identifier: Apache-2.0
#include "engine/report/published.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "engine/checkpoint/family_description.h"
#include "engine/heat/model_row.h"
#include "engine/report/html_page.h"

namespace attnscope::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::string_view ecir24 =
    "Ferdinand Schlatt, Maik Fröbe, Matthias Hagen: Investigating the Effects of Sparse Attention "
    "on Cross-Encoders. ECIR 2024";

constexpr std::array<std::string_view, 6> ndcg_keys{"task",   "year",   "model",
                                                    "window", "ndcg10", "equivalent"};
constexpr std::array<std::string_view, 10> cost_keys{"task",
                                                     "document_length",
                                                     "sequence_length",
                                                     "model",
                                                     "window",
                                                     "time_us_per_document",
                                                     "memory_mb_per_document",
                                                     "relative_time_percent",
                                                     "relative_memory_percent",
                                                     "baseline"};
constexpr std::array<std::string_view, 9> tkl_keys{
    "model",      "max_document_length", "trec2019_ndcg10", "trec2019_mrr10",  "trec2019_map100",
    "dev_ndcg10", "dev_mrr10",           "dev_map100",      "documents_per_ms"};
constexpr std::array<std::string_view, 4> mixencoder_keys{"model", "context_embeddings", "time_ms",
                                                          "cache_gb"};

/// The files are compiled in and covered by tests: a parse error is a bug.
Rows rows_of(std::string_view file, std::span<const std::string_view> keys) {
  Result<Rows> rows = parse_reference(resource(file).text, keys);
  assert(rows.has_value());
  return rows ? std::move(*rows) : Rows();
}

Window window_in(const std::string& text) {
  const Result<Window> window = parse_window(text);
  assert(window.has_value());
  return window.value_or(Window::infinite());
}

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string window_words(const std::string& window) {
  return window == "inf" ? "∞" : window;
}

/// "+170", "-1", "" from a percentage in the file.
std::string with_sign(const std::string& percent) {
  const bool bare = !percent.empty() && percent.front() != '-';
  return bare ? "+" + percent : percent;
}

/// In the paper's layout: a row for each task and year, a column for each model and window.
PublishedTable ndcg_table() {
  PublishedTable table{.id = "ecir24-table1",
                       .title = "ECIR 2024, Table 1",
                       .subject = "nDCG@10 on TREC Deep Learning re-ranking",
                       .citation = ecir24,
                       .machine = "none named; effectiveness does not depend on it",
                       .note =
                           "† significantly equivalent to the task's reference within 0.02 "
                           "(paired TOST, p < 0.003): full attention for passages, Longformer "
                           "w = 64 for documents. Documents with w = ∞ are scored by their "
                           "best passage (MaxP).",
                       .columns = {{"task", "Task", false}, {"year", "Year", false}},
                       .rows = {}};
  for (const std::vector<std::string>& row : rows_of("ecir24_table1_ndcg10.csv", ndcg_keys)) {
    const std::string key = row[2] + "/" + row[3];
    auto column = std::ranges::find(table.columns, key, &SheetColumn::key);
    if (column == table.columns.end()) {
      const std::string title = fmt::format("{} w = {}", model_words(row[2]), window_words(row[3]));
      column = table.columns.insert(table.columns.end(), {key, title, true});
      for (std::vector<std::string>& earlier : table.rows) earlier.emplace_back();
    }
    const auto at = static_cast<std::size_t>(column - table.columns.begin());
    const bool same_row =
        !table.rows.empty() && table.rows.back()[0] == row[0] && table.rows.back()[1] == row[1];
    if (!same_row) {
      table.rows.emplace_back(table.columns.size());
      table.rows.back()[0] = row[0];
      table.rows.back()[1] = row[1];
    }
    table.rows.back()[at] = row[4] + (row[5] == "yes" ? "†" : "");
  }
  return table;
}

PublishedTable cost_table() {
  PublishedTable table{
      .id = "ecir24-table3",
      .title = "ECIR 2024, Table 3",
      .subject = "Time and memory per document of whole cross-encoders",
      .citation = ecir24,
      .machine = "one NVIDIA A100 40 GB",
      .note =
          "Random tokens, query of 10, batches of up to 100, MiniLM-L6's shape (6 layers, 12 "
          "heads, hidden 384). Tokens count query and document. Percentages are the paper's, "
          "against the baseline of the task.",
      .columns = {{"task", "Task", false},
                  {"sequence_tokens", "Tokens"},
                  {"model", "Model", false},
                  {"window", "w"},
                  {"time_us_per_document", "Time per document (µs)"},
                  {"relative_time_percent", "Time vs. baseline (%)"},
                  {"memory_mb_per_document", "Memory per document (MB)"},
                  {"relative_memory_percent", "Memory vs. baseline (%)"},
                  {"baseline", "Baseline", false}},
      .rows = {}};
  for (const std::vector<std::string>& row : rows_of("ecir24_table3.csv", cost_keys)) {
    table.rows.push_back({row[0], row[2], model_words(row[3]), window_words(row[4]), row[5],
                          with_sign(row[7]), row[6], with_sign(row[8]), row[9]});
  }
  return table;
}

PublishedTable tkl_table() {
  return {.id = "tkl-table1",
          .title = "TKL, Table 1",
          .subject = "Effectiveness, and documents per millisecond",
          .citation =
              "Sebastian Hofstätter, Hamed Zamani, Bhaskar Mitra, Nick Craswell, Allan "
              "Hanbury: Local Self-Attention over Long Text for Efficient Document "
              "Retrieval. SIGIR 2020",
          .machine = "one NVIDIA GTX 1080",
          .note = "TREC DL 2019 is judged completely, Dev has sparse labels.",
          .columns = {{"model", "Model", false},
                      {"max_document_length", "Longest document (tokens)"},
                      {"trec2019_ndcg10", "TREC nDCG@10"},
                      {"trec2019_mrr10", "TREC MRR@10"},
                      {"trec2019_map100", "TREC MAP@100"},
                      {"dev_ndcg10", "Dev nDCG@10"},
                      {"dev_mrr10", "Dev MRR@10"},
                      {"dev_map100", "Dev MAP@100"},
                      {"documents_per_ms", "Documents per ms"}},
          .rows = rows_of("tkl_table1.csv", tkl_keys)};
}

PublishedTable mixencoder_table() {
  return {.id = "mixencoder-table6",
          .title = "MixEncoder, Tables 4 and 6",
          .subject = "Online time per query with 1,000 candidates",
          .citation =
              "Yuanhang Yang, Shiyi Qi, Chuanyi Liu, Qifan Wang, Cuiyun Gao, Zenglin Xu: "
              "Once is Enough: A Lightweight Cross-Attention for Fast Sentence Pair "
              "Modeling. EMNLP 2023",
          .machine = "a server with four NVIDIA Tesla A100 40 GB",
          .note =
              "Embeddings are computed beforehand; text processing and transfer to the GPU are "
              "left out. The paper gives the cache for 1,000 candidates; its size is that of "
              "100,000.",
          .columns = {{"model", "Model", false},
                      {"context_embeddings", "Context embeddings"},
                      {"time_ms", "Time per query (ms)"},
                      {"cache_gb", "Cache (GB)"}},
          .rows = rows_of("mixencoder_table6.csv", mixencoder_keys)};
}

/// The paper's model for one of our patterns and windows.
struct NdcgModel {
  std::string_view model;
  Window window;
};

std::optional<NdcgModel> ndcg_model(std::string_view pattern, std::optional<Window> window) {
  if (pattern == "full") return NdcgModel{"full_or_longformer", Window::infinite()};
  if (!window) return std::nullopt;
  if (pattern == "longformer") return NdcgModel{"full_or_longformer", *window};
  if (pattern == "sparse" || pattern == "qds") return NdcgModel{pattern, *window};
  return std::nullopt;
}

/// Table 1's mean over the years for a task, a model and a window.
struct NdcgMean {
  bool passages = false;
  std::string model;
  Window window;
  double ndcg10 = 0;
  bool is_equivalent = false;
};

std::vector<NdcgMean> read_ndcg_means() {
  std::vector<NdcgMean> means;
  for (const std::vector<std::string>& row : rows_of("ecir24_table1_ndcg10.csv", ndcg_keys)) {
    if (row[1] != "average") continue;
    means.push_back({.passages = row[0] == "passage",
                     .model = row[2],
                     .window = window_in(row[3]),
                     .ndcg10 = number(row[4]),
                     .is_equivalent = row[5] == "yes"});
  }
  return means;
}

std::vector<PublishedCost> read_costs() {
  constexpr std::array<std::string_view, 5> of_ours{"full", "longformer", "qds", "sparse",
                                                    "sparse-without-independent-query"};
  std::vector<PublishedCost> costs;
  for (const std::vector<std::string>& row : rows_of("ecir24_table3.csv", cost_keys)) {
    PublishedCost& cost = costs.emplace_back();
    cost.task = row[0];
    cost.row = row[3];
    cost.model = model_words(row[3]);
    if (std::ranges::find(of_ours, row[3]) != of_ours.end()) cost.pattern = row[3];
    // Full attention has no window in our patterns.
    if (cost.row != "full") cost.window = window_in(row[4]);
    cost.sequence_tokens = static_cast<std::int64_t>(number(row[2]));
    cost.time_us_per_document = number(row[5]);
    cost.memory_mb_per_document = number(row[6]);
    cost.relative_time = with_sign(row[7]);
    cost.relative_memory = with_sign(row[8]);
    cost.is_baseline = row[9] == "yes";
  }
  return costs;
}

// Lengths of MS MARCO's documents, in words (specified in its Sec. 4).
constexpr std::int64_t tkl_median = 804, tkl_p90 = 3267;

/// Whether the model has the paper's size: its BERT is BERT-base, and models without layers have
/// vectors of the same width.
bool has_papers_size(const PublishedRate& rate, const HeatPoint& point) {
  const ModelShape bert_base{.layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072};
  const FamilyDescription& family = family_of_row(rate.row);
  const ModelShape shape = family.reads_words() ? family.usual_shape() : bert_base;
  if (point.heads * point.head_dim != shape.hidden) return false;
  if (family.reads_words() && family.keeps() == Kept::nothing) return true;
  return point.layers == shape.layers && point.heads == shape.heads &&
         point.feed_forward == shape.feed_forward;
}

}  // namespace

Result<Rows> parse_reference(std::string_view csv, std::span<const std::string_view> keys) {
  Rows rows;
  bool seen_header = false;
  for (int line_number = 1; !csv.empty(); ++line_number) {
    const auto end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> fields;
    for (std::string_view rest = line;;) {
      const auto comma = rest.find(',');
      fields.emplace_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (!seen_header) {
      if (!std::ranges::equal(fields, keys)) {
        return fail("line {} of the reference file does not name the expected columns",
                    line_number);
      }
      seen_header = true;
      continue;
    }
    if (fields.size() != keys.size()) {
      return fail("line {} of the reference file has {} fields instead of {}", line_number,
                  fields.size(), keys.size());
    }
    rows.push_back(std::move(fields));
  }
  if (rows.empty()) return fail("the reference file has no rows; fetch it again");
  return rows;
}

std::string model_words(const std::string& model) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 26> known{{
      {"full", "Full attention"},
      {"longformer", "Longformer"},
      {"qds", "QDS-Transformer"},
      {"sparse", "Sparse cross-encoder"},
      {"sparse-without-kernel", "Sparse, without its kernel"},
      {"sparse-without-independent-query", "Sparse, without independent query"},
      {"full_or_longformer", "Full / Longformer"},
      {"dual-bert", "Dual-BERT"},
      {"poly-encoder", "PolyEncoder"},
      {"poly-encoder-64", "PolyEncoder-64"},
      {"poly-encoder-360", "PolyEncoder-360"},
      {"colbert", "ColBERT"},
      {"deformer", "Deformer"},
      {"cross-bert", "Cross-BERT"},
      {"virt-like", "VIRT-like"},
      {"mixencoder", "MixEncoder"},
      {"mixencoder-a", "MixEncoder-a"},
      {"mixencoder-b", "MixEncoder-b"},
      {"mixencoder-c", "MixEncoder-c"},
      {"match-pyramid", "MatchPyramid"},
      {"pacrr", "PACRR"},
      {"co-pacrr", "CO-PACRR"},
      {"knrm", "KNRM"},
      {"conv-knrm", "CONV-KNRM"},
      {"tk", "TK"},
      {"tkl", "TKL"},
  }};
  const auto found = std::ranges::find(known, model, [](const auto& pair) { return pair.first; });
  return std::string(found == known.end() ? std::string_view(model) : found->second);
}

std::string write_grid(Sheet sheet, const std::vector<std::vector<std::string>>& rows,
                       const std::string& source, TableFormat format) {
  for (const std::vector<std::string>& row : rows) {
    std::vector<SheetCell> cells(row.begin(), row.end());
    if (is_for_programs(format)) {
      cells.emplace_back(source);
    } else if (sheet.block_column) {
      cells.erase(cells.begin());
      if (sheet.blocks.empty() || sheet.blocks.back().title != row.front())
        sheet.blocks.push_back({.title = row.front(), .rows = {}});
    }
    sheet.add(std::move(cells));
  }
  if (is_for_programs(format)) {
    if (sheet.block_column) sheet.columns.insert(sheet.columns.begin(), *sheet.block_column);
    sheet.block_column.reset();
    sheet.columns.push_back({"source", ""});
  }
  if (format == TableFormat::markdown) {
    sheet.above.clear();
    sheet.below = {fmt::format("{}", fmt::join(sheet.below, " "))};
  }
  return write_sheet(sheet, format);
}

std::vector<PublishedTable> published_tables() {
  return {ndcg_table(), cost_table(), tkl_table(), mixencoder_table()};
}

std::string write_published(const PublishedTable& table, TableFormat format) {
  std::string label(published_label);
  label.front() = 'P';
  const std::string source =
      fmt::format("{}: {}. {}; {}", label, table.citation, table.title, table.machine);
  return write_grid({.frame = SheetFrame::captioned,
                     .above = {fmt::format("{}: {}", table.title, table.subject)},
                     .columns = table.columns,
                     .below = {source + ".", std::string(table.note)}},
                    table.rows, source, format);
}

const std::vector<PublishedCost>& published_costs() {
  static const std::vector<PublishedCost> costs = read_costs();
  return costs;
}

std::vector<PublishedQuery> published_queries() {
  std::vector<PublishedQuery> queries;
  for (const std::vector<std::string>& row : rows_of("mixencoder_table6.csv", mixencoder_keys)) {
    const std::string& vectors = row[1];
    PublishedQuery& query = queries.emplace_back();
    query.row = row[0];
    if (row[0] == "poly-encoder") query.row += "-" + vectors;
    if (row[0] == "mixencoder") query.row = "mixencoder-a+contexts-" + vectors;
    query.time_ms = row[2];
    query.cache_gb = row[3];
  }
  return queries;
}

std::vector<PublishedRate> published_rates() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> called_otherwise{
      {{"matchpyramid", "match-pyramid"}, {"bert-cls", "cross-bert"}}};
  std::vector<PublishedRate> rates;
  for (const std::vector<std::string>& row : rows_of("tkl_table1.csv", tkl_keys)) {
    const auto* const other =
        std::ranges::find(called_otherwise, row[0], [](const auto& pair) { return pair.first; });
    rates.push_back({.row = other == called_otherwise.end() ? row[0] : std::string(other->second),
                     .most_words = static_cast<std::int64_t>(number(row[1])),
                     .documents_per_ms = number(row[8]),
                     .trec_ndcg10 = number(row[2]),
                     .dev_ndcg10 = number(row[5])});
  }
  return rates;
}

std::optional<PublishedRate> published_rate(const Row& row) {
  const HeatPoint& point = row.cell.point;
  const LengthDistribution& lengths = point.document_lengths;
  if (lengths.is_drawn() && (lengths.median != tkl_median || lengths.p90 != tkl_p90))
    return std::nullopt;
  for (const PublishedRate& rate : published_rates()) {
    const bool same = rate.row == row.cell.cell.contender.model && has_papers_size(rate, point) &&
                      tokens_with_words(point, rate.most_words) == point.sequence_tokens;
    if (same) return rate;
  }
  return std::nullopt;
}

std::vector<PublishedComparison> published_comparison(const Table& table) {
  std::vector<PublishedComparison> found;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    for (const PublishedCost& cost : published_costs()) {
      const bool same_row = contender.model.empty()
                                ? !cost.pattern.empty() && cost.pattern == contender.pattern
                                : cost.row == contender.model;
      const bool same = same_row && cost.window == contender.window &&
                        cost.sequence_tokens == row.cell.point.sequence_tokens;
      if (same && is_measured(row)) found.push_back({&row, cost});
    }
  }
  return found;
}

bool is_papers_cross_encoder(const Contender& contender) {
  return contender.model.empty() ||
         &family_of_row(contender.model.substr(0, contender.model.find('+'))) ==
             family_descriptions().front();
}

std::optional<PublishedNdcg> published_ndcg(const Contender& contender,
                                            std::int64_t sequence_tokens) {
  if (!is_papers_cross_encoder(contender)) return std::nullopt;
  return published_ndcg(contender.pattern, contender.window, sequence_tokens);
}

std::optional<PublishedNdcg> published_ndcg(std::string_view pattern, std::optional<Window> window,
                                            std::int64_t sequence_tokens) {
  // The paper's passage models read 512 tokens, its document models 4096.
  constexpr std::int64_t passage_tokens_there = 512, document_tokens_there = 4096;
  if (sequence_tokens > document_tokens_there) return std::nullopt;
  const std::optional<NdcgModel> wanted = ndcg_model(pattern, window);
  if (!wanted) return std::nullopt;
  const bool passages = sequence_tokens <= passage_tokens_there;
  const NdcgModel reference{"full_or_longformer", passages ? Window::infinite() : Window::of(64)};
  static const std::vector<NdcgMean> means = read_ndcg_means();
  const auto mean_of = [passages](const NdcgModel& model) {
    return std::ranges::find_if(means, [&](const NdcgMean& mean) {
      return mean.passages == passages && mean.model == model.model && mean.window == model.window;
    });
  };
  if (const auto mean = mean_of(*wanted); mean != means.end()) {
    const bool by_passages = !passages && wanted->window.is_infinite();
    return PublishedNdcg{
        .ndcg10 = mean->ndcg10,
        .is_equivalent = mean->is_equivalent,
        .is_reference = mean == mean_of(reference),
        .reference = passages ? "full attention" : "Longformer w = 64",
        .reference_ndcg10 = mean_of(reference)->ndcg10,
        .task = passages ? "passages" : "documents",
        .source = fmt::format("Schlatt et al., ECIR 2024, Table 1, mean over {}, TREC DL 2019-2022",
                              passages ? "passages" : "documents"),
        .note =
            by_passages ? "scored by the best passage (MaxP), not over the whole document" : ""};
  }
  return std::nullopt;
}

}  // namespace attnscope::report
