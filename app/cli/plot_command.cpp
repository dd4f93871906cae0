// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/figure.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/gui/charts/facets_export.h"
#include "app/gui/charts/figure_export.h"
#include "app/gui/charts/offscreen_application.h"
#endif

namespace attnscope::cli {

namespace {

struct Arguments : TableArguments {
  std::string x = "length", y = "time", theme = "light", width = "lncs", facet;
  double font_pt = 8;
  std::filesystem::path file;
  bool caption = false, crossovers = false;
};

#ifdef ATTNSCOPE_HAS_GUI

/// A venue's text or column width, or a number of millimetres.
Result<double> width_in_mm(const std::string& text) {
  if (text == "lncs") return 122;  // Springer LNCS, text width
  if (text == "acm") return 84.7;  // acmart sigconf, one column
  if (text == "acl") return 77;    // ACL, one column
  double mm = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mm);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail("--width: '{}' is neither lncs, acm, acl nor a number of millimetres.", text);
  }
  return mm;
}

Result<charts::FigureOptions> figure_options(const Arguments& arguments) {
  charts::FigureOptions options;
  const auto width = width_in_mm(arguments.width);
  if (!width) return tl::unexpected(width.error());
  options.width_mm = *width;
  options.font_pt = arguments.font_pt;
  if (arguments.theme == "dark") {
    options.theme = charts::ChartTheme::dark;
  } else if (arguments.theme != "light") {
    return fail("--theme: there is no theme '{}'; write light or dark.", arguments.theme);
  }
  return options;
}

Status draw(const report::Table& table, const Arguments& arguments) {
  const auto x = report::parse_x(arguments.x);
  if (!x) return tl::unexpected(x.error());
  const auto ys = report::parse_ys(arguments.y);
  if (!ys) return tl::unexpected(ys.error());
  auto options = figure_options(arguments);
  if (!options) return tl::unexpected(options.error());
  if (arguments.caption) options->caption = report::provenance_line(table.run);
  for (const report::Row& row : table.rows) {
    options->contenders.push_back(row.cell.cell.contender.id());
  }
  const charts::OffscreenApplication application;
  if (!arguments.facet.empty() || ys->size() > 1) {
    const auto facets = report::make_facets(table, *x, *ys, arguments.facet);
    if (!facets) return tl::unexpected(facets.error());
    return charts::export_facets(*facets, arguments.file, *options);
  }
  auto figure = report::make_figure(table, *x, ys->front());
  if (!figure) return tl::unexpected(figure.error());
  if (arguments.crossovers) report::mark_crossovers(*figure, table, *x);
  return charts::export_figure(*figure, arguments.file, *options);
}

void plot(Session& session, const Arguments& arguments) {
  const bool several = !arguments.facet.empty() || arguments.y.find(',') != std::string::npos;
  if (arguments.crossovers && (arguments.baseline.empty() || several)) {
    return session.fail(exit_wrong_use,
                        several
                            ? "--crossovers marks one chart: leave --facet out, and name one --y."
                            : "--crossovers needs something to overtake; name it with "
                              "--baseline.");
  }
  const auto table = open_table(session, arguments);
  if (!table) return;
  if (Status done = draw(*table, arguments); !done) {
    return session.fail(exit_wrong_use, done.error().message);
  }
  fmt::print(stderr, "{} written\n", arguments.file.string());
}

#else

void plot(Session& session, const Arguments& arguments) {
  session.fail(
      exit_wrong_use,
      fmt::format(
          "this build has no Qt and cannot draw; 'attnscope export {} -o RUN.attn' takes the "
          "run to a machine that can.",
          arguments.run));
}

#endif

}  // namespace

void add_plot_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("plot", "Draw a run as a figure");
  add_table_arguments(*command, *arguments);
  command->add_option("-o,--output", arguments->file, "FIGURE.pdf, .svg or .png")
      ->type_name("FIGURE")
      ->required();
  command->add_option("--x", arguments->x, "length or window")->type_name("AXIS");
  command
      ->add_option("--y", arguments->y,
                   "time, memory, limit, ratio, per-token, executed; several, as in time,memory, "
                   "side by side")
      ->type_name("VALUE");
  command->add_option("--facet", arguments->facet, "One panel for each value of this key of --only")
      ->type_name("KEY");
  command->add_flag("--caption", arguments->caption,
                    "Where the numbers come from, under the figure");
  command->add_flag("--crossovers", arguments->crossovers,
                    "Mark where contenders overtake the baseline");
  command->add_option("--width", arguments->width, "lncs, acm, acl or millimetres")
      ->type_name("WIDTH");
  command->add_option("--font-pt", arguments->font_pt, "Size of the text in points")
      ->type_name("PT");
  command->add_option("--theme", arguments->theme, "light or dark")->type_name("THEME");
  command->callback([&session, arguments] { plot(session, *arguments); });
}

}  // namespace attnscope::cli
