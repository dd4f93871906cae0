// SPDX-License-Identifier: Apache-2.0
#include "app/worker/requests.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "app/worker/cache_requests.h"
#include "app/worker/request_fields.h"
#include "app/worker/training_requests.h"
#include "app/worker/turn_requests.h"
#include "attnscope/build_info.h"
#include "base/sentences.h"
#include "engine/attention/costs.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/attention/served/served.h"
#include "engine/heat/model_row.h"
#include "engine/measure/ceilings.h"
#include "engine/measure/conditions.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/heat_runner.h"
#include "engine/measure/machine.h"
#include "engine/model/family.h"
#include "engine/model/served_model.h"
#include "engine/proof/attend.h"
#include "engine/proof/check.h"
#include "engine/worker/protocol.h"
#include "engine/worker/sign_of_life.h"
#include "kernels/cuda/devices.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;

constexpr int exit_device_lost = 3;

/// One CUDA device: the first is the one used for computation.
json device_row(const CudaDevice& device, bool is_first) {
  const Status usable =
      is_first ? cuda::usable()
               : Status(fail("heats run on the first device; CUDA_VISIBLE_DEVICES chooses it"));
  json row = {
      {"kind", "cuda"},
      {"name", device.name},
      {"available", usable.has_value()},
      {"reason", usable ? "" : usable.error().message},
      {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
      {"memory_bytes", device.memory_bytes}};
  if (usable) row.update(measure::describe_cuda_device());
  return row;
}

/// The CPU, then every CUDA device, or one entry with the reason why there is none.
json devices(const json& processor) {
  json list = json::array();
  list.push_back({{"kind", "cpu"}, {"name", processor}, {"available", true}, {"reason", ""}});
  const CudaDevices found = cuda_devices();
  for (const CudaDevice& device : found.devices)
    list.push_back(device_row(device, &device == found.devices.data()));
  if (found.devices.empty()) {
    list.push_back(
        {{"kind", "cuda"}, {"name", ""}, {"available", false}, {"reason", found.reason}});
  }
  return list;
}

/// hello and describe: version of the worker, its machine, and what it can run.
json description(const char* event) {
  const json machine = measure::describe_machine();
  json known = json::array();
  for (const Implementation* implementation : implementations())
    known.push_back({{"id", implementation->id}, {"summary", implementation->summary}});
  // A family may have its own implementation; the driver requests only listed implementations.
  for (const Family* family : families()) {
    for (const std::string_view id : family->implementations()) {
      const auto is_it = [id](const json& entry) { return entry.at("id") == id; };
      if (std::ranges::any_of(known, is_it)) continue;
      known.push_back(
          {{"id", id},
           {"summary", fmt::format("the implementation of {}", family->description().id())}});
    }
  }
  json build = measure::describe_build();
  if (json served = served_in_words(); !served.empty()) build["served"] = std::move(served);
  return {{"event", event},
          {"protocol", protocol::version},
          {"version", ATTNSCOPE_VERSION},
          {"build", build},
          {"device", machine},
          {"devices", devices(machine["name"])},
          {"implementations", known}};
}

void answer_hello(const ReceivedRequest& requested, ProtocolChannel& channel) {
  if (const auto driver = requested.message.member("driver")) take_over_from(driver->text());
  std::vector<std::string> programs;
  if (const auto with = requested.message.member("with")) {
    for (const JsonField& program : with->elements()) programs.push_back(program.text());
  }
  if (!programs.empty()) {
    taken(serve_with(programs, static_cast<int>(measure::allowed_cores().size()),
                     [&channel] { channel.send_sign_of_life(); }));
  }
  channel.send(description("hello"));
}

void answer_describe(const ReceivedRequest&, ProtocolChannel& channel) {
  channel.send(description("describe"));
}

void answer_heat(const ReceivedRequest& requested, ProtocolChannel& channel) {
  protocol::HeatRequest heat = taken(protocol::read_heat_request(requested.message.value()));
  if (heat.heat.point.threads == 0)
    heat.heat.point.threads = static_cast<int>(measure::allowed_cores().size());
  const measure::HeatHooks hooks{
      .on_phase =
          [&](int contender, std::string_view phase) {
            channel.send({{"event", "progress"}, {"contender", contender}, {"phase", phase}});
          },
      .cancel = &requested.cancelled,
      .beacon = &beacon()};
  const HeatResult result = [&] {
    const std::jthread alive =
        report_alive(alive_interval, [&](const json& event) { channel.send(event); });
    return taken(measure::run_heat(heat, hooks));
  }();
  channel.send({{"event", "heat"}, {"result", protocol::to_json(result)}});
}

void answer_ceilings(const ReceivedRequest& requested, ProtocolChannel& channel) {
  const Ceilings ceilings = device_of(requested.message) == DeviceKind::cuda
                                ? measure::measure_cuda_ceilings()
                                : measure::measure_ceilings(threads_of(requested.message));
  channel.send({{"event", "ceilings"}, {"ceilings", protocol::to_json(ceilings)}});
}

void answer_attend(const ReceivedRequest& requested, ProtocolChannel& channel) {
  const JsonField& message = requested.message;
  const AttendRequest attention{.in = message["in"].text(),
                                .out = message["out"].text(),
                                .backward = message.truth_or("backward", false),
                                .pattern_json = message["pattern_json"].text(),
                                .window = message["window"].text(),
                                .layout_json = message["layout_json"].text(),
                                .layout_source = message["layout_source"].text(),
                                .implementation = message["implementation"].text(),
                                .dtype = message["dtype"].text(),
                                .device = std::string(name_of(device_of(message))),
                                .threads = threads_of(message)};
  measure::set_threads(attention.threads);
  const AttendOutcome outcome = taken(attend(attention));
  channel.send({{"event", "attend"},
                {"tokens", outcome.tokens},
                {"heads", outcome.heads},
                {"head_dim", outcome.head_dim},
                {"relative_error", outcome.relative_error},
                {"error_bound", outcome.error_bound},
                {"lse_written", outcome.lse_written}});
}

/// Replaces rows of attention by the family's answers for a whole model: whether each
/// implementation is supported, without the costs of attention if the family has none.
json rows_of_model(const JsonField& message, json rows) {
  const ModelRow row = taken(parse_model_row(message["model"].text()));
  const Family& family = family_of(*row.family);
  const std::int64_t heads = message["heads"].whole();
  const ModelShape shape{.layers = message["layers"].whole(),
                         .hidden = heads * message["head_dim"].whole(),
                         .heads = heads,
                         .feed_forward = message["feed_forward"].whole()};
  const ModelConfig config = row.family->config_for(shape, {&row, 1});
  ModelVariant variant{
      .pattern = taken(parse_pattern(message["pattern_json"].text(), "the pattern")),
      .local = layer_attention(row.local),
      .options = row.options,
      .dtype = taken(parse_dtype(message["dtype"].text())),
      .device = device_of(message),
      .threads = threads_of(message)};
  if (const std::string window = message["window"].text(); !window.empty())
    variant.window = taken(parse_window(window));
  const std::int64_t words = message["document_tokens"].whole(), most = config.most_document_tokens;
  const bool is_too_long = row.family->reads_words() && most > 0 && words > most;
  for (const Family* other : families()) {
    for (const std::string_view id : other->implementations()) {
      if (std::ranges::none_of(rows, [&](const json& entry) { return entry.at("id") == id; }))
        rows.push_back({{"id", id}, {"reason", ""}});
    }
  }
  for (json& entry : rows) {
    const auto id = entry.at("id").get<std::string>();
    const ServedOffer* const served = find_served_model(id);
    const Status able = served != nullptr ? takes_model(*served, *row.family, variant)
                                          : family.supports(config, variant, id);
    if (!able) {
      entry = {{"id", entry.at("id")}, {"reason", able.error().message}};
    } else if (is_too_long) {
      entry = {{"id", entry.at("id")},
               {"reason",
                fmt::format("a document has {} words, and the model accepts {}", words, most)}};
    } else if (served != nullptr) {
      entry = {{"id", id}, {"reason", ""}};  // reports its memory once it has loaded
    } else if (row.family->reads_words()) {
      // Few chunks at a time, or no attention.
      entry = {{"id", entry.at("id")},
               {"reason", ""},
               {"executed_flop", 0},
               {"executed_bytes", 0},
               {"peak_bytes", 0}};
    }
  }
  return rows;
}

void answer_costs(const ReceivedRequest& requested, ProtocolChannel& channel) {
  const JsonField& message = requested.message;
  const auto costs =
      implementation_costs({.pattern_json = message["pattern_json"].text(),
                            .window = message["window"].text(),
                            .layout_json = message["layout_json"].text(),
                            .layout_source = message["layout_source"].text(),
                            .heads = message["heads"].whole(),
                            .head_dim = message["head_dim"].whole(),
                            .dtype = message["dtype"].text(),
                            .device = std::string(attnscope::name_of(device_of(message))),
                            .direction = message["direction"].text(),
                            .operation = message.text_or("operation", "attention"),
                            .threads = threads_of(message)});
  if (!costs) throw RequestError(costs.error().message);
  json rows = json::array();
  for (const ImplementationCost& cost : *costs) {
    json row = {{"id", cost.id}, {"reason", cost.reason}};
    if (cost.executed_flop) row["executed_flop"] = *cost.executed_flop;
    if (cost.executed_bytes) row["executed_bytes"] = *cost.executed_bytes;
    if (cost.peak_bytes) row["peak_bytes"] = *cost.peak_bytes;
    rows.push_back(std::move(row));
  }
  if (message.member("model")) rows = rows_of_model(message, std::move(rows));
  channel.send({{"event", "costs"}, {"implementations", std::move(rows)}});
}

std::string_view name_of(CheckRow::Outcome outcome) {
  switch (outcome) {
    case CheckRow::Outcome::ok:
      return "ok";
    case CheckRow::Outcome::declined:
      return "declined";
    case CheckRow::Outcome::wrong:
      break;
  }
  return "wrong";
}

void answer_check(const ReceivedRequest& requested, ProtocolChannel& channel) {
  static_cast<void>(requested.message["device"]);
  const DeviceKind device = device_of(requested.message);
  const int threads = threads_of(requested.message);
  measure::set_threads(threads);
  const int wrong = check_all(device, threads, [&](const CheckRow& row) {
    if (requested.cancelled) throw RequestError("the check was cancelled");
    json event = {{"event", "check"},
                  {"implementation", row.implementation},
                  {"pattern", row.pattern},
                  {"window", row.window},
                  {"shape", row.shape},
                  {"dtype", attnscope::name_of(row.dtype)},
                  {"outcome", name_of(row.outcome)},
                  {"reason", row.reason},
                  {"error_bound", row.error_bound}};
    // JSON has no infinity: an output with NaN has no error value, only a reason.
    if (std::isfinite(row.relative_error)) event["relative_error"] = row.relative_error;
    channel.send(event);
  });
  channel.send({{"event", "check-done"}, {"wrong", wrong}});
}

using Handle = void (*)(const ReceivedRequest&, ProtocolChannel&, LoadedModel&);

/// Adapts a handler that needs no model.
template <void (*Answer)(const ReceivedRequest&, ProtocolChannel&)>
void alone(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& /*model*/) {
  Answer(requested, channel);
}

struct Handler {
  std::string_view request;
  Handle answer;
};

constexpr Handler handlers[] = {{"hello", &alone<&answer_hello>},
                                {"describe", &alone<&answer_describe>},
                                {"heat", &alone<&answer_heat>},
                                {"ceilings", &alone<&answer_ceilings>},
                                {"attend", &alone<&answer_attend>},
                                {"check", &alone<&answer_check>},
                                {"costs", &alone<&answer_costs>},
                                {"hold", &alone<&answer_hold>},
                                {"others", &alone<&answer_others>},
                                {"model", &answer_model},
                                {"score", &answer_score},
                                {"inspect", &answer_inspect},
                                {"open-cache", &answer_open_cache},
                                {"begin-cache", &answer_begin_cache},
                                {"add-documents", &answer_add_documents},
                                {"finish-cache", &answer_finish_cache},
                                {"begin-training", &answer_begin_training},
                                {"train-step", &answer_train_step},
                                {"keep-weights", &answer_keep_weights},
                                {"save-training", &answer_save_training},
                                {"write-trained", &answer_write_trained},
                                {"model-so-far", &answer_model_so_far}};

const Handler& handler_of(const JsonField& message) {
  const std::string kind = message["request"].text();
  std::vector<std::string_view> known = {"cancel", "quit"};
  for (const Handler& handler : handlers) {
    if (handler.request == kind) return handler;
    known.push_back(handler.request);
  }
  throw RequestError(fmt::format("there is no request '{}'; {}", in_a_sentence(kind),
                                 suggest(in_a_sentence(kind), known)));
}

}  // namespace

void Answers::answer(const Request& request, ProtocolChannel& channel) {
  try {
    if (!request.malformed.empty()) throw RequestError(request.malformed);
    const Status answered = with_json(request.message, "", [&](const JsonField& message) {
      handler_of(message).answer({message, *request.cancelled}, channel, model_);
    });
    if (!answered) channel.send_error(answered.error().message);
  } catch (const cuda::DeviceLost& error) {
    // Sends no event: the driver starts a new process, which can use the device again, and takes
    // the last line on stderr as the reason.
    fmt::print(stderr, "attnscope-worker: {}\n", error.what());
    channel.end_process(exit_device_lost);
  } catch (const std::bad_alloc& error) {
    channel.send_error(fmt::format("not enough memory for the request: {}", error.what()));
  } catch (const std::exception& error) {
    channel.send_error(error.what());
  }
  // The next step of a training allocates the same blocks again.
  if (!model_.trained) measure::process_memory().empty_cache();
}

}  // namespace attnscope::worker
