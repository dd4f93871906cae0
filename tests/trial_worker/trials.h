#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the trial worker can run in addition to the real implementations: misbehaviour in the real
// measuring process, and differences of known size. Each imitates a real implementation: it
// supports, predicts and computes what that one does, under another id.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope::trial {

/// Derived classes do something more in a call.
class PreparedImitation : public PreparedAttention {
 public:
  explicit PreparedImitation(std::unique_ptr<PreparedAttention> imitated)
      : imitated_(std::move(imitated)) {}
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return imitated_->workspace_bytes();
  }
  [[nodiscard]] ExecutedWork executed() const override { return imitated_->executed(); }
  [[nodiscard]] std::int64_t allocated_bytes() const override {
    return imitated_->allocated_bytes();
  }
  [[nodiscard]] Status forward(const ForwardCall& call) override {
    return imitated_->forward(call);
  }
  [[nodiscard]] Status backward(const BackwardCall& call) override {
    return imitated_->backward(call);
  }
  [[nodiscard]] bool writes_lse() const override { return imitated_->writes_lse(); }

 private:
  std::unique_ptr<PreparedAttention> imitated_;
};

using Wrap = std::function<std::unique_ptr<PreparedAttention>(
    const Problem&, std::unique_ptr<PreparedAttention> imitated)>;

struct Imitated {
  std::string_view id, imitated, summary;
  Supports only_where = {};  // of what the imitated one supports
  Wrap wrap = {};            // none: nothing is different
};

[[nodiscard]] Implementation imitation(const Imitated& one);

/// segment-twin, windowed-twin, sdpa-twin: the same code under another id, between which no
/// difference may be shown. segment-slowed and segment-twice: segment, with 3% or 100% of each
/// call's own time added.
[[nodiscard]] std::vector<Implementation> twins();

/// trial-...: segment, with one fault each (faults.cpp lists them).
[[nodiscard]] std::vector<Implementation> faulty();

}  // namespace attnscope::trial
