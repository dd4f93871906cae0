// SPDX-License-Identifier: Apache-2.0
//
// An advice as a table for documents, papers and spreadsheets: a row a contender, as one should
// read them.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "engine/report/advise.h"
#include "engine/report/latex_text.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

using statistics::Verdict;

constexpr std::string_view missing = "–";

struct Line {
  std::array<std::string, 6> texts;
  bool is_carried = false;  // its time, between measured lengths
};

std::array<std::string, 6> headings(const Advice& advice) {
  const std::int64_t count = advice.question.candidates;
  return {
      "Contender",
      fmt::format("{} document{}", count, count == 1 ? "" : "s"),
      advice.baseline ? fmt::format("Against {}", advice.baseline_words) : "Against the baseline",
      "Memory",
      "nDCG@10",
      "Remark"};
}

std::string speed_of(const Advised& one) {
  if (one.is_baseline) return "baseline";
  if (!one.to_baseline) return std::string(missing);
  switch (one.to_baseline->verdict) {
    case Verdict::faster:
      return times_in_words(1 / one.to_baseline->ratio) + " faster";
    case Verdict::slower:
      return times_in_words(one.to_baseline->ratio) + " slower";
    case Verdict::no_difference_shown:
      break;
  }
  return std::string(name_of(one.to_baseline->verdict));
}

std::string remark_on(const Advised& one) {
  if (one.standing == Standing::within_limits) return "";
  return fmt::format("{}: {}", name_of(one.standing), one.reason);
}

Line line_of(const Advised& one) {
  Line line;
  line.is_carried = one.time_ns && (one.is_interpolated || one.counted_as);
  line.texts = {one.name,
                one.time_ns ? format_time(one.time_ns->value) : std::string(missing),
                speed_of(one),
                one.peak_bytes ? format_bytes(*one.peak_bytes) : std::string(missing),
                one.published ? fmt::format("{:.3f}", one.published->ndcg10) : std::string(missing),
                remark_on(one)};
  return line;
}

/// What the columns rest on, below the table.
std::vector<std::string> notes_below(const Advice& advice) {
  std::vector<std::string> notes = advice.notes;
  bool is_carried = false, is_published = false;
  for (const Advised& one : advice.contenders) {
    is_carried = is_carried || line_of(one).is_carried;
    if (!one.published || is_published) continue;
    is_published = true;
    notes.push_back(fmt::format("nDCG@10 over {}: {} ({}).", one.published->task, published_label,
                                one.published->source));
  }
  if (is_carried) notes.emplace_back("≈: interpolated between measured lengths.");
  return notes;
}

std::string in_markdown(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string as_markdown(const Advice& advice) {
  std::string text = advice.heading + "\n\n|", rule = "|";
  for (const std::string& heading : headings(advice)) {
    text += fmt::format(" {} |", in_markdown(heading));
    rule += " --- |";
  }
  text += fmt::format("\n{}\n", rule);
  for (const Advised& one : advice.contenders) {
    const Line line = line_of(one);
    text += "|";
    for (std::size_t i = 0; i < line.texts.size(); ++i) {
      text +=
          fmt::format(" {}{} |", i == 1 && line.is_carried ? "≈ " : "", in_markdown(line.texts[i]));
    }
    text += "\n";
  }
  for (const std::string& note : notes_below(advice)) text += fmt::format("\n{}\n", note);
  return text + "\n" + provenance_line(advice.run) + "\n";
}

/// Signs that LaTeX's own fonts lack.
std::string in_latex(std::string_view text) {
  if (text == missing) return "--";
  std::string escaped = latex_escaped(text);
  constexpr std::string_view about = "≈";
  for (auto at = escaped.find(about); at != std::string::npos; at = escaped.find(about)) {
    escaped.replace(at, about.size(), "$\\approx$");
  }
  return escaped;
}

std::string as_latex(const Advice& advice) {
  std::string text = fmt::format("% {}\n", advice.heading);
  text += "\\begin{tabular}{@{}lrlrrl@{}}\n\\toprule\n";
  std::string between;
  for (const std::string& heading : headings(advice)) {
    text += between + in_latex(heading);
    between = " & ";
  }
  text += " \\\\\n\\midrule\n";
  for (const Advised& one : advice.contenders) {
    const Line line = line_of(one);
    for (std::size_t i = 0; i < line.texts.size(); ++i) {
      if (i > 0) text += " & ";
      if (i == 1 && line.is_carried) text += "$\\approx$ ";
      text += in_latex(line.texts[i]);
    }
    text += " \\\\\n";
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : notes_below(advice)) text += fmt::format("\n{}\n", in_latex(note));
  return text + fmt::format("% {}\n", provenance_line(advice.run));
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.9g}", *value) : std::string();
}

std::string as_csv(const Advice& advice) {
  std::string text =
      "contender,name,standing,reason,ms,low_ms,high_ms,ratio,ratio_low,ratio_high,verdict,"
      "peak_bytes,is_interpolated,ndcg10_published,run\r\n";
  for (const Advised& one : advice.contenders) {
    const auto of_time = [&one](double Estimate::*part) {
      return one.time_ns ? number((*one.time_ns).*part / 1e6) : std::string();
    };
    const auto of_ratio = [&one](double statistics::Ratio::*part) {
      return one.to_baseline ? number((*one.to_baseline).*part) : std::string();
    };
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
                        csv_field(one.contender), csv_field(one.name), name_of(one.standing),
                        csv_field(one.reason), of_time(&Estimate::value), of_time(&Estimate::low),
                        of_time(&Estimate::high), of_ratio(&statistics::Ratio::ratio),
                        of_ratio(&statistics::Ratio::low), of_ratio(&statistics::Ratio::high),
                        one.to_baseline ? name_of(one.to_baseline->verdict) : std::string_view(),
                        number(one.peak_bytes), line_of(one).is_carried,
                        one.published ? number(one.published->ndcg10) : std::string(),
                        advice.run.id.uuid);
  }
  return text;
}

}  // namespace

std::string write_advice(const Advice& advice, TableFormat format) {
  switch (format) {
    case TableFormat::markdown:
      return as_markdown(advice);
    case TableFormat::csv:
      return as_csv(advice);
    case TableFormat::latex:
      return as_latex(advice);
    case TableFormat::json:
      return write_advice_json({advice});
    case TableFormat::text:
      break;
  }
  return write_advice(advice) + "\n" + provenance_line(advice.run) + "\n";
}

}  // namespace attnscope::report
