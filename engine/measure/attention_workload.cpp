// SPDX-License-Identifier: Apache-2.0
//
// Attention calls, forward or forward and backward, on inputs that all contenders share.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "engine/attention/list.h"
#include "engine/measure/heat_tensors.h"
#include "engine/measure/served_watch.h"
#include "engine/measure/workload.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope::measure {
namespace {

// Number of rows checked after every sample. Reading a row costs two cache misses, or a copy of
// about 10 us from a device, compared with samples of a millisecond and more.
constexpr std::size_t watched_on_processor = 16;
constexpr std::size_t watched_on_device = 4;
// Alignment of every workspace, for all devices.
constexpr std::size_t guard_bytes = 512;

/// A workspace with guard regions on both sides. It also records their memory, since memory figures
/// are those of a workspace without guards.
class GuardedWorkspace {
 public:
  /// Empties the cache of `memory`.
  GuardedWorkspace(HeatMemory& memory, std::int64_t bytes) {
    if (bytes == 0) return;
    const std::int64_t plain = reserved_for(memory, bytes);
    extra_requested_ = 2 * static_cast<std::int64_t>(guard_bytes);
    const std::int64_t before = memory.counters().reserved;
    auto block = std::make_shared<Buffer>(memory, bytes + extra_requested_);
    extra_reserved_ = memory.counters().reserved - before - plain;
    const std::span<std::byte> whole = block->bytes();
    room_ = {.block = std::move(block),
             .before = whole.first(guard_bytes),
             .values = whole.subspan(guard_bytes, static_cast<std::size_t>(bytes)),
             .after = whole.last(guard_bytes)};
  }
  [[nodiscard]] const Room& room() const { return room_; }
  [[nodiscard]] std::int64_t extra_requested() const { return extra_requested_; }
  [[nodiscard]] std::int64_t extra_reserved() const { return extra_reserved_; }

 private:
  static std::int64_t reserved_for(HeatMemory& memory, std::int64_t bytes) {
    memory.empty_cache();
    const std::int64_t before = memory.counters().reserved;
    std::int64_t taken = 0;
    {
      const Buffer block(memory, bytes);
      taken = memory.counters().reserved - before;
    }
    memory.empty_cache();
    return taken;
  }

  std::int64_t extra_requested_ = 0, extra_reserved_ = 0;
  Room room_;
};

/// The contenders at one batch size: layout, plans (one for each distinct pattern and window) and
/// the state that each implementation prepared from them. Allocates nothing of the size of the
/// inputs.
class PreparedBatch {
 public:
  struct PlannedPattern {
    AttentionPattern pattern;
    std::optional<Window> window;
    AttentionPlan plan;
  };

  PreparedBatch(const Heat& heat, SequenceLayout layout)
      : heat_(heat), layout_(std::move(layout)), entries_(heat.contenders.size()) {}

  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }

  [[nodiscard]] Result<PreparedAttention*> prepared(std::size_t contender) {
    Entry& entry = entries_[contender];
    if (entry.prepared) return entry.prepared.get();
    const HeatPoint& point = heat_.point;
    if (point.memory_order == MemoryOrder::head_major && !layout_.is_uniform()) {
      return fail(
          "head-major memory needs a separate query in every item; use memory_order token-major "
          "with a shared query");
    }
    const auto planned = plan_for(heat_.contenders[contender]);
    if (!planned) return tl::unexpected(planned.error());
    entry.planned = *planned;
    const auto implementation = implementation_named(heat_.contenders[contender].implementation);
    if (!implementation) return tl::unexpected(implementation.error());
    if (const Status able = (*implementation)->supports(problem(contender)); !able)
      return tl::unexpected(able.error());
    auto made = (*implementation)->prepare(problem(contender));
    if (!made) return tl::unexpected(made.error());
    entry.prepared = std::move(*made);
    entry.is_served = (*implementation)->is_served;
    return entry.prepared.get();
  }

  /// Whether another process computes for one of the prepared contenders.
  [[nodiscard]] bool has_served() const { return std::ranges::any_of(entries_, &Entry::is_served); }
  [[nodiscard]] bool is_served(std::size_t contender) const {
    return entries_[contender].is_served;
  }
  /// The plan of a prepared contender.
  [[nodiscard]] const PlannedPattern& planned(std::size_t contender) const {
    return *entries_[contender].planned;
  }
  [[nodiscard]] Problem problem(std::size_t contender) const {
    const HeatPoint& point = heat_.point;
    return {.pattern = planned(contender).pattern,
            .window = planned(contender).window,
            .layout = layout_,
            .plan = planned(contender).plan,
            .head_dim = point.head_dim,
            .dtype = point.dtype,
            .memory_order = point.memory_order,
            .device = point.device,
            .operation = point.operation,
            .direction = point.direction,
            .scale = scale_of(point.operation, point.head_dim),
            .threads = std::max(point.threads, 1)};
  }

 private:
  struct Entry {
    const PlannedPattern* planned = nullptr;
    std::unique_ptr<PreparedAttention> prepared;
    bool is_served = false;
  };

  Result<const PlannedPattern*> plan_for(const Contender& contender) {
    const std::string key = fmt::format("{}\n{}", contender.window ? contender.window->text() : "",
                                        contender.pattern_json);
    if (const auto known = plans_.find(key); known != plans_.end()) return known->second.get();
    constexpr std::int64_t most_heads = std::numeric_limits<std::int32_t>::max();
    const std::int64_t heads = heat_.point.heads;
    if (heads > most_heads)
      return fail("heads is {}; at most {} can be planned", heads, most_heads);
    auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
    if (!pattern) return tl::unexpected(pattern.error());
    auto plan = compile_plan(*pattern, contender.window, layout_, static_cast<std::int32_t>(heads));
    if (!plan) return tl::unexpected(plan.error());
    auto planned = std::make_unique<const PlannedPattern>(
        PlannedPattern{std::move(*pattern), contender.window, std::move(*plan)});
    return plans_.emplace(key, std::move(planned)).first->second.get();
  }

  const Heat& heat_;
  SequenceLayout layout_;
  std::map<std::string, std::unique_ptr<const PlannedPattern>> plans_;
  std::vector<Entry> entries_;
};

class AttentionWorkload final : public Workload {
 public:
  explicit AttentionWorkload(const HeatSetting& setting)
      : setting_(setting),
        point_(setting.heat.point),
        memory_(setting.device.memory()),
        workspaces_(setting.heat.contenders.size()),
        captured_(setting.heat.contenders.size()),
        watches_(setting.heat.contenders.size()),
        served_(setting.heat.contenders.size()) {}

  [[nodiscard]] std::int64_t item_bytes() const override {
    const GroupSizes& sizes = setting_.sizes;
    const int tensors = point_.direction == Direction::forward ? 4 : 8;
    return tensors * size_of(point_.dtype) * (sizes.cls + sizes.query + sizes.document) *
           point_.heads * point_.head_dim;
  }

  Result<std::int64_t> needed_bytes(std::size_t contender, std::int64_t batch) override {
    const auto prepared = at(batch, contender);
    if (!prepared) return tl::unexpected(prepared.error());
    const auto buffers = buffer_bytes(shape());
    const std::int64_t predicted = (*prepared)->predicted_peak_bytes();
    std::int64_t needed = 0;
    // The output of a served contender's check is kept.
    const std::int64_t kept =
        batch_->is_served(contender) ? shape().tensor_bytes().value_or(0) : std::int64_t{0};
    // A prediction below 0 has overflowed.
    if (!buffers || predicted < 0 || __builtin_add_overflow(*buffers, predicted, &needed) ||
        __builtin_add_overflow(needed, kept, &needed))
      return -1;
    return needed;
  }

  Result<CellWork> set_batch(std::size_t contender, std::int64_t batch) override {
    const auto prepared = at(batch, contender);
    if (!prepared) return tl::unexpected(prepared.error());
    const AttentionPlan& plan = batch_->planned(contender).plan;
    const PlanCounts counts = count(plan);
    const ExecutedWork executed = (*prepared)->executed();
    const bool softmax = point_.operation != Operation::windowed_matmul;
    const Passes passes = passes_of(point_.direction);
    return CellWork{.useful_flop = useful_flop(counts, point_.head_dim, passes),
                    .least_bytes = least_bytes(plan, point_.head_dim, point_.dtype, passes),
                    .exponentials = softmax ? useful_exponentials(counts, passes) : 0.0,
                    .executed_flop = executed.flop,
                    .executed_bytes = executed.bytes};
  }

  void place(int placement) override {
    placement_ = placement;
    if (!tensors_) {
      tensors_.emplace(setting_.device, shape(), point_.seed, batch_->has_served());
      const std::int64_t item_tokens = batch_->layout().tokens() / batch_->layout().item_count();
      rows_ = sample_rows(batch_->layout(), static_cast<std::int32_t>(point_.heads),
                          rows_to_compare(item_tokens), point_.seed);
    }
    place_tensors();
  }

  /// Another process needs one untimed call to map the tensors of a later placement and to prepare
  /// again.
  Status prepare(std::size_t contender) override {
    PreparedAttention& prepared = of(contender);
    if (!watches_[contender] || !prepared.own_peak_bytes()) return {};
    const Buffer workspace(memory_, prepared.workspace_bytes());
    setting_.beacon.calling(static_cast<int>(contender));
    call(prepared, workspace.bytes());
    return {};
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    if (shape().has_gradients() && !grad_o_is_sparse_) {
      tensors_->fill_grad_o(rows_);
      grad_o_is_sparse_ = true;
    }
    PreparedAttention& prepared = of(contender);
    const GuardedWorkspace workspace(memory_, prepared.workspace_bytes());
    const auto wrong = watched_call(tensors_->get(), workspace.room(), Pass::both, [&]() -> Status {
      first.measure([&] { call(prepared, workspace.room().values); });
      return {};
    });
    first.memory.requested_bytes -= workspace.extra_requested();
    first.memory.reserved_bytes -= workspace.extra_reserved();
    first.memory.workspace_bytes = prepared.workspace_bytes();
    if (const auto own = prepared.own_peak_bytes()) {
      first.memory.requested_bytes = first.memory.reserved_bytes = *own;
      first.memory.process_peak_bytes = *own;
    }
    first.blocks.push_back(prepared.workspace_bytes());
    // The inputs are shared, and the reference is computed from them.
    if (!wrong->empty()) place_tensors();
    return {.error = {}, .wrong = *wrong};
  }

  Verdict judge(std::size_t contender) override {
    const Reference& reference = reference_of(contender);
    const bool on_processor = point_.device == DeviceKind::cpu;
    watches_[contender].emplace(point_.device, reference,
                                on_processor ? watched_on_processor : watched_on_device);
    Verdict verdict = attnscope::judge(reference, tensors_->get(), Pass::both);
    if (batch_->is_served(contender) && verdict.wrong.empty())
      served_[contender].emplace(tensors_->get(), *watches_[contender]);
    return verdict;
  }

  void before_rounds() override {
    if (grad_o_is_sparse_) tensors_->fill_grad_o();
    grad_o_is_sparse_ = false;
    for (std::size_t i = 0; i < served_.size(); ++i)
      if (served_[i]) of(i).stop();
  }
  void enter(std::size_t contender) override {
    if (!captured_[contender])
      workspaces_[contender] = Buffer(memory_, of(contender).workspace_bytes());
    if (point_.launch == LaunchMode::graph && !captured_[contender]) capture(contender);
    if (served_[contender]) {
      served_[contender]->enter(of(contender));
    } else {
      watches_[contender]->poison(tensors_->get().on_device());
    }
  }
  std::function<void()> before_call(std::size_t contender) override {
    if (!served_[contender]) return {};
    return [this, contender] {
      setting_.beacon.calling(static_cast<int>(contender));
      served_[contender]->before_call(of(contender));
    };
  }
  void call(std::size_t contender) override {
    if (captured_[contender]) {
      captured_[contender]->replay();
    } else {
      call(of(contender), workspaces_[contender].bytes());
    }
  }
  void leave(std::size_t contender) override {
    // A graph's kernels use the workspace that they were captured with.
    if (!captured_[contender]) workspaces_[contender] = Buffer();
    // The inputs are shared and must be restored.
    if (served_[contender] && !served_[contender]->leave(of(contender))) place_tensors();
  }

  std::string selected(std::size_t contender) override { return of(contender).selected(); }

  Verdict judge_sample(std::size_t contender) override {
    if (served_[contender]) {
      setting_.beacon.calling(static_cast<int>(contender));
      return served_[contender]->judge(of(contender));
    }
    Verdict verdict = watches_[contender]->judge(tensors_->get().on_device());
    if (!verdict.wrong.empty()) {
      verdict.wrong =
          "it was correct when it was checked, but wrong after the timed calls: " + verdict.wrong;
    }
    return verdict;
  }

 private:
  /// Makes the batch the current one.
  Result<PreparedAttention*> at(std::int64_t batch, std::size_t contender) {
    if (!batch_ || batch_->layout().item_count() != batch) {
      const GroupSizes& sizes = setting_.sizes;
      LayoutItem item;
      item.cls = sizes.cls;
      item.query = point_.shared_query ? 0 : sizes.query;
      item.documents = sizes.documents;
      auto layout =
          SequenceLayout::make(std::vector<LayoutItem>(static_cast<std::size_t>(batch), item),
                               point_.shared_query ? sizes.query : 0);
      if (!layout) return tl::unexpected(layout.error());
      batch_.emplace(setting_.heat, std::move(*layout));
    }
    return batch_->prepared(contender);
  }

  [[nodiscard]] CallShape shape() const {
    return {.layout = batch_->layout(),
            .heads = point_.heads,
            .head_dim = point_.head_dim,
            .dtype = point_.dtype,
            .memory_order = point_.memory_order,
            .direction = point_.direction};
  }

  void capture(std::size_t contender) {
    if (batch_->is_served(contender))
      throw NotSupported("another process computes it, whose calls cannot be captured");
    captured_[contender] = setting_.device.capture(
        [this, contender] { call(of(contender), workspaces_[contender].bytes()); });
  }

  void place_tensors() {
    for (auto& captured : captured_) captured.reset();
    tensors_->place(placement_);
    grad_o_is_sparse_ = false;
  }

  PreparedAttention& of(std::size_t contender) { return **batch_->prepared(contender); }

  void call(PreparedAttention& prepared, std::span<std::byte> workspace) const {
    require(attnscope::call(prepared, tensors_->get().on_device(), workspace, Pass::both));
  }

  /// Computed on first use, one for each distinct pattern and window.
  const Reference& reference_of(std::size_t contender) {
    const auto* const planned = &batch_->planned(contender);
    const auto known = references_.find(planned);
    if (known != references_.end()) return known->second;
    return references_
        .emplace(planned,
                 attnscope::reference_of(batch_->problem(contender), rows_, tensors_->get()))
        .first->second;
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  HeatMemory& memory_;
  std::optional<PreparedBatch> batch_;
  std::optional<HeatTensors> tensors_;
  int placement_ = 0;
  std::vector<RowId> rows_;        // compared rows
  bool grad_o_is_sparse_ = false;  // 0 in all other rows
  std::map<const PreparedBatch::PlannedPattern*, Reference> references_;
  std::vector<Buffer> workspaces_;
  /// With launch graph, from the contender's first sample at a placement on.
  std::vector<std::unique_ptr<CapturedCall>> captured_;
  std::vector<std::optional<RowWatch>> watches_;
  std::vector<std::optional<ServedAttentionWatch>>
      served_;  // contenders computed by other processes
};

}  // namespace

std::unique_ptr<Workload> attention_workload(const HeatSetting& setting) {
  return std::make_unique<AttentionWorkload>(setting);
}

}  // namespace attnscope::measure
