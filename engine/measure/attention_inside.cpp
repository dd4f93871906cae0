// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/attention_inside.h"

#include <stdexcept>

namespace attnscope::measure {
namespace {

Heat of_attention(Heat heat) {
  heat.point.operation = Operation::attention;
  heat.point.batch_max = 1;
  return heat;
}

}  // namespace

AttentionInside::AttentionInside(HeatRecord& record, const GroupSizes& sizes)
    : record_(record), heat_(of_attention(record.heat())) {
  std::vector<std::optional<Trouble>> troubles = record.troubles();
  lineup_ = choose_lineup(heat_, sizes, record.memory(), troubles);
  if (!lineup_) return;
  tensors_.emplace(record.device(), lineup_->shape(), heat_.point.seed);
  tensors_->place(0);
  references_.emplace(*lineup_, heat_.point.seed);
}

std::optional<Verdict> AttentionInside::check(std::size_t contender) {
  PreparedAttention* const prepared = lineup_ ? lineup_->prepared(contender) : nullptr;
  if (prepared == nullptr) return std::nullopt;
  tensors_->poison_outputs();
  const Buffer workspace(record_.memory(), prepared->workspace_bytes());
  const PlacedTensors& placed = tensors_->on_device();
  record_.beacon().calling(static_cast<int>(contender));
  const Status done = prepared->forward({.q = placed.q(),
                                         .k = placed.k(),
                                         .v = placed.v(),
                                         .o = placed.o(),
                                         .lse = placed.lse(),
                                         .workspace = workspace.bytes()});
  if (!done) throw std::runtime_error(done.error().message);
  tensors_->fetch_outputs();
  record_.beacon().idle();
  Verdict verdict = judge(references_->of(contender, tensors_->on_host()), tensors_->on_host());
  if (verdict.trouble) verdict.trouble->reason = "its attention alone: " + verdict.trouble->reason;
  return verdict;
}

}  // namespace attnscope::measure
