// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <stdlib.h>

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
#include "app/cli/worker_requests.h"
#include "attnscope/build_info.h"
#include "base/open_file.h"
#include "base/written_file.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"
#include "engine/inspect/regions.h"
#include "engine/ranking/text_scorer.h"
#include "engine/report/text_statistics.h"
#include "engine/text/characters.h"
#include "engine/text/pair_reader.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/heat_drawing.h"
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
    if (!arguments.figure.file.empty())
      return fail("--mass and -o exclude each other; give one of them");
    return Wanted::masses;
  }
  if (arguments.figure.file.empty()) return Wanted::score;
  const std::string extension = arguments.figure.file.extension().string();
  if (extension == ".safetensors") return Wanted::dump;
  if (extension == ".html") return Wanted::page;
#ifdef ATTNSCOPE_HAS_GUI
  if (extension == ".pdf" || extension == ".svg" || extension == ".png") return Wanted::figure;
  return fail(
      "{}: cannot write this type of file; use .safetensors for a dump, .pdf, .svg or .png for a "
      "figure, or .html for the regions of a document",
      arguments.figure.file.string());
#else
  return fail(
      "this build has no Qt and cannot draw; write a .safetensors dump, which a build with the "
      "window can draw");
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
  return fail("{}: this model has document regions instead of heads; remove {}", model.name,
              arguments.of_heads);
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
    if (byte) return fail("{}: not valid UTF-8 at byte {}; convert it to UTF-8", name, *byte + 1);
  }
  const auto pair = model.tokenizer->encode(arguments.query, *document, model.limits);
  if (!pair) return tl::unexpected(pair.error());
  if (pair->query_cut || pair->document_cut) {
    print_status("attnscope: note: the {} was truncated to {} tokens",
                 pair->document_cut ? "document" : "query",
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
    return fail("head {} does not exist; this model has the heads 0 to {}", head, info.heads - 1);
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

constexpr double figure_width_mm = 122;

void draw_positions(Session& session, report::Figure figure,
                    const InspectCommandArguments& arguments) {
  std::string about = figure.provenance;
  charts::Printable what = charts::printable(std::move(figure));
  what.about = std::move(about);
  write_figure(session, what, arguments.figure, figure_width_mm);
}

void draw(Session& session, const std::filesystem::path& file, bool has_regions,
          const InspectCommandArguments& arguments) {
  const auto what = printable_of(file, has_regions, arguments);
  if (!what) return session.fail(what.error());
  write_figure(session, *what, arguments.figure, figure_width_mm);
}

#else

// wanted_of() refuses figures in this build.
void draw_positions(Session& /*session*/, const report::Figure& /*figure*/,
                    const InspectCommandArguments& /*arguments*/) {}

void draw(Session& /*session*/, const std::filesystem::path& /*file*/, bool /*has_regions*/,
          const InspectCommandArguments& /*arguments*/) {}

#endif

/// Writes a document with its best regions marked.
void write_page(Session& session, const std::filesystem::path& file,
                const InspectCommandArguments& arguments) {
  const auto regions = read_regions(file);
  if (!regions) return session.fail(regions.error());
  const auto written = write_file(arguments.figure.file, regions_html(*regions));
  if (!written) return session.fail(written.error());
  print_status("{} written", arguments.figure.file.string());
}

/// Prints the score, and its parts for a document with regions.
void print_score(Session& session, const std::filesystem::path& file, const ScoringModel& model,
                 std::optional<double> score) {
  if (model.regions) {
    const auto regions = read_regions(file);
    if (!regions) return session.fail(regions.error());
    return print_result(session, regions_in_words(*regions) + '\n');
  }
  if (!score) {
    return session.fail(
        exit_wrong_use,
        fmt::format("{}: this model has no score; give -o FILE or --mass FORMAT", model.name));
  }
  print_result(session, fmt::format("score {}\n", static_cast<float>(*score)));
}

void print_masses(Session& session, const std::filesystem::path& file,
                  const InspectCommandArguments& arguments) {
  const auto dump = Dump::open(file);
  if (!dump) return session.fail(dump.error());
  const auto masses = group_masses(*dump);
  if (!masses) return session.fail(masses.error());
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
  CountLine progress;
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
    print_status("attnscope: note: {} of {} pairs were truncated to the model's maximum length",
                 cut, positions.documents());
  }
  return positions;
}

void inspect_pairs(Session& session, const InspectCommandArguments& arguments) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) return session.fail(wanted.error());
  if (*wanted != Wanted::figure) {
    return session.fail(
        exit_wrong_use,
        "--pairs draws the positions of regions; give -o FILE as .pdf, .svg or .png");
  }
  const auto model = open_model(arguments.model);
  if (!model) return session.fail(model.error());
  if (Status allowed = may_be_written(arguments.figure.file); !allowed)
    return session.fail(allowed.error());
  if (!model->regions) {
    return session.fail(
        exit_wrong_use,
        fmt::format("{}: this model has no document regions, so --pairs has nothing "
                    "to draw; remove --pairs, and give the texts of one pair with "
                    "--query and --document",
                    model->name));
  }
  if (Status fits = fits_regions(arguments, *model); !fits) return session.fail(fits.error());
  catch_interrupts();
  const auto positions = positions_of(arguments, *model);
  if (!positions) return session.fail(positions.error());
  auto figure = positions->figure(model->name);
  if (!figure) return session.fail(figure.error());
  print_status("attnscope: {}", positions->in_words());
  draw_positions(session, std::move(*figure), arguments);
}

void inspect(Session& session, const InspectCommandArguments& arguments) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) return session.fail(wanted.error());
  const auto model = open_model(arguments.model);
  if (!model) return session.fail(model.error());
  if (*wanted != Wanted::masses && *wanted != Wanted::score) {
    if (Status allowed = may_be_written(arguments.figure.file); !allowed)
      return session.fail(allowed.error());
  }
  if (Status fits = fits_regions(arguments, *model); !fits) return session.fail(fits.error());
  if (*wanted == Wanted::page && !model->regions) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: this model has no regions; .html is for TKL and TK, so "
                                    "write .safetensors, .pdf, .svg or .png",
                                    model->name));
  }
  if (*wanted == Wanted::masses && model->regions) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: this model has document regions instead of attention "
                                    "mass; give -o FILE as .html, .pdf, .svg, .png or .safetensors",
                                    model->name));
  }
  if (*wanted == Wanted::figure && !model->regions && arguments.head >= model->shape.heads) {
    return session.fail(exit_wrong_use,
                        fmt::format("head {} does not exist; this model has the heads 0 to {}",
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
  if (*score) print_status("score {}", static_cast<float>(**score));
  if (*wanted == Wanted::dump) print_status("{} written", file.string());
  if (*wanted == Wanted::figure) draw(session, file, model->regions.has_value(), arguments);
  if (*wanted == Wanted::masses) print_masses(session, file, arguments);
  if (*wanted == Wanted::page) write_page(session, file, arguments);
}

}  // namespace

void add_inspect_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<InspectCommandArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show or write a checkpoint's attention for one pair");
  add_model_arguments(*command, arguments->model);
  auto* query = add_option(*command, "--query", arguments->query, "TEXT", "Query text");
  auto* document = add_option(*command, "--document", arguments->document, "TEXT", "Document text");
  auto* file = add_option(*command, "--document-file", arguments->document_file, "FILE",
                          "Text file with the document, instead of --document");
  document->excludes(file);
  auto* pairs = add_option(
      *command, "--pairs", arguments->pairs, "FILE",
      "File of query-document pairs (.tsv or .jsonl, as for score) instead of one pair: draws the "
      "positions of the best regions in all documents; only for models with regions");
  for (auto* other : {query, document, file}) pairs->excludes(other);
  add_option(*command, "--pairs-format", arguments->pairs_format, "FORMAT",
             "Format of --pairs: tsv or jsonl; default: by file name");
  add_option(*command, "--layers", arguments->layers, "N,...",
             "Layers to include in a dump or in --mass, such as 0,5; default: all")
      ->delimiter(',');
  add_option(*command, "--layer", arguments->layer, "N",
             "Layer to draw, counted from 0; default: 0")
      ->check(CLI::NonNegativeNumber);
  add_option(*command, "--head", arguments->head, "N", "Head to draw, counted from 0; default: 0")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--linear", arguments->linear,
                    "Use a linear colour scale for the weights instead of a logarithmic one");
  command->add_flag("--half", arguments->half, "Write the dump in float16");
  add_option(*command, "--mass", arguments->mass, "FORMAT",
             "Print the attention mass between token groups for every head, as text, csv or json");
  add_figure_arguments(*command, arguments->figure, "122");
  command->get_option("--output")
      ->required(false)
      ->description(
          "File to write: a dump (.safetensors), a figure of a head or of a document's regions "
          "(.pdf, .svg, .png), or a page with the regions (.html); without -o and --mass, the "
          "score is printed");
  command->callback([&session, arguments, command, query, document, file, pairs] {
    for (const char* option : {"--layers", "--layer", "--head", "--linear", "--half"}) {
      if (command->count(option) > 0) arguments->of_heads = option;
    }
    if (pairs->count() > 0) return inspect_pairs(session, *arguments);
    if (query->count() == 0) {
      return session.fail(exit_wrong_use, "a query is required; give --query");
    }
    if (document->count() + file->count() == 0) {
      return session.fail(exit_wrong_use,
                          "a document is required; give --document or --document-file");
    }
    inspect(session, *arguments);
  });
}

}  // namespace attnscope::cli
