// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/sentences.h"

namespace attnscope::effectiveness {
namespace {

enum class CutOff : std::uint8_t { none, optional, needed };
struct KindName {
  MeasureKind kind;
  std::string_view name;
  CutOff cutoff;
};
// For each kind, first its own name, then other names accepted by ir-measures, then trec_eval's.
constexpr std::array kind_names{KindName{MeasureKind::ndcg, "nDCG", CutOff::optional},
                                KindName{MeasureKind::rr, "RR", CutOff::optional},
                                KindName{MeasureKind::ap, "AP", CutOff::optional},
                                KindName{MeasureKind::p, "P", CutOff::needed},
                                KindName{MeasureKind::r, "R", CutOff::needed},
                                KindName{MeasureKind::judged, "Judged", CutOff::optional},
                                KindName{MeasureKind::rprec, "Rprec", CutOff::none},
                                KindName{MeasureKind::success, "Success", CutOff::needed},
                                KindName{MeasureKind::err, "ERR", CutOff::optional},
                                KindName{MeasureKind::bpref, "Bpref", CutOff::none},
                                KindName{MeasureKind::set_p, "SetP", CutOff::none},
                                KindName{MeasureKind::set_r, "SetR", CutOff::none},
                                KindName{MeasureKind::set_f, "SetF", CutOff::none},
                                KindName{MeasureKind::set_ap, "SetAP", CutOff::none},
                                KindName{MeasureKind::rr, "MRR", CutOff::optional},
                                KindName{MeasureKind::ap, "MAP", CutOff::optional},
                                KindName{MeasureKind::p, "Precision", CutOff::needed},
                                KindName{MeasureKind::r, "Recall", CutOff::needed},
                                KindName{MeasureKind::ndcg, "ndcg_cut", CutOff::needed},
                                KindName{MeasureKind::rr, "recip_rank", CutOff::none},
                                KindName{MeasureKind::ap, "map_cut", CutOff::needed},
                                KindName{MeasureKind::set_p, "set_P", CutOff::none},
                                KindName{MeasureKind::set_r, "set_recall", CutOff::none},
                                KindName{MeasureKind::set_f, "set_F", CutOff::none},
                                KindName{MeasureKind::set_ap, "set_map", CutOff::none}};

using Level = Qrels::Judgements::mapped_type;
constexpr Level not_judged = std::numeric_limits<Level>::min();

bool has_level(MeasureKind kind) {
  return kind != MeasureKind::ndcg && kind != MeasureKind::judged && kind != MeasureKind::err;
}

/// The largest supported relevance: the end of ERR's scale, or the largest exponent whose gain is
/// representable.
std::optional<Level> largest_level(const Measure& measure) {
  constexpr Level largest_exponent = 1000;
  if (measure.kind == MeasureKind::err) return err_scale;
  if (measure.is_exponential) return largest_exponent;
  return std::nullopt;
}

/// Ignores the case of ASCII letters: "ndcg@10" and "NDCG@10" are equal.
bool is_same_name(std::string_view a, std::string_view b) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, std::ranges::equal_to(), small, small);
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

/// The name before the '='.
std::string_view parameter_name(std::string_view text) {
  return without_blanks(text.substr(0, text.find('=')));
}

/// "rel=2", "dcg='exp-log2'", "judged_only=True"; returns false if the measure has no such
/// parameter.
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

/// The gain of a judged relevance.
double gain_of(Level relevance, bool is_exponential) {
  if (relevance <= 0) return 0;
  const auto gain = static_cast<double>(relevance);
  return is_exponential ? std::exp2(gain) - 1 : gain;
}

/// Relevance levels of the documents in rank order.
std::vector<Level> levels_of(const std::vector<RankedDocument>& documents,
                             const Qrels::Judgements& judgements, bool judged_only) {
  std::vector<Level> levels;
  levels.reserve(documents.size());
  for (const RankedDocument& document : documents) {
    const auto found = judgements.find(document.id);
    const Level level = found == judgements.end() ? not_judged : found->second;
    // trec_eval treats a relevance below 0 as in the pool but not judged.
    if (judged_only && level < 0) continue;
    levels.push_back(level);
  }
  return levels;
}

double discounted(std::span<const Level> levels, bool is_exponential) {
  double sum = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double gain = gain_of(levels[i], is_exponential);
    if (gain > 0) sum += gain / std::log2(static_cast<double>(i + 2));
  }
  return sum;
}

double ndcg(std::span<const Level> levels, const Measure& measure,
            const Qrels::Judgements& judgements, std::size_t cutoff) {
  std::vector<Level> ideal;
  ideal.reserve(judgements.size());
  for (const auto& [document, level] : judgements) ideal.push_back(level);
  std::ranges::sort(ideal, std::ranges::greater());
  ideal.resize(std::min(ideal.size(), cutoff));
  const double best = discounted(ideal, measure.is_exponential);
  const double reached = discounted(levels, measure.is_exponential);
  return best > 0 ? reached / best : reached;
}

double average_precision(std::span<const Level> levels, int relevant_from, std::int64_t relevant) {
  double sum = 0;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] < relevant_from) continue;
    sum += static_cast<double>(++found) / static_cast<double>(i + 1);
  }
  return found > 0 ? sum / static_cast<double>(relevant) : 0;
}

/// Cascade model: sums 1 / rank, weighted by the probability that the reader reaches a document and
/// stops there, given its relevance.
double expected_reciprocal_rank(std::span<const Level> levels) {
  double sum = 0, comes_so_far = 1;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double stops = gain_of(levels[i], true) / static_cast<double>(1 << err_scale);
    sum += stops * comes_so_far / static_cast<double>(i + 1);
    comes_so_far *= 1 - stops;
  }
  return sum;
}

/// Computed as in trec_eval, in the same order.
double binary_preference(std::span<const Level> levels, const Qrels::Judgements& judgements,
                         int relevant_from, std::int64_t relevant) {
  const auto is_not_relevant = [&](Level level) { return level >= 0 && level < relevant_from; };
  const std::int64_t not_relevant = std::ranges::count_if(
      judgements, [&](const auto& judgement) { return is_not_relevant(judgement.second); });
  double sum = 0;
  std::int64_t above = 0;
  for (const Level level : levels) {
    if (is_not_relevant(level)) ++above;
    if (level < relevant_from) continue;
    sum += above == 0 ? 1
                      : 1 - static_cast<double>(std::min(above, relevant)) /
                                static_cast<double>(std::min(not_relevant, relevant));
  }
  return relevant > 0 ? sum / static_cast<double>(relevant) : 0;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
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
  const std::string relevant = fmt::format("relevant: judged {} or higher", relevant_from);
  std::string text;
  switch (kind) {
    case MeasureKind::ndcg:
      text = fmt::format(
          "gain {}, discount log2(rank + 1), summed over {} and divided by this sum for the ideal "
          "ranking of all judged documents",
          is_exponential ? "2^relevance - 1" : "relevance", top);
      break;
    case MeasureKind::rr:
      text = fmt::format("1 / rank of the first relevant document in {}; {}", top, relevant);
      break;
    case MeasureKind::ap:
      text = fmt::format(
          "sum of the precisions at the relevant documents in {} / number of all relevant "
          "documents; {}",
          top, relevant);
      break;
    case MeasureKind::p:
      text = fmt::format("number of relevant documents in {} / {}; {}", top, cutoff, relevant);
      break;
    case MeasureKind::r:
      text =
          fmt::format("number of relevant documents in {} / number of all relevant documents; {}",
                      top, relevant);
      break;
    case MeasureKind::judged:
      text = fmt::format("share of judged documents in {}", top);
      break;
    case MeasureKind::rprec:
      text = fmt::format(
          "number of relevant documents in the first R ranks / R, where R is the number of all "
          "relevant documents; {}",
          relevant);
      break;
    case MeasureKind::success:
      text = fmt::format("1 if a relevant document is in {}, else 0; {}", top, relevant);
      break;
    case MeasureKind::err:
      text = fmt::format(
          "expected value of 1 / rank where a reader stops, over {}; a reader who reaches a "
          "document stops with probability (2^relevance - 1) / 2^{}",
          top, err_scale);
      break;
    case MeasureKind::bpref:
      text = fmt::format(
          "mean over all relevant documents of 1 - (judged non-relevant documents above) / "
          "min(relevant, judged non-relevant), 0 if not ranked; {}",
          relevant);
      break;
    case MeasureKind::set_p:
      text = fmt::format(
          "number of relevant documents that are ranked / number of ranked documents; {}",
          relevant);
      break;
    case MeasureKind::set_r:
      text = fmt::format(
          "number of relevant documents that are ranked / number of all relevant documents; {}",
          relevant);
      break;
    case MeasureKind::set_f:
      text = fmt::format("harmonic mean of SetP and SetR; {}", relevant);
      break;
    case MeasureKind::set_ap:
      text = fmt::format("product of SetP and SetR; {}", relevant);
      break;
  }
  if (judged_only) text += "; unjudged documents ignored";
  return text;
}

Result<Measure> parse_measure(std::string_view text) {
  const std::string_view whole = without_blanks(text);
  const auto unknown = [&](std::string_view why) {
    return fail(
        "'{}' is not a measure{}; known: nDCG@10, nDCG(dcg='exp-log2')@10, RR@10, AP, P@5, R@100, "
        "Rprec, Success@5, ERR@10, Bpref, SetP, SetR, SetF, SetAP, Judged@10, with (rel=2) where "
        "documents are relevant or not, and trec_eval's names, such as ndcg_cut_10, map, "
        "recip_rank",
        in_a_sentence(whole), why);
  };
  std::string_view name = whole;
  Measure measure;
  // "@10" as in ir-measures; "_10" and ".10" as in trec_eval's output and options.
  std::size_t mark = name.rfind('@');
  if (mark == std::string_view::npos) {
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last != std::string_view::npos && last + 1 < name.size() &&
        (name[last] == '_' || name[last] == '.'))
      mark = last;
  }
  if (mark != std::string_view::npos) {
    const auto cutoff = whole_number<std::int64_t>(name.substr(mark + 1));
    if (!cutoff || *cutoff < 1) return unknown(", because its cut-off is not a positive integer");
    measure.cutoff = *cutoff;
    name = name.substr(0, mark);
  }
  std::string_view parameters;
  if (const std::size_t bracket = name.find('('); bracket != std::string_view::npos) {
    if (!name.ends_with(')')) return unknown("");
    parameters = name.substr(bracket + 1, name.size() - bracket - 2);
    name = name.substr(0, bracket);
  }
  const auto* const kind = std::ranges::find_if(
      kind_names, [&](const KindName& known) { return is_same_name(known.name, name); });
  if (kind == kind_names.end()) return unknown("");
  measure.kind = kind->kind;
  std::set<std::string_view> given;
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find(','), parameters.size());
    const std::string_view one = parameters.substr(0, end);
    if (!given.insert(parameter_name(one)).second || !set_parameter(one, measure))
      return unknown(", because of its parameters in brackets");
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  if (kind->cutoff == CutOff::needed && measure.cutoff == 0)
    return unknown(" without a cut-off such as @10");
  if (kind->cutoff == CutOff::none && measure.cutoff > 0) return unknown(" with a cut-off");
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
      return fail("{} is given twice; give every measure once", measure->name());
    }
    measures.push_back(*measure);
    begin = i + 1;
  }
  return measures;
}

double value_of(const Measure& measure, const std::vector<RankedDocument>& documents,
                const Qrels::Judgements& judgements) {
  std::vector<Level> levels = levels_of(documents, judgements, measure.judged_only);
  const std::size_t cutoff = measure.cutoff > 0 ? static_cast<std::size_t>(measure.cutoff)
                                                : std::numeric_limits<std::size_t>::max();
  levels.resize(std::min(levels.size(), cutoff));
  const auto is_relevant = [&](Level level) { return level >= measure.relevant_from; };
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
    case MeasureKind::set_r:
      return share(found, static_cast<double>(relevant));
    case MeasureKind::rprec: {
      levels.resize(std::min(levels.size(), static_cast<std::size_t>(relevant)));
      return share(static_cast<double>(std::ranges::count_if(levels, is_relevant)),
                   static_cast<double>(relevant));
    }
    case MeasureKind::success:
      return found > 0 ? 1 : 0;
    case MeasureKind::err:
      return expected_reciprocal_rank(levels);
    case MeasureKind::bpref:
      return binary_preference(levels, judgements, measure.relevant_from, relevant);
    case MeasureKind::set_p:
      return share(found, static_cast<double>(levels.size()));
    case MeasureKind::set_f: {
      const double p = share(found, static_cast<double>(levels.size()));
      const double r = share(found, static_cast<double>(relevant));
      return share(2 * p * r, p + r);
    }
    case MeasureKind::set_ap:
      return share(found * found,
                   static_cast<double>(levels.size()) * static_cast<double>(relevant));
    case MeasureKind::judged:
      break;
  }
  const auto judged =
      std::ranges::count_if(levels, [](Level level) { return level != not_judged; });
  return share(static_cast<double>(judged), static_cast<double>(levels.size()));
}

Status check_grades(const std::vector<Measure>& measures, const Qrels& qrels) {
  for (const Measure& measure : measures) {
    const auto largest = largest_level(measure);
    if (!largest) continue;
    for (const auto& [query, judgements] : qrels.queries) {
      for (const auto& [document, level] : judgements) {
        if (level <= *largest) continue;
        return fail(
            "{}: document '{}' of query '{}' has the relevance {}, and {} is defined for "
            "relevances up to {}; remove the measure, or give judgements on a smaller scale",
            in_a_sentence(qrels.file.string(), 400), in_a_sentence(document), in_a_sentence(query),
            level, measure.name(), *largest);
      }
    }
  }
  return {};
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

namespace {

using Ranks = std::unordered_map<std::string_view, std::int64_t>;  // from 1

Ranks ranks_of(const std::vector<RankedDocument>& documents) {
  Ranks ranks;
  for (const RankedDocument& document : documents)
    ranks.emplace(document.id, static_cast<std::int64_t>(ranks.size()) + 1);
  return ranks;
}

std::int64_t rank_in(const Ranks& ranks, std::string_view id) {
  const auto found = ranks.find(id);
  return found == ranks.end() ? 0 : found->second;
}

double rank_biased_overlap(const std::vector<RankedDocument>& a,
                           const std::vector<RankedDocument>& b, double p) {
  const std::vector<RankedDocument>& shorter = a.size() < b.size() ? a : b;
  const std::vector<RankedDocument>& longer = a.size() < b.size() ? b : a;
  if (shorter.empty()) return longer.empty() ? 1 : 0;
  const Ranks in_shorter = ranks_of(shorter), in_longer = ranks_of(longer);
  const auto s = static_cast<std::int64_t>(shorter.size());
  const auto l = static_cast<std::int64_t>(longer.size());
  double sum = 0, weight = 1, overlap_at_s = 0;
  std::int64_t overlap = 0;
  for (std::int64_t depth = 1; depth <= l; ++depth) {
    // Each document is counted at the deeper of its two ranks.
    const auto at = static_cast<std::size_t>(depth - 1);
    const std::int64_t other = rank_in(in_shorter, longer[at].id);
    if (other > 0 && other <= depth) ++overlap;
    if (depth <= s) {
      const std::int64_t deeper = rank_in(in_longer, shorter[at].id);
      if (deeper > 0 && deeper < depth) ++overlap;
    }
    if (depth == s) overlap_at_s = static_cast<double>(overlap);
    weight *= p;
    const auto d = static_cast<double>(depth);
    sum += static_cast<double>(overlap) / d * weight;
    if (depth > s) {
      sum += overlap_at_s * static_cast<double>(depth - s) / (static_cast<double>(s) * d) * weight;
    }
  }
  const double beyond = (static_cast<double>(overlap) - overlap_at_s) / static_cast<double>(l) +
                        overlap_at_s / static_cast<double>(s);
  return (1 - p) / p * sum + beyond * weight;
}

/// Counts inversions by merge sort.
std::int64_t inversions(std::vector<std::int64_t>& values, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = begin + (end - begin) / 2;
  std::int64_t count = inversions(values, begin, middle) + inversions(values, middle, end);
  std::size_t right = middle;
  for (std::size_t left = begin; left < middle; ++left) {
    while (right < end && values[right] < values[left]) ++right;
    count += static_cast<std::int64_t>(right - middle);
  }
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::inplace_merge(at(begin), at(middle), at(end));
  return count;
}

std::optional<double> kendall(const std::vector<RankedDocument>& from, const Ranks& to) {
  std::vector<std::int64_t> ranks;
  for (const RankedDocument& document : from) {
    if (const std::int64_t rank = rank_in(to, document.id); rank > 0) ranks.push_back(rank);
  }
  if (ranks.size() < 2) return std::nullopt;
  const double pairs =
      static_cast<double>(ranks.size()) * static_cast<double>(ranks.size() - 1) / 2;
  return 1 - 2 * static_cast<double>(inversions(ranks, 0, ranks.size())) / pairs;
}

}  // namespace

RankAgreement compare_rankings(const std::vector<RankedDocument>& from,
                               const std::vector<RankedDocument>& to, double persistence) {
  const Ranks ranks_from = ranks_of(from), ranks_to = ranks_of(to);
  RankAgreement agreement{.rbo = rank_biased_overlap(from, to, persistence),
                          .tau = kendall(from, ranks_to),
                          .moves = {}};
  for (const RankedDocument& document : from) {
    const RankAgreement::Move move{document.id, rank_in(ranks_from, document.id),
                                   rank_in(ranks_to, document.id)};
    if (move.from != move.to) agreement.moves.push_back(move);
  }
  for (const RankedDocument& document : to) {
    if (!ranks_from.contains(document.id))
      agreement.moves.push_back({document.id, 0, rank_in(ranks_to, document.id)});
  }
  const auto discount = [](std::int64_t rank, std::size_t ranks) {
    return 1 / std::log2(
                   static_cast<double>(rank > 0 ? rank : static_cast<std::int64_t>(ranks) + 1) + 1);
  };
  const auto distance = [&](const RankAgreement::Move& move) {
    return std::fabs(discount(move.from, from.size()) - discount(move.to, to.size()));
  };
  std::ranges::stable_sort(agreement.moves, std::ranges::greater(), distance);
  return agreement;
}

}  // namespace attnscope::effectiveness
