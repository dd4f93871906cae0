// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/served/served.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/sentences.h"
#include "engine/attention/implementation.h"
#include "engine/attention/list.h"
#include "engine/attention/served/served_process.h"
#include "engine/pattern/mask.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr int round_trips = 201;

/// Ok, or the reason why the offer does not compute the problem.
Status supports_attention(const ServedOffer& offer, const Problem& problem) {
  if (offer.kind == ServedOffer::Kind::model) {
    return fail("{} is a whole re-ranker; name it as MODEL/{} in a sweep of operation model",
                offer.id, offer.id);
  }
  if (problem.operation == Operation::windowed_matmul)
    return fail("{} computes attention: it has no separate products for windowed-matmul", offer.id);
  if (Status able = offer.supports(problem.pattern.name, problem.dtype, problem.device); !able)
    return able;
  if (problem.direction == Direction::forward_backward &&
      !offer.reported().value("backward", false))
    return fail("{} has no backward pass", offer.id);
  return {};
}

// The names in the order of a binding.
constexpr std::array tensor_names{"q", "k", "v", "o", "grad_o", "grad_q", "grad_k", "grad_v"};
constexpr std::size_t tensor_count = tensor_names.size();
constexpr std::size_t output = 3;
constexpr std::size_t first_gradient = 5;
constexpr std::array<std::size_t, 4> forward_tensors{0, 1, 2, 3};
constexpr std::array<std::size_t, 4> backward_tensors{4, 5, 6, 7};
constexpr bool is_written(std::size_t tensor) {
  return tensor == output || tensor >= first_gradient;
}

class PreparedServed final : public PreparedAttention {
 public:
  PreparedServed(ServedOffer& offer, const Problem& problem) : plan_(offer), problem_(problem) {}

  Status prepare() {
    plan_.begin(problem_.threads);
    bound_.fill(std::nullopt);
    keeps_ = false;
    const auto reported = plan_.ask("prepare", description(), answers());
    if (!reported) return tl::unexpected(reported.error());
    predicted_peak_ = reported->value("peak_bytes", std::int64_t{0});
    return {};
  }

  std::int64_t workspace_bytes() const override { return 0; }
  // The work of an external program is not counted.
  ExecutedWork executed() const override { return {}; }
  std::int64_t allocated_bytes() const override { return predicted_peak_; }
  bool writes_lse() const override { return false; }

  Status forward(const ForwardCall& call) override {
    return called('f', forward_tensors,
                  {{placed(call.q), placed(call.k), placed(call.v), placed(call.o)}});
  }
  Status backward(const BackwardCall& call) override {
    const GradientTensors& t = call.tensors;
    return called('b', backward_tensors,
                  {{Placed(), Placed(), Placed(), Placed(), placed(t.grad_o), placed(t.grad_q),
                    placed(t.grad_k), placed(t.grad_v)}});
  }

  Status keep_outputs(bool keeps) override {
    if (keeps_ == keeps) return {};
    if (!keeps && !plan_.is_there()) {  // a restarted process has kept nothing
      keeps_ = false;
      return {};
    }
    if (Status used = use(); !used) return used;
    keeps_ = keeps;
    const auto done = plan_.ask("keep", {{"keeps", keeps}}, answers());
    return done ? Status() : tl::unexpected(done.error());
  }
  std::optional<std::int64_t> own_peak_bytes() const override { return own_peak_; }
  Status touch_inputs() override {
    if (Status used = use(); !used) return used;
    const auto done = plan_.call('t');
    return done ? Status() : tl::unexpected(done.error());
  }
  void stop() override { plan_.stop(); }

 private:
  struct Placed {
    std::byte* data = nullptr;
    std::int64_t token_stride = 0, head_stride = 0, item_tokens = 0, item_stride = 0;
  };
  using Places = std::array<Placed, tensor_count>;
  template <typename Byte>
  static Placed placed(const StridedTensor<Byte>& tensor) {
    return {.data = const_cast<std::byte*>(tensor.data),
            .token_stride = tensor.token_stride,
            .head_stride = tensor.head_stride,
            .item_tokens = tensor.item_tokens,
            .item_stride = tensor.item_stride};
  }

  [[nodiscard]] std::size_t tensor_bytes() const {
    return static_cast<std::size_t>(problem_.plan.tokens * problem_.plan.heads * problem_.head_dim *
                                    size_of(problem_.dtype));
  }

  /// The same numbers packed contiguously, in the stage of that tensor.
  Placed staged(std::size_t i, const Placed& tensor) {
    const std::int64_t heads = problem_.plan.heads, dim = problem_.head_dim;
    std::byte* const data = stages_[i].of(tensor_bytes());
    const std::int64_t tokens = tensor.item_tokens;
    if (tokens == 0) return {.data = data, .token_stride = heads * dim, .head_stride = dim};
    return {.data = data,
            .token_stride = dim,
            .head_stride = tokens * dim,
            .item_tokens = tokens,
            .item_stride = heads * tokens * dim};
  }

  /// Row by row, because a model's projections interleave several tensors.
  void copy(const Placed& from, const Placed& to) const {
    const std::int64_t size = size_of(problem_.dtype);
    const auto row = [&](const Placed& tensor, std::int64_t token, std::int64_t head) {
      const std::int64_t in_item = tensor.item_tokens > 0 ? token % tensor.item_tokens : token;
      const std::int64_t item = tensor.item_tokens > 0 ? token / tensor.item_tokens : 0;
      return tensor.data + size * (item * tensor.item_stride + in_item * tensor.token_stride +
                                   head * tensor.head_stride);
    };
    const auto bytes = static_cast<std::size_t>(size * problem_.head_dim);
    for (std::int64_t token = 0; token < problem_.plan.tokens; ++token) {
      for (std::int64_t head = 0; head < problem_.plan.heads; ++head)
        std::memcpy(row(to, token, head), row(from, token, head), bytes);
    }
  }

  [[nodiscard]] json description() const {
    return {{"implementation", plan_.offer().id},
            {"pattern", json::parse(pattern_json(problem_.pattern))},
            {"window", problem_.window ? json(problem_.window->text()) : json()},
            {"layout", json::parse(layout_json(problem_.layout))},
            {"tokens", problem_.plan.tokens},
            {"heads", problem_.plan.heads},
            {"head_dim", problem_.head_dim},
            {"dtype", name_of(problem_.dtype)},
            {"memory_order", name_of(problem_.memory_order)},
            {"direction", name_of(problem_.direction)},
            {"scale", problem_.scale},
            {"threads", problem_.threads}};
  }

  /// Answers the process's question: the keys of an item's rows, as begins and ends in the item's
  /// own numbering.
  [[nodiscard]] ServedProcess::OnQuestion answers() {
    return [this](const json& question) -> json {
      const std::int64_t item = question.value("item", std::int64_t{0});
      const auto head = question.value("head", std::int32_t{0});
      if (question.value("question", "") != "rows" || item < 0 ||
          item >= problem_.layout.item_count() || head < 0 || head >= problem_.plan.heads)
        return {{"error", "there is no such item or head"}};
      if (!mask_) mask_.emplace(problem_.plan);
      json rows = json::array();
      const TokenRange tokens = problem_.layout.item_tokens(item);
      for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
        json row = json::array();
        for (const TokenRange& keys : mask_->intervals(head, token)) {
          row.push_back(keys.begin - tokens.begin);
          row.push_back(keys.end - tokens.begin);
        }
        rows.push_back(std::move(row));
      }
      return {{"rows", std::move(rows)}};
    };
  }

  Status use() {
    return plan_.use([this] { return prepare(); });
  }

  Status called(char request, const std::array<std::size_t, 4>& tensors, const Places& where) {
    if (Status used = use(); !used) return used;
    const bool moved = std::ranges::any_of(
        tensors, [&](std::size_t i) { return !bound_[i] || *bound_[i] != bound(where[i]); });
    if (moved) {
      if (Status done = bind(tensors, where); !done) return done;
    }
    for (const std::size_t i : tensors) {
      if (!is_written(i) && is_staged_[i]) copy(where[i], staged(i, where[i]));
    }
    const auto done = plan_.call(request, answers());
    if (!done) return tl::unexpected(done.error());
    if (done->is_object() && done->contains("peak_bytes"))
      own_peak_ = std::max(own_peak_.value_or(0), done->value("peak_bytes", std::int64_t{0}));
    for (const std::size_t i : tensors) {
      if (is_written(i) && is_staged_[i]) copy(staged(i, where[i]), where[i]);
    }
    return {};
  }

  /// Another tensor may have the address of a freed one.
  struct Bound {
    const std::byte* data = nullptr;
    std::optional<SharedPlace> place;
    friend bool operator==(const Bound&, const Bound&) = default;
  };
  [[nodiscard]] Bound bound(const Placed& tensor) const {
    return {.data = tensor.data, .place = shared_place(tensor.data, tensor_bytes())};
  }

  Status bind(const std::array<std::size_t, 4>& tensors, const Places& where) {
    json places = json::array();
    for (const std::size_t i : tensors) {
      bound_[i] = bound(where[i]);
      auto place = bound_[i]->place;
      is_staged_[i] = !place.has_value();
      const Placed tensor = place ? where[i] : staged(i, where[i]);
      if (!place) {
        if (tensor.data == nullptr) throw std::bad_alloc();
        place = shared_place(tensor.data, tensor_bytes());
      }
      places.push_back({{"name", tensor_names[i]},
                        {"file", place->file()},
                        {"offset", place->offset},
                        {"token_stride", tensor.token_stride},
                        {"head_stride", tensor.head_stride},
                        {"item_tokens", tensor.item_tokens},
                        {"item_stride", tensor.item_stride}});
    }
    const auto done = plan_.ask("bind", {{"tensors", std::move(places)}});
    return done ? Status() : tl::unexpected(done.error());
  }

  ServedPlan plan_;
  Problem problem_;
  std::int64_t predicted_peak_ = 0;
  bool keeps_ = false;
  std::optional<std::int64_t> own_peak_;
  std::optional<Mask> mask_;
  std::array<std::optional<Bound>, tensor_count> bound_;  // the tensors known to the process
  std::array<bool, tensor_count> is_staged_{};
  std::array<SharedStage, tensor_count> stages_;
};

bool is_name(std::string_view id) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !id.empty() && id.size() <= 60 && id.find_first_not_of(allowed) == std::string_view::npos;
}

/// Adds the offers of a program; the fields of its message may have any type.
Status add_offers(const std::string& program, std::shared_ptr<ServedProcess> process,
                  std::vector<std::string>& taken) {
  const json implementations = process->hello().value("implementations", json::array());
  const json models = process->hello().value("models", json::array());
  if (implementations.empty() && models.empty()) {
    return fail(
        "'{}' offers no implementation and no model; mark them with @attnscope.implementation and "
        "@attnscope.model",
        in_a_sentence(program));
  }
  const auto seconds = process->round_trip(round_trips);
  if (!seconds) return tl::unexpected(seconds.error());
  json about = process->hello().value("about", json::object());
  about["seconds_a_call"] = *seconds;
  const auto add = [&](ServedOffer::Kind kind, const json& reported) -> Status {
    ServedOffer offer(kind, program, reported, about);
    const char* const what = kind == ServedOffer::Kind::model ? "a model" : "an implementation";
    if (!is_name(offer.id)) {
      return fail("'{}' offers {} '{}'; an id must consist of letters, digits, '-' and '_'",
                  in_a_sentence(program), what, in_a_sentence(offer.id));
    }
    if (std::ranges::find(taken, offer.id) != taken.end()) {
      return fail("'{}' offers {} '{}', whose id is already in use; give it another id",
                  in_a_sentence(program), what, offer.id);
    }
    taken.push_back(offer.id);
    offer.keep(std::exchange(process, nullptr));  // to the first
    served_offers().push_back(std::move(offer));
    return {};
  };
  for (const json& reported : implementations) {
    if (Status added = add(ServedOffer::Kind::implementation, reported); !added) return added;
  }
  for (const json& reported : models) {
    if (Status added = add(ServedOffer::Kind::model, reported); !added) return added;
  }
  return {};
}

}  // namespace

ServedOffer::ServedOffer(Kind kind_in, std::string program, json reported, json about)
    : kind(kind_in),
      id(reported.value("id", "")),
      summary(reported.value("summary", "")),
      program_(std::move(program)),
      reported_(std::move(reported)),
      about_(std::move(about)) {}

Result<std::shared_ptr<ServedProcess>> ServedOffer::process(int threads) {
  if (!process_ || !process_->is_there() || process_->threads() != threads) {
    process_.reset();
    last_used_ = nullptr;
    auto started = ServedProcess::start(program_, threads);
    if (!started) return tl::unexpected(started.error());
    if (Status greeted = (*started)->greet(); !greeted) return tl::unexpected(greeted.error());
    process_ = std::move(*started);
  }
  return process_;
}

Status ServedOffer::supports(std::string_view pattern, DType dtype, DeviceKind device) const {
  const auto has = [this](const char* list, std::string_view name) {
    return std::ranges::any_of(reported_.value(list, json::array()),
                               [&](const json& entry) { return entry == name || entry == "*"; });
  };
  const auto listed = [this](const char* list) {
    return fmt::format("{}", fmt::join(reported_.value(list, std::vector<std::string>()), ", "));
  };
  if (device != DeviceKind::cpu)
    return fail("{} runs in another process, which supports only the CPU", id);
  if (!has("patterns", pattern))
    return fail("{} supports the patterns {}, not {}", id, listed("patterns"), pattern);
  if (!has("dtypes", name_of(dtype)))
    return fail("{} supports {}, not {}", id, listed("dtypes"), name_of(dtype));
  return {};
}

ServedPlan::~ServedPlan() {
  if (offer_.last_used_ == this) offer_.last_used_ = nullptr;
  if (!process_ || !process_->is_there()) return;
  static_cast<void>(process_->ask({{"request", "drop"}, {"plan", number_}}));
}

void ServedPlan::begin(int threads) {
  auto process = offer_.process(threads);
  if (!process) throw std::runtime_error(process.error().message);
  process_ = std::move(*process);
}

Result<json> ServedPlan::ask(const char* request, json fields,
                             const ServedProcess::OnQuestion& on_question) const {
  fields["request"] = request;
  fields["plan"] = number_;
  return unless_ended(process_->ask(fields, on_question));
}

Result<json> ServedPlan::call(char request, const ServedProcess::OnQuestion& on_question) const {
  return unless_ended(process_->call(request, on_question));
}

Result<json> ServedPlan::unless_ended(Result<json> answer) const {
  if (!answer && !process_->is_there())
    throw ServedProcessEnded(answer.error().message, process_->was_killed_for_memory());
  return answer;
}

Status ServedPlan::use(const std::function<Status()>& make) {
  if (!process_->is_there()) {
    if (Status ready = make(); !ready) return ready;
  }
  if (offer_.last_used_ == this) return {};
  if (const auto used = ask("use"); !used) return tl::unexpected(used.error());
  offer_.last_used_ = this;
  return {};
}

json ServedOffer::in_words() const {
  json words = about_;
  words["id"] = id;
  words["program"] = program_;
  for (const char* field : {"precision", "weights"}) {
    if (const std::string stated = reported_.value(field, ""); !stated.empty())
      words[field] = stated;
  }
  return words;
}

std::deque<ServedOffer>& served_offers() {
  static auto* const all = new std::deque<ServedOffer>;
  return *all;
}

Status serve_with(const std::vector<std::string>& programs, int threads,
                  const std::function<void()>& on_look) {
  if (!served_offers().empty()) {
    return fail(
        "this worker has already started its --with programs; give all of them in one request");
  }
  std::vector<std::string> taken;
  const ImplementationList own = listed_implementations();
  for (const Implementation* listed : own.all()) taken.emplace_back(listed->id);
  std::vector<std::unique_ptr<ServedProcess>> processes;
  for (const std::string& program : programs) {
    auto process = ServedProcess::start(program, threads);
    if (!process) return tl::unexpected(process.error());
    processes.push_back(std::move(*process));
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (Status greeted = processes[i]->greet(on_look); !greeted) return greeted;
    try {
      if (Status added = add_offers(programs[i], std::move(processes[i]), taken); !added)
        return added;
    } catch (const json::exception& error) {
      return fail("'{}' sent a greeting that does not follow the contenders' protocol: {}",
                  in_a_sentence(programs[i]), error.what());
    }
  }
  return {};
}

json served_in_words() {
  json words = json::array();
  for (const ServedOffer& offer : served_offers()) words.push_back(offer.in_words());
  return words;
}

std::vector<pid_t> served_processes() {
  std::vector<pid_t> running;
  for (const ServedOffer& offer : served_offers()) {
    if (const auto pid = offer.running()) {
      const std::vector<pid_t> all = with_descendants(*pid);
      running.insert(running.end(), all.begin(), all.end());
    }
  }
  return running;
}

std::vector<Implementation> served_implementations() {
  std::vector<Implementation> offered;
  for (ServedOffer& offer : served_offers()) {
    offered.push_back(
        {.id = offer.id,
         .summary = offer.summary,
         .is_served = true,
         .supports =
             [&offer](const Problem& problem) { return supports_attention(offer, problem); },
         .prepare = [&offer](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
           auto prepared = std::make_unique<PreparedServed>(offer, problem);
           if (Status done = prepared->prepare(); !done) return tl::unexpected(done.error());
           return prepared;
         }});
  }
  return offered;
}

}  // namespace attnscope
