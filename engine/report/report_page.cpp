// SPDX-License-Identifier: Apache-2.0
#include "engine/report/report_page.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "base/sentences.h"
#include "engine/report/conditions.h"
#include "engine/report/html_page.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/report_charts.h"
#include "engine/report/report_parts.h"
#include "engine/report/sheet.h"

namespace attnscope::report {
namespace {

std::string in_paragraph(std::string_view text, std::string_view kind = {}) {
  if (text.empty()) return {};
  return kind.empty() ? fmt::format("<p>{}</p>\n", html_escaped(text))
                      : fmt::format("<p class=\"{}\">{}</p>\n", kind, html_escaped(text));
}

std::string list_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "<ul>\n";
  for (const std::string& line : lines) text += fmt::format("<li>{}</li>\n", html_escaped(line));
  return text + "</ul>\n";
}

/// Preformatted lines of a file or a shell.
std::string lines_as_they_are(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines += html_escaped(text.substr(0, end)) + "\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return fmt::format("<pre>{}</pre>\n", lines);
}

/// The heading level of a run: on a page of one run its name is the title; with several runs, each
/// has a section.
class SectionOfRun {
 public:
  SectionOfRun(const ReportedRun& run, bool is_only)
      : run_(run), info_(run.table.run), level_(is_only ? 2 : 3) {}

  [[nodiscard]] std::string html() const {
    return about() + verdicts() + charts() + numbers() + origin() + repetition();
  }

 private:
  [[nodiscard]] std::string heading(std::string_view text, int below = 0) const {
    return fmt::format("<h{0}>{1}</h{0}>\n", level_ + below, html_escaped(text));
  }

  [[nodiscard]] std::string about() const {
    std::string text = fmt::format("Run {} of {}, {}, {}, {}", info_.number, info_.start.sweep_name,
                                   name_of(info_.status), time_in_words(info_.started_unix_ms),
                                   info_.start.device);
    if (!run_.answers.empty()) {
      if (const std::string& shared = run_.answers.front().shared; !shared.empty())
        text += "; " + shared;
    }
    if (run_.table.baseline) text += fmt::format("; baseline: {}", *run_.table.baseline);
    return in_paragraph(text, "about");
  }

  [[nodiscard]] static std::size_t sentences_of(const Answer& answer) {
    return answer.crossovers.size() + answer.fits.size() + answer.rankings.size();
  }

  /// One setting, in the order and wording of `answer`: caveats first, then all sentences, which
  /// are collapsed if they would push the charts down.
  [[nodiscard]] std::string sentences(const Answer& answer, bool is_open) const {
    std::vector<std::string> along, fits, rankings;
    for (const CrossoverAnswer& crossover : answer.crossovers) along.push_back(crossover.sentence);
    for (const FitAnswer& fit : answer.fits) fits.push_back(fit.sentence);
    for (const Ranking& ranking : answer.rankings) rankings.push_back(sentence_of(ranking));
    const Headline headline = headline_of(answer);
    std::string html = in_paragraph(headline.sentence, "lead") + in_paragraph(headline.of_all) +
                       in_paragraph(headline.against_baseline) + html_paragraphs(answer.notes);
    if (sentences_of(answer) == 0) return html;
    html += fmt::format("<details{}><summary>All that is said of it: {}</summary>\n",
                        is_open ? " open" : "", counted(sentences_of(answer), "sentence"));
    const auto add = [&](std::string_view title, const std::vector<std::string>& lines) {
      if (!lines.empty()) html += heading(title, 1) + list_of(lines);
    };
    add(fmt::format("Along the {}", name_of(answer.x)), along);
    add("Longest length that fits", fits);
    add("Fastest", rankings);
    return html + "</details>\n";
  }

  [[nodiscard]] std::string verdicts() const {
    constexpr std::size_t most_open = 16;
    std::string html = heading("Verdicts");
    html += in_paragraph(run_.table.rows.empty() ? "No heat of this run is finished yet."
                                                 : nothing_measured(all_rows(run_.table.rows)),
                         "lead");
    std::size_t all = 0;
    for (const Answer& answer : run_.answers) all += sentences_of(answer);
    for (const Answer& answer : run_.answers) {
      if (run_.answers.size() > 1) html += heading(answer.setting, 1);
      html += sentences(answer, all <= most_open);
    }
    return html;
  }

  [[nodiscard]] std::string charts() const;

  [[nodiscard]] std::string numbers() const {
    if (run_.table.rows.empty()) return {};
    const Sheet sheet = sheet_of(run_.table);
    return heading("Numbers") + html_paragraphs(sheet.above) + html_table(sheet) +
           (sheet.notes.empty() ? "" : heading("What is missing, and what to know", 1)) +
           list_of(sheet.notes);
  }

  [[nodiscard]] std::string origin() const {
    std::string html = heading("Where the numbers come from");
    std::vector<std::string> known = cautions(run_.description);
    if (known.empty()) known.emplace_back(nothing_known_against_it);
    html += heading("To know before trusting them", 1) + list_of(known);
    for (const DescribedPart& part : described_parts(run_.description)) {
      if (part.facts.empty()) continue;
      html += heading(part.title.empty() ? "Run" : part.title, 1) + "<dl>\n";
      for (const auto& [label, fact] : part.facts) {
        html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(label), html_escaped(fact));
      }
      html += "</dl>\n";
    }
    if (!info_.start.sweep_text.empty()) {
      html += fmt::format("<details><summary>Sweep as it was read</summary>\n{}</details>\n",
                          lines_as_they_are(info_.start.sweep_text));
    }
    return html;
  }

  [[nodiscard]] std::string repetition() const {
    return heading("To repeat it") + lines_as_they_are(command_on(info_, "run --again")) +
           in_paragraph(provenance_line(run_.table), "small");
  }

  const ReportedRun& run_;
  const RunInfo& info_;
  int level_;
};

/// A chart drawn by the script; without a script, the text below it refers to the numbers.
std::string chart_in_page(const std::string& json) {
  return fmt::format(
      "<figure class=\"chart\"><svg class=\"plot\"></svg>\n<noscript><p class=\"small\">Charts are "
      "drawn by a script, which does not run here; the table below has all their "
      "numbers.</p></noscript>\n<script type=\"application/json\">{}</script></figure>\n",
      json);
}

std::string SectionOfRun::charts() const {
  const std::string json = chart_of(run_.table);
  return json.empty() ? std::string() : heading("Charts") + chart_in_page(json);
}

std::string title_in_page(const RunInfo& run, bool is_only) {
  return is_only ? title_of(run) : fmt::format("{}, run {}", title_of(run), run.number);
}

/// One line per run, if there are several.
std::string summary_of(const ReportedRun& run, std::size_t place) {
  std::string headline = nothing_measured(all_rows(run.table.rows));
  if (run.table.rows.empty()) headline = "No heat of this run is finished yet.";
  for (const Answer& answer : run.answers) {
    const std::string sentence = headline_of(answer).sentence;
    if (sentence.empty()) continue;
    headline = answer.setting.empty() ? sentence : fmt::format("{}: {}", answer.setting, sentence);
    if (run.answers.size() > 1) {
      headline +=
          fmt::format(" {} more in its section.", counted(run.answers.size() - 1, "setting"));
    }
    break;
  }
  return fmt::format("<li><a href=\"#run-{}\">{}</a>: {}</li>\n", place + 1,
                     html_escaped(title_in_page(run.table.run, false)), html_escaped(headline));
}

std::string section_of(const RunHistory& history) {
  std::string html = fmt::format("<section class=\"history\">\n<h2>History of {}</h2>\n",
                                 html_escaped(history.runs.front().run.start.sweep_name));
  html += in_paragraph(history_in_words(history), "lead");
  if (const Sheet changes = changes_sheet(history); !changes.blocks.empty())
    html += "<h3>What changed</h3>\n" + html_table(changes);
  html += in_paragraph(
      "A change is told where the 95 % interval of two runs' ratio, unpaired and with what may "
      "have "
      "moved between them in it, does not hold 1.",
      "small");
  if (const std::string json = chart_of(history); !json.empty()) html += chart_in_page(json);
  if (!history.cells.empty())
    html += "<h3>Time per document in each run</h3>\n" + html_table(history_sheet(history));
  return html + "</section>\n";
}

}  // namespace

Result<ReportedRun> read_for_report(const Store& store, const RunInfo& run,
                                    std::optional<std::string_view> baseline,
                                    const OnlyFilter& filter) {
  Result<Table> table = make_answer_table(store, run, baseline, filter, XAxis::length);
  if (!table) return tl::unexpected(table.error());
  Result<RunDescription> description = describe(store, run);
  if (!description) return tl::unexpected(description.error());
  std::vector<Answer> answers = make_answers(*table, XAxis::length);
  return ReportedRun{.table = std::move(*table),
                     .answers = std::move(answers),
                     .description = std::move(*description)};
}

std::string write_report(std::span<const ReportedRun> runs, std::span<const RunHistory> histories) {
  const bool is_only = runs.size() == 1;
  const std::string title =
      is_only ? title_in_page(runs.front().table.run, true) : counted(runs.size(), "run");
  std::string body = fmt::format("<main>\n<h1>{}</h1>\n", html_escaped(title));
  if (!is_only) {
    body += "<ul class=\"summary\">\n";
    for (std::size_t i = 0; i < runs.size(); ++i) body += summary_of(runs[i], i);
    for (const RunHistory& history : histories)
      body += fmt::format("<li>{}</li>\n", html_escaped(history_in_words(history)));
    body += "</ul>\n";
  }
  for (const RunHistory& one : histories) body += section_of(one);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    body += is_only ? "<section>\n"
                    : fmt::format("<section class=\"run\" id=\"run-{}\">\n<h2>{}</h2>\n", i + 1,
                                  html_escaped(title_in_page(runs[i].table.run, false)));
    body += SectionOfRun(runs[i], is_only).html() + "</section>\n";
  }
  body +=
      "</main>\n<footer><p>Written by AttnScope; everything it shows stands in this file.</p>"
      "</footer>\n";
  return visible(html_page(title + " · AttnScope", body,
                           {.styles = {page_part("page.css"), page_part("report.css")},
                            .script = page_part("report.js")}));
}

}  // namespace attnscope::report
