// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "kernels/base/sentences.h"

namespace attnscope::effectiveness {
namespace {

struct KindName {
  MeasureKind kind;
  std::string_view name;
};
// Each kind's own name first, then what ir-measures also takes.
constexpr std::array kind_names{
    KindName{MeasureKind::ndcg, "nDCG"}, KindName{MeasureKind::rr, "RR"},
    KindName{MeasureKind::ap, "AP"},     KindName{MeasureKind::p, "P"},
    KindName{MeasureKind::r, "R"},       KindName{MeasureKind::judged, "Judged"},
    KindName{MeasureKind::ndcg, "NDCG"}, KindName{MeasureKind::rr, "MRR"},
    KindName{MeasureKind::ap, "MAP"},    KindName{MeasureKind::p, "Precision"},
    KindName{MeasureKind::r, "Recall"}};

constexpr int not_judged = std::numeric_limits<int>::min();

bool has_level(MeasureKind kind) {
  return kind != MeasureKind::ndcg && kind != MeasureKind::judged;
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Before the '='.
std::string_view parameter_name(std::string_view text) {
  return without_blanks(text.substr(0, text.find('=')));
}

/// "rel=2", "dcg='exp-log2'", "judged_only=True"; false where the measure has none such.
bool set_parameter(std::string_view text, Measure& measure) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) return false;
  const std::string_view name = parameter_name(text);
  std::string_view value = without_blanks(text.substr(sign + 1));
  if (name == "rel" && has_level(measure.kind)) {
    const auto level = whole_number<int>(value);
    if (!level || *level < 1) return false;
    measure.relevant_from = *level;
    return true;
  }
  if (name == "judged_only" && measure.kind != MeasureKind::judged) {
    measure.judged_only = value == "True";
    return value == "True" || value == "False";
  }
  if (name != "dcg" || measure.kind != MeasureKind::ndcg || value.size() < 2) return false;
  if ((value.front() != '\'' && value.front() != '"') || value.back() != value.front())
    return false;
  value = value.substr(1, value.size() - 2);
  measure.is_exponential = value == "exp-log2";
  return value == "exp-log2" || value == "log2";
}

/// Of a judged relevance.
double gain_of(int relevance, bool is_exponential) {
  if (relevance <= 0) return 0;
  return is_exponential ? std::exp2(relevance) - 1 : relevance;
}

/// Levels of the documents in the order of their ranks.
std::vector<int> levels_of(const std::vector<RankedDocument>& documents,
                           const Qrels::Judgements& judgements, bool judged_only) {
  std::vector<int> levels;
  levels.reserve(documents.size());
  for (const RankedDocument& document : documents) {
    const auto found = judgements.find(document.id);
    const int level = found == judgements.end() ? not_judged : found->second;
    // trec_eval takes a relevance below 0 as in the pool and not judged.
    if (judged_only && level < 0) continue;
    levels.push_back(level);
  }
  return levels;
}

double discounted(std::span<const int> levels, bool is_exponential) {
  double sum = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double gain = gain_of(levels[i], is_exponential);
    if (gain > 0) sum += gain / std::log2(static_cast<double>(i + 2));
  }
  return sum;
}

double ndcg(std::span<const int> levels, const Measure& measure,
            const Qrels::Judgements& judgements, std::size_t cutoff) {
  std::vector<int> ideal;
  ideal.reserve(judgements.size());
  for (const auto& [document, level] : judgements) ideal.push_back(level);
  std::ranges::sort(ideal, std::ranges::greater());
  ideal.resize(std::min(ideal.size(), cutoff));
  const double best = discounted(ideal, measure.is_exponential);
  const double reached = discounted(levels, measure.is_exponential);
  return best > 0 ? reached / best : reached;
}

double average_precision(std::span<const int> levels, int relevant_from, std::int64_t relevant) {
  double sum = 0;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] < relevant_from) continue;
    sum += static_cast<double>(++found) / static_cast<double>(i + 1);
  }
  return found > 0 ? sum / static_cast<double>(relevant) : 0;
}

}  // namespace

std::string Measure::name() const {
  std::string parameters;
  const auto add = [&](const std::string& parameter) {
    parameters += (parameters.empty() ? "" : ",") + parameter;
  };
  if (relevant_from != 1) add(fmt::format("rel={}", relevant_from));
  if (is_exponential) add("dcg='exp-log2'");
  if (judged_only) add("judged_only=True");
  const auto* const own = std::ranges::find(kind_names, kind, &KindName::kind);
  std::string text(own->name);
  if (!parameters.empty()) text += fmt::format("({})", parameters);
  if (cutoff > 0) text += fmt::format("@{}", cutoff);
  return text;
}

std::string Measure::definition() const {
  const std::string top = cutoff > 0 ? fmt::format("the first {} ranks", cutoff) : "all ranks";
  const std::string relevant = fmt::format("relevant from {} on", relevant_from);
  std::string text;
  switch (kind) {
    case MeasureKind::ndcg:
      text = fmt::format("gain {}, discount log2(rank + 1), {} over the ideal of all judged",
                         is_exponential ? "2^relevance - 1" : "relevance", top);
      break;
    case MeasureKind::rr:
      text = fmt::format("1 / rank of the first relevant, of {}; {}", top, relevant);
      break;
    case MeasureKind::ap:
      text = fmt::format("precision at each relevant of {} over all relevant; {}", top, relevant);
      break;
    case MeasureKind::p:
      text = fmt::format("relevant of {} over {}; {}", top, cutoff, relevant);
      break;
    case MeasureKind::r:
      text = fmt::format("relevant of {} over all relevant; {}", top, relevant);
      break;
    case MeasureKind::judged:
      text = fmt::format("judged of {} over those there are", top);
      break;
  }
  if (judged_only) text += "; documents not judged left out";
  return text;
}

Result<Measure> parse_measure(std::string_view text) {
  const std::string_view whole = without_blanks(text);
  const auto unknown = [&](std::string_view why) {
    return fail(
        "'{}' is no measure{}; known: nDCG@10, nDCG(dcg='exp-log2')@10, RR@10, AP, P@5, R@100, "
        "Judged@10, with (rel=2) where documents are relevant or not",
        in_a_sentence(whole), why);
  };
  std::string_view name = whole;
  Measure measure;
  if (const std::size_t at = name.rfind('@'); at != std::string_view::npos) {
    const auto cutoff = whole_number<std::int64_t>(name.substr(at + 1));
    if (!cutoff || *cutoff < 1) return unknown(", because its cut-off is no number of ranks");
    measure.cutoff = *cutoff;
    name = name.substr(0, at);
  }
  std::string_view parameters;
  if (const std::size_t bracket = name.find('('); bracket != std::string_view::npos) {
    if (!name.ends_with(')')) return unknown("");
    parameters = name.substr(bracket + 1, name.size() - bracket - 2);
    name = name.substr(0, bracket);
  }
  const auto* const kind = std::ranges::find(kind_names, name, &KindName::name);
  if (kind == kind_names.end()) return unknown("");
  measure.kind = kind->kind;
  std::set<std::string_view> given;
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find(','), parameters.size());
    const std::string_view one = parameters.substr(0, end);
    if (!given.insert(parameter_name(one)).second || !set_parameter(one, measure))
      return unknown(", because of what stands in its brackets");
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  const bool needs_cutoff = measure.kind == MeasureKind::p || measure.kind == MeasureKind::r;
  if (needs_cutoff && measure.cutoff == 0) return unknown(" without a cut-off, as @10");
  return measure;
}

Result<std::vector<Measure>> parse_measures(std::string_view text) {
  std::vector<Measure> measures;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (text[i] != ',' || depth > 0) continue;
    }
    const auto measure = parse_measure(text.substr(begin, i - begin));
    if (!measure) return tl::unexpected(measure.error());
    if (std::ranges::any_of(
            measures, [&](const Measure& other) { return other.name() == measure->name(); })) {
      return fail("{} is given twice; give each measure once", measure->name());
    }
    measures.push_back(*measure);
    begin = i + 1;
  }
  return measures;
}

double value_of(const Measure& measure, const std::vector<RankedDocument>& documents,
                const Qrels::Judgements& judgements) {
  std::vector<int> levels = levels_of(documents, judgements, measure.judged_only);
  const std::size_t cutoff = measure.cutoff > 0 ? static_cast<std::size_t>(measure.cutoff)
                                                : std::numeric_limits<std::size_t>::max();
  levels.resize(std::min(levels.size(), cutoff));
  const auto is_relevant = [&](int level) { return level >= measure.relevant_from; };
  const auto found = static_cast<double>(std::ranges::count_if(levels, is_relevant));
  const auto relevant = std::ranges::count_if(
      judgements, [&](const auto& judgement) { return is_relevant(judgement.second); });
  switch (measure.kind) {
    case MeasureKind::ndcg:
      return ndcg(levels, measure, judgements, cutoff);
    case MeasureKind::rr: {
      const auto first = std::ranges::find_if(levels, is_relevant);
      return first == levels.end() ? 0 : 1 / static_cast<double>(first - levels.begin() + 1);
    }
    case MeasureKind::ap:
      return average_precision(levels, measure.relevant_from, relevant);
    case MeasureKind::p:
      return found / static_cast<double>(measure.cutoff);
    case MeasureKind::r:
      return relevant > 0 ? found / static_cast<double>(relevant) : 0;
    case MeasureKind::judged:
      break;
  }
  const auto judged = std::ranges::count_if(levels, [](int level) { return level != not_judged; });
  return levels.empty() ? 0 : static_cast<double>(judged) / static_cast<double>(levels.size());
}

double Evaluation::mean(std::size_t measure) const {
  double sum = 0;
  for (const auto& [query, values] : queries) sum += values[measure];
  return queries.empty() ? 0 : sum / static_cast<double>(queries.size());
}

Evaluation evaluate(const TrecRun& run, const Qrels& qrels, std::vector<Measure> measures,
                    const EvaluationOptions& options) {
  if (options.judged_only) {
    for (Measure& measure : measures) measure.judged_only = measure.kind != MeasureKind::judged;
  }
  Evaluation evaluation{.measures = std::move(measures), .queries = {}};
  for (const auto& [query, judgements] : qrels.queries) {
    const auto documents = run.queries.find(query);
    std::vector<double> values(evaluation.measures.size(), 0);
    if (documents != run.queries.end()) {
      std::ranges::transform(evaluation.measures, values.begin(),
                             [&ranked = documents->second, &judged = judgements](const Measure& m) {
                               return value_of(m, ranked, judged);
                             });
    } else if (!options.complete) {
      continue;
    }
    evaluation.queries.emplace(query, std::move(values));
  }
  return evaluation;
}

}  // namespace attnscope::effectiveness
