// SPDX-License-Identifier: Apache-2.0
#include "app/worker/requests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "attnscope/build_info.h"
#include "base/sentences.h"
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
#include "engine/worker/messages.h"
#include "engine/worker/sign_of_life.h"
#include "engine/worker/turn_keeper.h"
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
std::vector<json> devices(const json& processor) {
  std::vector<json> list;
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

/// The version of the worker, its machine, and what it can run.
template <typename Event>
Event description() {
  Event event;
  event.version = ATTNSCOPE_VERSION;
  event.build = measure::describe_build();
  if (json served = served_in_words(); !served.empty()) event.build["served"] = std::move(served);
  event.device = measure::describe_machine();
  event.devices = devices(event.device["name"]);
  std::vector<protocol::ListedImplementation>& known = event.implementations;
  for (const Implementation* implementation : implementations())
    known.push_back({std::string(implementation->id), std::string(implementation->summary)});
  // A family may have its own implementation; the driver requests only listed implementations.
  for (const Family* family : families()) {
    for (const std::string_view id : family->implementations()) {
      if (std::ranges::find(known, id, &protocol::ListedImplementation::id) != known.end())
        continue;
      known.push_back(
          {std::string(id), fmt::format("the implementation of {}", family->description().id())});
    }
  }
  return event;
}

void answer(const protocol::HelloRequest& request, const Call& call) {
  take_over_from(request.driver);
  if (!request.with.empty()) {
    taken(
        serve_with(request.with, threads_or_all(0), [&call] { call.channel.send_sign_of_life(); }));
  }
  call.send(description<protocol::Hello>());
}

void answer(const protocol::DescribeRequest& /*request*/, const Call& call) {
  call.send(description<protocol::Description>());
}

void answer(protocol::HeatRequest request, const Call& call) {
  if (request.heat.point.threads == 0) request.heat.point.threads = threads_or_all(0);
  const measure::HeatHooks hooks{
      .on_phase =
          [&](int contender, std::string_view phase) {
            call.send(protocol::Progress{.contender = contender, .phase = std::string(phase)});
          },
      .cancel = &call.cancelled,
      .beacon = &beacon()};
  protocol::MeasuredHeat measured;
  {
    const std::jthread alive =
        report_alive(alive_interval, [&](const json& event) { call.channel.send(event); });
    measured.result = taken(measure::run_heat(request, hooks));
  }
  call.send(measured);
}

void answer(const protocol::CeilingsRequest& request, const Call& call) {
  const bool on_cuda = usable(request.device.value_or(DeviceKind::cpu)) == DeviceKind::cuda;
  call.send(protocol::MeasuredCeilings{
      .ceilings = on_cuda
                      ? measure::measure_cuda_ceilings()
                      : measure::measure_ceilings(threads_or_all(request.threads.value_or(0)))});
}

/// Each GPU has its own lock, so that GPUs can be measured concurrently; heats run on the first
/// visible GPU.
std::string name_of_lock(DeviceKind device) {
  std::string name(attnscope::name_of(device));
  if (device != DeviceKind::cuda) return name;
  const CudaDevices found = cuda_devices();
  return found.devices.empty() ? name : name + "-" + found.devices.front().uuid;
}

/// The process holds its turns until it exits.
TurnKeeper& turns() {
  static TurnKeeper kept(name_of_lock);
  return kept;
}

void answer(const protocol::HoldRequest& request, const Call& call) {
  take_over_from(request.driver);
  turns().hold(
      request, [&](const json& event) { call.channel.send(event); },
      [&] { return call.cancelled.load(); });
}

void answer(const protocol::OthersRequest& /*request*/, const Call& call) {
  turns().others([&](const json& event) { call.channel.send(event); });
}

void answer(const protocol::AttendRequest& request, const Call& call) {
  const AttendRequest attention{.in = request.in,
                                .out = request.out,
                                .backward = request.backward,
                                .pattern = request.pattern,
                                .window = request.window.window,
                                .layout_json = request.layout_json,
                                .layout_source = request.layout_source,
                                .implementation = request.implementation,
                                .dtype = request.dtype,
                                .device = usable(request.device),
                                .threads = threads_or_all(request.threads)};
  measure::set_threads(attention.threads);
  const AttendOutcome outcome = taken(attend(attention));
  call.send(protocol::Attended{.tokens = outcome.tokens,
                               .heads = outcome.heads,
                               .head_dim = outcome.head_dim,
                               .relative_error = outcome.relative_error,
                               .error_bound = outcome.error_bound,
                               .lse_written = outcome.lse_written});
}

/// Replaces rows of attention by the family's answers for a whole model: whether each
/// implementation is supported, without the costs of attention if the family has none.
void set_costs_of_model(const protocol::CostsRequest& request,
                        std::vector<protocol::ImplementationCosts>& rows) {
  const ModelRow row = taken(parse_model_row(*request.model));
  const Family& family = family_of(*row.family);
  const ModelShape shape{.layers = request.layers,
                         .hidden = request.heads * request.head_dim,
                         .heads = request.heads,
                         .feed_forward = request.feed_forward};
  const ModelConfig config = row.family->config_for(shape, {&row, 1});
  const ModelVariant variant{.pattern = request.pattern,
                             .window = request.window.window,
                             .local = layer_attention(row.local),
                             .options = row.options,
                             .dtype = request.dtype,
                             .device = request.device,
                             .threads = threads_or_all(request.threads)};
  const std::int64_t words = request.document_tokens, most = config.most_document_tokens;
  const bool is_too_long = row.family->reads_words() && most > 0 && words > most;
  for (const Family* other : families()) {
    for (const std::string_view id : other->implementations()) {
      if (std::ranges::find(rows, id, &protocol::ImplementationCosts::id) == rows.end())
        rows.push_back({.id = std::string(id)});
    }
  }
  for (protocol::ImplementationCosts& costs : rows) {
    const ServedOffer* const served = find_served_model(costs.id);
    const Status able = served != nullptr ? takes_model(*served, *row.family, variant)
                                          : family.supports(config, variant, costs.id);
    if (!able) {
      costs = {.id = costs.id, .reason = able.error().message};
    } else if (is_too_long) {
      costs = {
          .id = costs.id,
          .reason = fmt::format("a document has {} words, and the model accepts {}", words, most)};
    } else if (served != nullptr) {
      costs = {.id = costs.id};  // reports its memory once it has loaded
    } else if (row.family->reads_words()) {
      // Few chunks at a time, or no attention.
      costs = {.id = costs.id, .executed_flop = 0, .executed_bytes = 0, .peak_bytes = 0};
    }
  }
}

void answer(const protocol::CostsRequest& request, const Call& call) {
  const auto costs = taken(implementation_costs({.pattern = request.pattern,
                                                 .window = request.window.window,
                                                 .layout_json = request.layout_json,
                                                 .layout_source = request.layout_source,
                                                 .heads = request.heads,
                                                 .head_dim = request.head_dim,
                                                 .dtype = request.dtype,
                                                 .device = usable(request.device),
                                                 .direction = request.direction,
                                                 .operation = request.operation,
                                                 .threads = threads_or_all(request.threads)}));
  protocol::CountedCosts counted;
  for (const ImplementationCost& cost : costs) {
    counted.implementations.push_back({.id = cost.id,
                                       .reason = cost.reason,
                                       .executed_flop = cost.executed_flop,
                                       .executed_bytes = cost.executed_bytes,
                                       .peak_bytes = cost.peak_bytes});
  }
  if (request.model) set_costs_of_model(request, counted.implementations);
  call.send(counted);
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

void answer(const protocol::CheckRequest& request, const Call& call) {
  const DeviceKind device = usable(request.device);
  const int threads = threads_or_all(request.threads);
  measure::set_threads(threads);
  const int wrong = check_all(device, threads, [&](const CheckRow& row) {
    if (call.cancelled) throw RequestError("the check was cancelled");
    protocol::CheckRow event{.implementation = row.implementation,
                             .pattern = row.pattern,
                             .window = row.window,
                             .shape = row.shape,
                             .dtype = std::string(attnscope::name_of(row.dtype)),
                             .outcome = std::string(name_of(row.outcome)),
                             .reason = row.reason,
                             .error_bound = row.error_bound};
    // An output with NaN has no error value, only a reason.
    if (std::isfinite(row.relative_error)) event.relative_error = row.relative_error;
    call.send(event);
  });
  call.send(protocol::CheckDone{.wrong = wrong});
}

struct Handler {
  std::string_view request;
  void (*answer)(const JsonField& message, const Call& call);
};

template <typename Request>
constexpr Handler handler_for{Request::name, [](const JsonField& message, const Call& call) {
                                answer(read_fields<Request>(message), call);
                              }};

/// A handler for each request of the protocol.
template <typename... Requests>
constexpr std::array<Handler, sizeof...(Requests)> handlers_for(
    const std::tuple<Requests...>* /*requests*/) {
  return {handler_for<Requests>...};
}
constexpr auto handlers = handlers_for(static_cast<const protocol::AnsweredRequests*>(nullptr));

const Handler& handler_of(const JsonField& message) {
  const std::string kind = message["request"].text();
  std::vector<std::string_view> known = {protocol::CancelRequest::name,
                                         protocol::QuitRequest::name};
  for (const Handler& handler : handlers) {
    if (handler.request == kind) return handler;
    known.push_back(handler.request);
  }
  throw RequestError(fmt::format("there is no request '{}'; {}", in_a_sentence(kind),
                                 suggest(in_a_sentence(kind), known)));
}

}  // namespace

int threads_or_all(int threads) {
  return threads > 0 ? threads : std::max(static_cast<int>(measure::allowed_cores().size()), 1);
}

DeviceKind usable(DeviceKind device) {
  if (device == DeviceKind::cuda && !cuda::usable())
    throw RequestError("CUDA is not available: " + cuda::usable().error().message);
  return device;
}

void Answers::answer(const Request& request, ProtocolChannel& channel) {
  try {
    if (!request.malformed.empty()) throw RequestError(request.malformed);
    const Status answered = with_json(request.message, "", [&](const JsonField& message) {
      handler_of(message).answer(message, {channel, *request.cancelled, model_});
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
