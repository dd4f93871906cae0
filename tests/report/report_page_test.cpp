// SPDX-License-Identifier: Apache-2.0
//
// The contents of the page; report_browser_test.py tests it in a browser.
#include "engine/report/report_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/report/html_page.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ReportedRun read_or_throw(const Store& store, const RunInfo& run,
                          std::optional<std::string_view> baseline = std::nullopt) {
  return read_for_report(store, run, baseline, {}).value();
}

std::string page_of(const ReportedRun& run) {
  return write_report(std::span(&run, 1), {});
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  const std::size_t end = begin == std::string::npos ? begin : text.find(to, begin + from.size());
  if (end == std::string::npos) throw std::runtime_error("not there: " + from);
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

std::ptrdiff_t count_of(const std::string& text, const std::string& part) {
  const std::regex wanted(part);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), wanted), {});
}

json chart_in(const std::string& page) {
  return json::parse(between(page, "<script type=\"application/json\">", "</script>"));
}

TEST(ReportPage, BeginsWithEverySentenceOfTheAnswer) {
  const MeasuredRun run;
  const ReportedRun reported = read_or_throw(run.store(), run.info());
  const std::string page = page_of(reported);
  const std::string verdicts = between(page, "<h2>Verdicts</h2>", "<h2>Charts</h2>");
  const std::string answer = without_blanks(html_escaped(write_answers(
      run.info(), make_answers(*make_answer_table(run.store(), run.info(), {}, {}, XAxis::length),
                               XAxis::length))));
  std::size_t sentences = 0;
  for (std::string rest = verdicts; rest.find("<li>") != std::string::npos;) {
    const std::string sentence = between(rest, "<li>", "</li>");
    EXPECT_THAT(answer, HasSubstr(without_blanks(sentence)));
    rest = rest.substr(rest.find("</li>") + 5);
    ++sentences;
  }
  EXPECT_EQ(sentences, 3U + 4U + 2U) << "who crosses the baseline, what fits, who is fastest";
  EXPECT_THAT(verdicts, HasSubstr(html_escaped(headline_of(reported.answers.at(0)).sentence)));
  EXPECT_LT(page.find("<h2>Verdicts"), page.find("<h2>Charts"));
  EXPECT_LT(page.find("<h2>Charts"), page.find("<h2>Numbers"));
}

TEST(ReportPage, HasTheSameTableAsTheHtmlFormat) {
  const MeasuredRun run;
  const std::string page = page_of(read_or_throw(run.store(), run.info(), "full/dense"));
  const std::string alone = write_table(run.table("full/dense"), TableFormat::html);
  EXPECT_THAT(page, HasSubstr("<table>" + between(alone, "<table>", "</table>") + "</table>"));
  EXPECT_THAT(page, HasSubstr("<li>oom: it asks for 9.1 GB, and &quot;free&quot; are 1.2 GB"));
}

TEST(ReportPage, ChartsHaveEveryCellOfTheRun) {
  const MeasuredRun run;
  const Table table = run.table("full/dense");
  const json chart = chart_in(page_of(read_or_throw(run.store(), run.info(), "full/dense")));
  EXPECT_EQ(chart.at("axes").at(0).at("name"), "Length");
  const json& views = chart.at("axes").at(0).at("settings").at(0).at("views");
  std::vector<std::string> names;
  for (const json& view : views) names.push_back(view.at("name"));
  EXPECT_THAT(names, testing::IsSupersetOf({"Time", "Memory", "Ratio to the baseline"}));
  const json& time = views.at(0);
  std::size_t points = 0, rail = 0;
  for (const json& series : time.at("series")) {
    for (const json& point : series.at("points")) {
      const auto row = std::ranges::find_if(table.rows, [&](const Row& one) {
        return point.at("cell") == fmt::format("{}", one.cell.cell_number);
      });
      ASSERT_NE(row, table.rows.end());
      const double ms = row->cell.summary.median_ns / 1e6 / documents_of(*row);
      EXPECT_NEAR(point.at("y").get<double>(), ms, 1e-5 * ms);
      EXPECT_EQ(point.at("x"), row->cell.point.sequence_tokens);
      EXPECT_EQ(series.at("name"), row->cell.cell.contender.name);
      EXPECT_THAT(point.at("text").get<std::string>(),
                  AllOf(testing::StartsWith(format_time(ms * 1e6)), HasSubstr("95 %")));
      EXPECT_LT(point.at("low"), point.at("high"));
      ++points;
    }
    for (const json& mark : series.at("rail")) {
      EXPECT_EQ(mark.at("word"), "oom");
      EXPECT_THAT(mark.at("reason").get<std::string>(), HasSubstr("9.1 GB"));
      ++rail;
    }
  }
  EXPECT_EQ(points, 7U);
  EXPECT_EQ(rail, 1U);
  EXPECT_EQ(chart.at("cells").size(), 8U);
}

TEST(ReportPage, StatesProvenanceAndHowToRepeatTheRun) {
  const MeasuredRun run;
  const ReportedRun reported = read_or_throw(run.store(), run.info());
  const std::string page = page_of(reported);
  for (const std::string& caution : cautions(reported.description))
    EXPECT_THAT(page, HasSubstr("<li>" + html_escaped(caution) + "</li>"));
  for (const DescribedPart& part : described_parts(reported.description)) {
    for (const auto& [label, fact] : part.facts) {
      EXPECT_THAT(page, HasSubstr(fmt::format("<dt>{}</dt><dd>{}</dd>", html_escaped(label),
                                              html_escaped(fact))));
    }
  }
  EXPECT_THAT(page, HasSubstr("<pre>" + html_escaped(command_on(run.info(), "run --again"))));
  EXPECT_THAT(page, HasSubstr(html_escaped("{ \"name\": \"quick\",")));
}

TEST(ReportPage, EscapesUntrustedText) {
  const std::string hostile = "</script><img src=x onerror=alert(1)><!--";
  const TemporaryFolder folder;
  Store store = open_or_throw(folder / "runs.db");
  NewRun start = sample_run(hostile);
  start.command_line = start.device = start.sweep_text = hostile;
  start.provenance = json{{"device", {{"name", hostile}, {"environment", {{hostile, hostile}}}}},
                          {"build", {{"commit", hostile}}}}
                         .dump();
  const RunId id = begin_or_throw(store, start);
  HeatResult heat = MeasuredRun::heat_at(256);
  heat.cells[1].contender.name = hostile;
  heat.cells[3].reason = hostile;
  ASSERT_TRUE(store.add_heat(id, heat));
  ASSERT_TRUE(store.describe_run(id, {.name = hostile, .tag = hostile, .note = hostile}));
  const ReportedRun reported = read_or_throw(store, store.find_run("last").value());
  const StoredTable table{.store = &store, .table = &reported.table};
  const std::vector<StoredTable> twice(2, table);
  const std::string page =
      write_report(std::vector<ReportedRun>(2, reported), make_histories(twice).value());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(count_of(page, "<script"), count_of(page, "</script>"));
  EXPECT_EQ(count_of(page, "</script>"), 4) << "three charts and what draws them";
  const json::json_pointer name("/axes/0/settings/0/views/0/series/1/name");
  EXPECT_EQ(chart_in(page).at(name), hostile);
}

TEST(ReportPage, ForARunWithoutTimes_GivesTheReason) {
  const TemporaryFolder folder;
  Store store = open_or_throw(folder / "runs.db");
  const RunId id = begin_or_throw(store, sample_run());
  const std::string empty = page_of(read_or_throw(store, store.find_run("last").value()));
  EXPECT_THAT(empty, AllOf(HasSubstr("No heat of this run is finished yet."),
                           Not(HasSubstr("<h2>Charts")), Not(HasSubstr("<h2>Numbers"))));
  HeatResult heat = MeasuredRun::heat_at(256);
  for (Cell& cell : heat.cells) {
    cell.samples.clear();
    cell.status = CellStatus::oom;
    cell.reason = "there is no memory";
  }
  ASSERT_TRUE(store.add_heat(id, heat));
  const std::string failed = page_of(read_or_throw(store, store.find_run("last").value()));
  EXPECT_THAT(failed, AllOf(HasSubstr("Nothing could be measured: 4 cells oom."),
                            HasSubstr("oom: there is no memory"), HasSubstr("<h2>Numbers")));
}

TEST(ReportPage, OfSeveralRunsHasASummaryAndASectionEach) {
  const MeasuredRun a, b;
  const std::vector<ReportedRun> runs{read_or_throw(a.store(), a.info()),
                                      read_or_throw(b.store(), b.info())};
  const std::string page = write_report(runs, {});
  for (const char* part :
       {"<h1>2 runs</h1>", "<a href=\"#run-2\">", "id=\"run-1\"", "id=\"run-2\""})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_EQ(count_of(page, "<h3>Verdicts</h3>"), 2);
  EXPECT_LT(page.find(html_escaped(headline_of(runs[0].answers.at(0)).sentence)),
            page.find("id=\"run-1\""));
}

}  // namespace
}  // namespace attnscope::report
