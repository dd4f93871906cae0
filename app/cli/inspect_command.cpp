// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/worker_requests.h"
#include "attnscope/build_info.h"
#include "base/text_file.h"
#include "base/written_file.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/group_masses.h"
#include "engine/inspect/regions.h"
#include "engine/ranking/score_batches.h"
#include "engine/report/region_positions.h"
#include "engine/text/characters.h"
#include "engine/text/pair_reader.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/heat_drawing.h"
#include "app/drawing/offscreen_application.h"
#include "app/drawing/printable.h"
#include "app/drawing/regions_drawing.h"
#endif

namespace attnscope::cli {

namespace {

struct InspectCommandArguments {
  ModelArguments model;
  std::string query, document, document_file, mass;
  std::string pairs, pairs_format;
  std::vector<std::int64_t> layers;
  std::int64_t layer = 0, head = 0;
  std::string of_heads;  // a given option that applies to heads only
  bool half = false, linear = false;
  FigureArguments figure;
};

enum class Wanted : std::uint8_t { dump, figure, masses, page, score };

/// Determined by the options and the file name.
Result<Wanted> wanted_of(const InspectCommandArguments& arguments) {
  if (!arguments.mass.empty()) {
    if (auto known = parse_mass_format(arguments.mass); !known) {
      return tl::unexpected(known.error());
    }
    if (!arguments.figure.file.empty()) return fail("give --mass or -o, one at a time");
    return Wanted::masses;
  }
  if (arguments.figure.file.empty()) return Wanted::score;
  const std::string extension = arguments.figure.file.extension().string();
  if (extension == ".safetensors") return Wanted::dump;
  if (extension == ".html") return Wanted::page;
#ifdef ATTNSCOPE_HAS_GUI
  if (extension == ".pdf" || extension == ".svg" || extension == ".png") return Wanted::figure;
  return fail(
      "{}: give a .safetensors for a dump, a .pdf, .svg or .png for a figure, or a .html for the "
      "regions of a document",
      arguments.figure.file.string());
#else
  return fail(
      "this build has no Qt and cannot draw; write a .safetensors dump, which a build with the "
      "window draws");
#endif
}

Result<std::string> document_of(const InspectCommandArguments& arguments) {
  constexpr std::uintmax_t most_bytes = 64U << 20U;
  if (arguments.document_file.empty()) return arguments.document;
  return read_text_file(arguments.document_file, "document", most_bytes);
}

/// An option for heads is an error for a model that shows regions.
Status fits_regions(const InspectCommandArguments& arguments, const ScoringModel& model) {
  if (!model.regions || arguments.of_heads.empty()) return {};
  return fail("{}: this model shows the regions of a document and no heads; leave {} out",
              model.name, arguments.of_heads);
}

/// Has the worker compute a pair and write its file; returns the score, if the model has a head.
Result<std::optional<double>> ask_for_dump(WorkerProcess& worker, const ScoringModel& model,
                                           const InspectCommandArguments& arguments,
                                           const TokenPair& pair,
                                           const std::map<std::string, std::string>& metadata,
                                           const std::vector<std::int64_t>& layers,
                                           const std::filesystem::path& file) {
  protocol::InspectRequest request{.cls = model.tokenizer->cls(),
                                   .items = {score_item(pair)},
                                   .half = arguments.half,
                                   .metadata = metadata,
                                   .out = std::filesystem::absolute(file).string()};
  if (!layers.empty() && !model.regions) request.layers = layers;
  if (Status sent = send_request(worker, request); !sent) return tl::unexpected(sent.error());
  const auto answer = receive_answer<protocol::InspectRequest>(worker, interrupts());
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) {
    worker.kill();
    return fail("interrupted");
  }
  return (*answer)->score;
}

/// Has the worker compute the pair and write its dump; returns the score, if the model has a head.
Result<std::optional<double>> write_dump(const InspectCommandArguments& arguments,
                                         const ScoringModel& model,
                                         const std::vector<std::int64_t>& layers,
                                         const std::filesystem::path& file) {
  const Result<std::string> document = document_of(arguments);
  if (!document) return tl::unexpected(document.error());
  const std::string named =
      arguments.document_file.empty() ? "--document" : arguments.document_file;
  for (const auto& [text, name] :
       {std::pair<std::string_view, std::string>(arguments.query, "--query"), {*document, named}}) {
    const auto byte = first_byte_that_is_no_utf8(text);
    if (byte) return fail("{}: is no UTF-8 from its byte {} on; convert it", name, *byte + 1);
  }
  const auto pair = model.tokenizer->encode(arguments.query, *document, model.limits);
  if (!pair) return tl::unexpected(pair.error());
  if (pair->query_cut || pair->document_cut) {
    say("attnscope: note: the {} was cut to {} tokens", pair->document_cut ? "document" : "query",
        pair->document_cut ? pair->document.size() : pair->query.size());
  }
  Result<std::map<std::string, std::string>> metadata =
      model.regions ? regions_metadata(model, arguments.query, *document, *pair)
                    : dump_metadata(model, *pair, "", layers);
  if (!metadata) return tl::unexpected(metadata.error());
  auto worker = start_model(arguments.model, model.request, &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  return ask_for_dump(worker->process, model, arguments, *pair, *metadata, layers, file);
}

#ifdef ATTNSCOPE_HAS_GUI

/// The map of one head, with the tokens on its axes if they can be read.
Result<charts::HeatFigure> figure_of(const Dump& dump, const InspectCommandArguments& arguments) {
  constexpr std::int64_t cells = 1024;  // maximum per side
  const DumpInfo& info = dump.info();
  const auto head = static_cast<std::int32_t>(arguments.head);
  if (head >= info.heads) {
    return fail("head {} was asked for, and this model shows heads from 0 to {}", head,
                info.heads - 1);
  }
  const auto weights = head_weights(dump, 0, head);
  if (!weights) return tl::unexpected(weights.error());
  const auto summary = summarise(**weights, info.groups, {.map_side = cells}, {});
  charts::HeatFigure figure;
  const std::string words = fmt::format("layer {}, head {}", info.layers.front(), head);
  const auto& window = info.windows.front();
  const std::string pattern = fmt::format("{}{}", info.patterns.front().title,
                                          window ? fmt::format(", w = {}", window->text()) : "");
  figure.panels.push_back({QString::fromStdString(fmt::format("{}: {}", words, pattern)),
                           summary->map,
                           {.logarithmic = !arguments.linear,
                            .difference = false,
                            .largest = static_cast<double>(summary->map.largest())}});
  figure.groups = info.groups;
  figure.tokens = info.tokens;
  figure.title = fmt::format("Attention weights, {}", words);
  figure.provenance = fmt::format(
      "Attention weights of {}, {}, {}, on {} tokens. Rows attend to columns. AttnScope {}, commit "
      "{:.12}.",
      info.model, words, pattern, info.layout.tokens(), ATTNSCOPE_VERSION, ATTNSCOPE_GIT_COMMIT);
  GroupMasses masses{.groups = {}, .heads = {{info.layers.front(), head, summary->group_mass}}};
  for (const TokenGroup group : token_groups) {
    if (summary->rows[static_cast<std::size_t>(group)] > 0) masses.groups.push_back(group);
  }
  figure.numbers = write_masses(masses, MassFormat::csv);
  return figure;
}

/// The figure of a head, or of a document's regions.
Result<charts::Printable> printable_of(const std::filesystem::path& file, bool has_regions,
                                       const InspectCommandArguments& arguments) {
  if (has_regions) {
    auto regions = read_regions(file);
    if (!regions) return tl::unexpected(regions.error());
    return charts::printable(std::move(*regions));
  }
  const auto dump = Dump::open(file);
  if (!dump) return tl::unexpected(dump.error());
  auto figure = figure_of(*dump, arguments);
  if (!figure) return tl::unexpected(figure.error());
  return charts::printable(std::move(*figure));
}

void draw_positions(Session& session, report::Figure figure,
                    const InspectCommandArguments& arguments) {
  constexpr double width_mm = 122;
  const auto options = figure_options(arguments.figure, width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const charts::OffscreenApplication application;
  std::string about = figure.provenance;
  charts::Printable what = charts::printable(std::move(figure));
  what.about = std::move(about);
  write_and_report(session, what, arguments.figure, *options);
}

void draw(Session& session, const std::filesystem::path& file, bool has_regions,
          const InspectCommandArguments& arguments) {
  const auto what = printable_of(file, has_regions, arguments);
  if (!what) return session.fail(exit_wrong_use, what.error().message);
  constexpr double width_mm = 122;
  const auto options = figure_options(arguments.figure, width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const charts::OffscreenApplication application;
  write_and_report(session, *what, arguments.figure, *options);
}

#else

void draw_positions(Session& session, const report::Figure& /*figure*/,
                    const InspectCommandArguments& /*arguments*/) {
  session.fail(exit_wrong_use, "this build has no Qt and cannot draw");
}

void draw(Session& session, const std::filesystem::path& /*file*/, bool /*has_regions*/,
          const InspectCommandArguments& /*arguments*/) {
  session.fail(exit_wrong_use, "this build has no Qt and cannot draw");
}

#endif

/// Writes a document with its best regions marked.
void write_page(Session& session, const std::filesystem::path& file,
                const InspectCommandArguments& arguments) {
  const auto regions = read_regions(file);
  if (!regions) return session.fail(exit_wrong_use, regions.error().message);
  const auto written = write_file(arguments.figure.file, regions_html(*regions));
  if (!written) return session.fail(exit_wrong_use, written.error().message);
  say("{} written", arguments.figure.file.string());
}

/// Prints the score, and its parts for a document with regions.
void print_score(Session& session, const std::filesystem::path& file, const ScoringModel& model,
                 std::optional<double> score) {
  if (model.regions) {
    const auto regions = read_regions(file);
    if (!regions) return session.fail(exit_wrong_use, regions.error().message);
    return print_result(session, regions_in_words(*regions) + '\n');
  }
  if (!score) {
    return session.fail(
        exit_wrong_use,
        fmt::format("{}: this model gives no score; give -o FILE or --mass FORMAT", model.name));
  }
  print_result(session, fmt::format("score {}\n", static_cast<float>(*score)));
}

void print_masses(Session& session, const std::filesystem::path& file,
                  const InspectCommandArguments& arguments) {
  const auto dump = Dump::open(file);
  if (!dump) return session.fail(exit_wrong_use, dump.error().message);
  const auto masses = group_masses(*dump);
  if (!masses) return session.fail(exit_wrong_use, masses.error().message);
  print_result(session, write_masses(*masses, *parse_mass_format(arguments.mass)));
}

/// Positions of the best regions in the documents of a file, pair by pair.
Result<report::RegionPositions> positions_of(const InspectCommandArguments& arguments,
                                             const ScoringModel& model) {
  std::optional<PairFormat> format;
  if (!arguments.pairs_format.empty()) {
    const auto parsed = parse_pair_format(arguments.pairs_format);
    if (!parsed) return tl::unexpected(parsed.error());
    format = *parsed;
  }
  auto reader = PairReader::open(arguments.pairs, format);
  if (!reader) return tl::unexpected(reader.error());
  auto worker = start_model(arguments.model, model.request, &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  const Scratch scratch;
  CountLine progress(::isatty(STDERR_FILENO) == 1);
  report::RegionPositions positions;
  std::int64_t cut = 0;
  while (true) {
    const auto text = reader->next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) break;
    const auto pair = model.tokenizer->encode((*text)->query, (*text)->document, model.limits);
    if (!pair) return fail("{}: {}", reader->place((*text)->line), pair.error().message);
    cut += pair->query_cut || pair->document_cut ? 1 : 0;
    const auto metadata = regions_metadata(model, (*text)->query, (*text)->document, *pair);
    const auto written =
        ask_for_dump(worker->process, model, arguments, *pair, metadata, {}, scratch.name());
    if (!written) {
      if (interrupts() > 0) return tl::unexpected(written.error());
      return fail("{}: {}", reader->place((*text)->line), written.error().message);
    }
    const auto regions = read_regions(scratch.name());
    if (!regions) return tl::unexpected(regions.error());
    std::vector<std::int64_t> first_words;
    first_words.reserve(regions->peaks.size());
    for (const RegionPeak& peak : regions->peaks) first_words.push_back(peak.words.begin);
    positions.add(first_words);
    progress.show(fmt::format("{} documents", positions.documents()),
                  static_cast<double>(positions.documents()), reader->progress());
  }
  progress.clear();
  note(reader->notes());
  if (cut > 0) {
    say("attnscope: note: {} of {} pairs were cut to what the model reads", cut,
        positions.documents());
  }
  return positions;
}

void inspect_pairs(Session& session, const InspectCommandArguments& arguments) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) return session.fail(exit_wrong_use, wanted.error().message);
  if (*wanted != Wanted::figure) {
    return session.fail(exit_wrong_use,
                        "--pairs draws where regions lie; give -o FILE as .pdf, .svg or .png");
  }
  const auto model = open_model(arguments.model);
  if (!model) return session.fail(exit_wrong_use, model.error().message);
  if (Status allowed = may_be_written(arguments.figure.file); !allowed)
    return session.fail(exit_wrong_use, allowed.error().message);
  if (!model->regions) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: this model has no regions, so --pairs has nothing to "
                                    "draw; give --query and --document",
                                    model->name));
  }
  if (Status fits = fits_regions(arguments, *model); !fits)
    return session.fail(exit_wrong_use, fits.error().message);
  catch_interrupts();
  const auto positions = positions_of(arguments, *model);
  if (!positions) return session.fail(positions.error());
  auto figure = positions->figure(model->name);
  if (!figure) return session.fail(exit_wrong_use, figure.error().message);
  say("attnscope: {}", positions->in_words());
  draw_positions(session, std::move(*figure), arguments);
}

void inspect(Session& session, const InspectCommandArguments& arguments) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) return session.fail(exit_wrong_use, wanted.error().message);
  const auto model = open_model(arguments.model);
  if (!model) return session.fail(exit_wrong_use, model.error().message);
  if (*wanted != Wanted::masses && *wanted != Wanted::score) {
    if (Status allowed = may_be_written(arguments.figure.file); !allowed)
      return session.fail(exit_wrong_use, allowed.error().message);
  }
  if (Status fits = fits_regions(arguments, *model); !fits)
    return session.fail(exit_wrong_use, fits.error().message);
  if (*wanted == Wanted::page && !model->regions) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: this model has no regions to show; a .html is of TKL and "
                                    "TK, give a .safetensors, .pdf, .svg or .png",
                                    model->name));
  }
  if (*wanted == Wanted::masses && model->regions) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: this model has regions and no masses to print; give -o "
                                    "regions.html, .pdf, .svg, .png or .safetensors",
                                    model->name));
  }
  if (*wanted == Wanted::figure && !model->regions && arguments.head >= model->shape.heads) {
    return session.fail(exit_wrong_use,
                        fmt::format("head {} was asked for, and heads are counted from 0 to {}",
                                    arguments.head, model->shape.heads - 1));
  }
  catch_interrupts();
  const Scratch scratch;
  const std::filesystem::path file =
      *wanted == Wanted::dump ? arguments.figure.file : std::filesystem::path(scratch.name());
  const std::vector<std::int64_t> layers =
      *wanted == Wanted::figure ? std::vector{arguments.layer} : arguments.layers;
  const auto score = write_dump(arguments, *model, layers, file);
  if (!score) return session.fail(score.error());
  if (*wanted == Wanted::score) return print_score(session, file, *model, *score);
  if (*score) say("score {}", static_cast<float>(**score));
  if (*wanted == Wanted::dump) say("{} written", file.string());
  if (*wanted == Wanted::figure) draw(session, file, model->regions.has_value(), arguments);
  if (*wanted == Wanted::masses) print_masses(session, file, arguments);
  if (*wanted == Wanted::page) write_page(session, file, arguments);
}

}  // namespace

void add_inspect_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<InspectCommandArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show or write what a checkpoint attends to in one pair");
  add_model_arguments(*command, arguments->model);
  auto* query = command->add_option("--query", arguments->query, "Query text")->type_name("TEXT");
  auto* document =
      command->add_option("--document", arguments->document, "Document text")->type_name("TEXT");
  auto* file =
      command
          ->add_option("--document-file", arguments->document_file, "File with the document's text")
          ->type_name("FILE");
  document->excludes(file);
  auto* pairs = command
                    ->add_option("--pairs", arguments->pairs,
                                 "For models with regions, instead of one pair: draws where the "
                                 "regions of many documents lie; .tsv or .jsonl as for score")
                    ->type_name("FILE");
  for (auto* other : {query, document, file}) pairs->excludes(other);
  command
      ->add_option("--pairs-format", arguments->pairs_format, "tsv or jsonl; default: by file name")
      ->type_name("FORMAT");
  command
      ->add_option("--layers", arguments->layers,
                   "Layers of a dump or of masses, such as 0,5; default: all")
      ->type_name("N,...")
      ->delimiter(',');
  command->add_option("--layer", arguments->layer, "Layer of a figure, from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--head", arguments->head, "Head of a figure, from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--linear", arguments->linear,
                    "Colour by the weights instead of their logarithms");
  command->add_flag("--half", arguments->half, "Write the dump in float16");
  command
      ->add_option(
          "--mass", arguments->mass,
          "Print the attention mass between token groups for every head: text, csv or json")
      ->type_name("FORMAT");
  add_figure_arguments(*command, arguments->figure, "122");
  command->get_option("--output")
      ->required(false)
      ->description(
          "File to write: a dump (.safetensors), the figure of a head or of a document's regions "
          "(.pdf, .svg, .png), or regions as a page (.html); without it and --mass, the score is "
          "printed");
  command->callback([&session, arguments, command, query, document, file, pairs] {
    for (const char* option : {"--layers", "--layer", "--head", "--linear", "--half"}) {
      if (command->count(option) > 0) arguments->of_heads = option;
    }
    if (pairs->count() > 0) return inspect_pairs(session, *arguments);
    if (query->count() == 0) {
      return session.fail(exit_wrong_use, "there is no query to inspect; give --query");
    }
    if (document->count() + file->count() == 0) {
      return session.fail(exit_wrong_use,
                          "there is no document to inspect; give --document or --document-file");
    }
    inspect(session, *arguments);
  });
}

}  // namespace attnscope::cli
