// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "engine/report/run_figures.h"
#include "engine/report/scatter_figures.h"
#include "engine/report/training_curve.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/printable.h"
#endif

namespace attnscope::cli {

namespace {

struct PlotCommandArguments : TableArguments {
  std::string x = "length", y = "time", theme = "light", facet;
  std::string scale_x, scale_y, range_x, range_y;
  std::vector<std::string> trainings;  // folders; empty: draw a run
  double height_mm = 0;
  FigureArguments figure;
  bool caption = false, crossovers = false, no_intervals = false;
};

#ifdef ATTNSCOPE_HAS_GUI

/// The parsed options of the plot.
struct Choice {
  report::XAxis x = report::XAxis::length;
  std::vector<report::YAxis> ys;
  std::optional<report::Scale> x_scale, y_scale;
};

Result<std::optional<report::Scale>> scale_of(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<report::Scale>();
  return report::parse_scale(option, text).map([](report::Scale scale) {
    return std::optional(scale);
  });
}

Result<Choice> choice_of(const PlotCommandArguments& arguments) {
  const auto x = report::parse_x(arguments.x);
  if (!x) return tl::unexpected(x.error());
  auto ys = report::parse_ys(arguments.y);
  if (!ys) return tl::unexpected(ys.error());
  const auto x_scale = scale_of("--scale-x", arguments.scale_x);
  if (!x_scale) return tl::unexpected(x_scale.error());
  const auto y_scale = scale_of("--scale-y", arguments.scale_y);
  if (!y_scale) return tl::unexpected(y_scale.error());
  const auto bars = std::ranges::find_if(*ys, report::has_bars);
  if (bars != ys->end() && (*x_scale || *y_scale)) {
    return fail(
        "--y {} draws stacked bars, which need a linear axis; remove --scale-x and --scale-y",
        report::view_of(*bars).key);
  }
  return Choice{*x, std::move(*ys), *x_scale, *y_scale};
}

Result<charts::FigureOptions> options_of(const PlotCommandArguments& arguments) {
  auto options = figure_options(arguments.figure, charts::venues.front().width_mm);
  if (!options) return options;
  options->height_mm = arguments.height_mm;
  options->intervals = !arguments.no_intervals;
  if (arguments.theme == "dark") {
    options->theme = charts::ChartTheme::dark;
  } else if (arguments.theme != "light") {
    return fail("--theme: there is no theme '{}'; write light or dark.", arguments.theme);
  }
  for (const auto& [option, text, range] :
       {std::tuple("--range-x", &arguments.range_x, &options->x_range),
        {"--range-y", &arguments.range_y, &options->y_range}}) {
    if (text->empty()) continue;
    const auto parsed = charts::parse_range(option, *text);
    if (!parsed) return tl::unexpected(parsed.error());
    *range = *parsed;
  }
  return options;
}

/// Checks that the axis's scale supports the range.
Status check_range(std::string_view option, const std::optional<charts::AxisRange>& range,
                   report::Scale scale) {
  if (!range || report::can_show(scale, range->low)) return {};
  return fail("{}: starts at {}, but the axis is logarithmic; start above 0, or add {} linear",
              option, range->low, option == "--range-x" ? "--scale-x" : "--scale-y");
}

Status check_ranges(const charts::FigureOptions& options, const report::Figure& figure) {
  if (Status x = check_range("--range-x", options.x_range, figure.x_scale); !x) return x;
  return check_range("--range-y", options.y_range, figure.y_scale);
}

/// Effectiveness values differ by little, so their axis is fitted to them unless a range is given.
void fit_range(std::span<const report::Figure> panels, const Choice& choice,
               charts::FigureOptions& options) {
  const bool of_effectiveness = std::ranges::all_of(
      choice.ys, [](report::YAxis y) { return y == report::YAxis::effectiveness; });
  if (!of_effectiveness || options.y_range) return;
  if (const auto range = report::readable_range(panels))
    options.y_range = charts::AxisRange{range->low, range->high};
}

Result<charts::Printable> printable_of(const report::Table& table, const Choice& choice,
                                       const PlotCommandArguments& arguments,
                                       charts::FigureOptions& options) {
  if (!arguments.facet.empty() || choice.ys.size() > 1) {
    auto facets =
        report::make_facets(table, choice.x, choice.ys, arguments.facet, arguments.crossovers);
    if (!facets) return tl::unexpected(facets.error());
    for (report::Figure& panel : facets->panels) {
      report::set_scales(panel, choice.x_scale, choice.y_scale);
      if (Status fits = check_ranges(options, panel); !fits) return tl::unexpected(fits.error());
    }
    fit_range(facets->panels, choice, options);
    return charts::printable(std::move(*facets));
  }
  auto figure = report::make_figure(table, choice.x, choice.ys.front());
  if (!figure) return tl::unexpected(figure.error());
  if (arguments.crossovers) {
    report::mark_crossovers(*figure, table, choice.x, choice.ys.front());
  }
  report::set_scales(*figure, choice.x_scale, choice.y_scale);
  if (Status fits = check_ranges(options, *figure); !fits) return tl::unexpected(fits.error());
  fit_range(std::span(&*figure, 1), choice, options);
  return charts::printable(std::move(*figure));
}

/// Several trainings in one figure.
Result<charts::Printable> printable_of(const std::vector<std::string>& trainings,
                                       const Choice& choice, charts::FigureOptions& options) {
  std::vector<TrainingCurve> curves;
  std::vector<std::filesystem::path> files;
  curves.reserve(trainings.size());
  files.reserve(trainings.size());
  for (const std::string& place : trainings) {
    auto curve = read_training_curve(place);
    if (!curve) return tl::unexpected(curve.error());
    files.push_back(curve->file);
    curves.push_back(std::move(*curve));
  }
  options.contenders = report::names_of(curves);
  report::Facets facets = report::training_figure(curves);
  for (report::Figure& panel : facets.panels) {
    report::set_scales(panel, choice.x_scale, choice.y_scale);
    if (Status fits = check_ranges(options, panel); !fits) return tl::unexpected(fits.error());
  }
  charts::Printable what = charts::printable(std::move(facets));
  what.inputs = std::move(files);
  return what;
}

void plot_trainings(Session& session, const PlotCommandArguments& arguments, const Choice& choice) {
  auto options = options_of(arguments);
  if (!options) return session.fail(options.error());
  const auto what = printable_of(arguments.trainings, choice, *options);
  if (!what) return session.fail(what.error());
  write_figure(session, *what, arguments.figure, *options);
}

void plot(Session& session, const PlotCommandArguments& arguments) {
  const auto choice = choice_of(arguments);
  if (!choice) return session.fail(choice.error());
  if (!arguments.trainings.empty()) return plot_trainings(session, arguments, *choice);
  if (arguments.crossovers && arguments.baseline.empty()) {
    return session.fail(exit_wrong_use,
                        "--crossovers needs a baseline; give it with --baseline CONTENDER.");
  }
  if (arguments.crossovers &&
      std::ranges::none_of(choice->ys, [](report::YAxis y) { return report::has_time(y); })) {
    return session.fail(
        exit_wrong_use,
        "--crossovers marks where times cross; remove it, or draw --y time, per-token or ratio.");
  }
  const auto table = open_table(session, arguments);
  if (!table) return;
  auto options = options_of(arguments);
  if (!options) return session.fail(options.error());
  options->contenders = table->contenders;
  if (arguments.caption) options->caption = report::provenance_line(table->run);
  auto what = printable_of(*table, *choice, arguments, *options);
  if (!what) return session.fail(what.error());
  what->inputs = {table->run.file};
  write_figure(session, *what, arguments.figure, *options);
}

#else

void plot(Session& session, const PlotCommandArguments& arguments) {
  if (!arguments.trainings.empty()) {
    return session.fail(
        exit_wrong_use,
        "this build has no Qt and cannot draw; training.tsv in the folder has the values.");
  }
  session.fail(exit_wrong_use,
               fmt::format("this build has no Qt and cannot draw; export the run with 'attnscope "
                           "export {} -o RUN.attn' and draw it with a build that has the window.",
                           arguments.run));
}

#endif

/// "time, memory, ratio, ...": the values of --y.
std::string words_of_views() {
  std::string words;
  for (const report::View& view : report::views()) {
    words += (words.empty() ? "" : ", ") + std::string(view.key);
  }
  return words;
}

}  // namespace

void add_plot_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<PlotCommandArguments>();
  CLI::App* command =
      app.add_subcommand("plot", "Draw a run, or the training curves of folders, as a figure");
  const auto add = [command](const char* name, std::string& value, const std::string& help,
                             const char* type) { add_option(*command, name, value, type, help); };
  add_table_arguments(*command, *arguments);
  add("--x", arguments->x, "Quantity on the x axis: length, window or candidates; default: length",
      "AXIS");
  add("--y", arguments->y,
      "Value to draw: " + words_of_views() +
          "; default: time. Several, such as time,memory, are drawn side by side",
      "VALUE");
  add("--facet", arguments->facet,
      "Draw one panel for each value of this key; all keys of --only are allowed", "KEY");
  add("--scale-x", arguments->scale_x,
      "Scale of the x axis: linear, log2 or log10; default: chosen by the values", "SCALE");
  add("--scale-y", arguments->scale_y,
      "Scale of the y axis: linear, log2 or log10; default: chosen by the values", "SCALE");
  add("--range-x", arguments->range_x,
      "Limits of the x axis, such as 64:1024; default: chosen by the values", "LOW:HIGH");
  add("--range-y", arguments->range_y,
      "Limits of the y axis, such as 0.1:10; default: chosen by the values", "LOW:HIGH");
  command->add_flag("--no-intervals,!--intervals", arguments->no_intervals,
                    "Do not draw the 95 % confidence intervals");
  command->add_flag("--crossovers", arguments->crossovers,
                    "Mark the lengths from which contenders are faster than the baseline");
  command->add_flag("--caption", arguments->caption, "Print the run's provenance under the figure");
  add_figure_arguments(*command, arguments->figure, "lncs");
  add_option(*command, "--height", arguments->height_mm, "MM",
             "Height of the figure in millimetres; default: half the width, plus axes and legend");
  add("--theme", arguments->theme, "Colours: light or dark; default: light", "THEME");
  CLI::Option* trainings = add_option(
      *command, "--training", arguments->trainings, "DIR",
      "Draw loss and nDCG@10 over the steps of these training folders, instead of a run");
  for (const char* of_runs : {"run", "--baseline", "--only", "--db", "--x", "--y", "--facet",
                              "--no-intervals", "--crossovers", "--caption"}) {
    trainings->excludes(command->get_option(of_runs));
  }
  command->callback([&session, arguments] { plot(session, *arguments); });
}

}  // namespace attnscope::cli
