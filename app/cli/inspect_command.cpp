// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "attnscope/build_info.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/group_masses.h"
#include "kernels/base/text_file.h"
#include "kernels/base/written_file.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/gui/charts/map_export.h"
#include "app/gui/charts/offscreen_application.h"
#endif

namespace attnscope::cli {

namespace {

struct InspectCommandArguments {
  ModelArguments model;
  std::string query, document, document_file, mass;
  std::vector<std::int64_t> layers;
  std::int64_t layer = 0, head = 0;
  bool half = false, linear = false;
  FigureArguments figure;
};

enum class Wanted : std::uint8_t { dump, figure, masses };

/// By what is asked for and how the file is called.
Result<Wanted> wanted_of(const InspectCommandArguments& arguments) {
  if (!arguments.mass.empty()) {
    if (auto known = parse_mass_format(arguments.mass); !known) {
      return tl::unexpected(known.error());
    }
    if (!arguments.figure.file.empty()) return fail("give --mass or -o, one at a time");
    return Wanted::masses;
  }
  if (arguments.figure.file.empty()) return fail("give -o FILE or --mass FORMAT");
  const std::string extension = arguments.figure.file.extension().string();
  if (extension == ".safetensors") return Wanted::dump;
#ifdef ATTNSCOPE_HAS_GUI
  if (extension == ".pdf" || extension == ".svg" || extension == ".png") return Wanted::figure;
  return fail("{}: give a .safetensors for a dump, or a .pdf, .svg or .png for a figure",
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

/// Before anything is computed: the file asked for may be written, and is none of what is read.
Status may_write(const InspectCommandArguments& arguments) {
  std::vector<std::filesystem::path> inputs{arguments.document_file};
  std::error_code unknown;  // a folder that cannot be read is told when the model is opened
  for (const auto& entry :
       std::filesystem::directory_iterator(arguments.model.checkpoint, unknown)) {
    // Weights in one file or in shards; earlier dumps may lie there, too.
    if (entry.path().filename().string().starts_with("model")) inputs.push_back(entry.path());
  }
  return may_be_written(arguments.figure.file, inputs);
}

/// A file's name that nothing has, for a dump that is read and thrown away.
class Scratch {
 public:
  Scratch() {
    std::error_code failed;
    const auto folder = std::filesystem::temp_directory_path(failed);
    name_ = (folder / "attnscope-inspect-XXXXXX").string();
    if (const int made = ::mkstemp(name_.data()); made >= 0) ::close(made);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::unlink(name_.c_str()); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Has the worker compute the pair and write its dump; the score, where there is a head.
Result<std::optional<double>> write_dump(const InspectCommandArguments& arguments,
                                         const ScoringModel& model,
                                         const std::vector<std::int64_t>& layers,
                                         const std::filesystem::path& file) {
  const Result<std::string> document = document_of(arguments);
  if (!document) return tl::unexpected(document.error());
  const auto pair = model.pieces.encode(arguments.query, *document, model.limits);
  if (!pair) return tl::unexpected(pair.error());
  if (pair->query_cut || pair->document_cut) {
    say("attnscope: note: the {} was cut to {} tokens", pair->document_cut ? "document" : "query",
        pair->document_cut ? pair->document.size() : pair->query.size());
  }
  const auto metadata = dump_metadata(model, *pair, "");
  if (!metadata) return tl::unexpected(metadata.error());
  auto worker = start_model(arguments.model, model, nullptr);
  if (!worker) return tl::unexpected(worker.error());
  std::optional<double> score;
  const Status done = ask(worker->process,
                          {{"request", "inspect"},
                           {"cls", model.pieces.cls()},
                           {"items", {pair_json(*pair)}},
                           {"layers", layers.empty() ? nlohmann::json() : nlohmann::json(layers)},
                           {"half", arguments.half},
                           {"metadata", *metadata},
                           {"out", std::filesystem::absolute(file).string()}},
                          [&](const nlohmann::json& event) {
                            if (event.contains("score")) score = event["score"].get<double>();
                            return event.value("event", "") == "inspect";
                          });
  if (!done) return tl::unexpected(done.error());
  return score;
}

#ifdef ATTNSCOPE_HAS_GUI

/// One head's map, with the tokens beside it where they can be read.
Result<charts::HeatFigure> figure_of(const Dump& dump, const InspectCommandArguments& arguments) {
  constexpr std::int64_t cells = 1024;  // a side, at most
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
  const std::string pattern = fmt::format("{}{}", info.pattern.title,
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

void draw(Session& session, const std::filesystem::path& file,
          const InspectCommandArguments& arguments) {
  const auto dump = Dump::open(file);
  if (!dump) return session.fail(exit_wrong_use, dump.error().message);
  auto figure = figure_of(*dump, arguments);
  if (!figure) return session.fail(exit_wrong_use, figure.error().message);
  constexpr double width_mm = 122;
  const auto options = figure_options(arguments.figure, width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const charts::OffscreenApplication application;
  write_and_tell(session, charts::printable(std::move(*figure)), arguments.figure, *options);
}

#else

void draw(Session& session, const std::filesystem::path& /*file*/,
          const InspectCommandArguments& /*arguments*/) {
  session.fail(exit_wrong_use, "this build has no Qt and cannot draw");
}

#endif

void print_masses(Session& session, const std::filesystem::path& file,
                  const InspectCommandArguments& arguments) {
  const auto dump = Dump::open(file);
  if (!dump) return session.fail(exit_wrong_use, dump.error().message);
  const auto masses = group_masses(*dump);
  if (!masses) return session.fail(exit_wrong_use, masses.error().message);
  print_result(session, write_masses(*masses, *parse_mass_format(arguments.mass)));
}

void inspect(Session& session, const InspectCommandArguments& arguments) {
  const auto wanted = wanted_of(arguments);
  if (!wanted) return session.fail(exit_wrong_use, wanted.error().message);
  if (*wanted != Wanted::masses) {
    if (Status allowed = may_write(arguments); !allowed)
      return session.fail(exit_wrong_use, allowed.error().message);
  }
  const auto model = open_model(arguments.model);
  if (!model) return session.fail(exit_wrong_use, model.error().message);
  if (*wanted == Wanted::figure && arguments.head >= model->shape.heads) {
    return session.fail(exit_wrong_use,
                        fmt::format("head {} was asked for, and heads are counted from 0 to {}",
                                    arguments.head, model->shape.heads - 1));
  }
  const Scratch scratch;
  const std::filesystem::path file =
      *wanted == Wanted::dump ? arguments.figure.file : std::filesystem::path(scratch.name());
  const std::vector<std::int64_t> layers =
      *wanted == Wanted::figure ? std::vector{arguments.layer} : arguments.layers;
  const auto score = write_dump(arguments, *model, layers, file);
  if (!score) return session.fail(exit_wrong_use, score.error().message);
  if (*score) say("score {}", static_cast<float>(**score));
  if (*wanted == Wanted::figure) draw(session, file, arguments);
  if (*wanted == Wanted::masses) print_masses(session, file, arguments);
}

}  // namespace

void add_inspect_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<InspectCommandArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "What a checkpoint attends to in one query with its document");
  add_model_arguments(*command, arguments->model);
  command->add_option("--query", arguments->query, "Its text")->type_name("TEXT")->required();
  auto* document =
      command->add_option("--document", arguments->document, "Its text")->type_name("TEXT");
  auto* file = command->add_option("--document-file", arguments->document_file, "A file of text")
                   ->type_name("FILE");
  document->excludes(file);
  command->add_option("--layers", arguments->layers, "Of a dump or of masses, as 0,5; else all")
      ->type_name("N,...")
      ->delimiter(',');
  command->add_option("--layer", arguments->layer, "Of a figure, from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--head", arguments->head, "Of a figure, from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--linear", arguments->linear,
                    "Colours by the weights themselves, not by their logarithms");
  command->add_flag("--half", arguments->half, "A dump in float16: half the size");
  command
      ->add_option("--mass", arguments->mass,
                   "Print the mass from group to group for every head: text, csv or json")
      ->type_name("FORMAT");
  add_figure_arguments(*command, arguments->figure, "122");
  command->get_option("--output")
      ->required(false)
      ->description("A dump (.safetensors), or the figure of a head (.pdf, .svg, .png)");
  command->callback([&session, arguments, document, file] {
    if (document->count() + file->count() == 0) {
      return session.fail(exit_wrong_use,
                          "there is no document to inspect; give --document or --document-file");
    }
    inspect(session, *arguments);
  });
}

}  // namespace attnscope::cli
