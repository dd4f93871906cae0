#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A real implementation under another id: it supports, predicts and computes what that one does.
// Who derives from both classes adds what is different.

#include <memory>
#include <string_view>

#include "engine/attention/implementation.h"

namespace attnscope::trial {

class PreparedImitation : public PreparedAttention {
 public:
  explicit PreparedImitation(std::unique_ptr<PreparedAttention> imitated)
      : imitated_(std::move(imitated)) {}
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return imitated_->workspace_bytes();
  }
  [[nodiscard]] ExecutedWork executed() const override { return imitated_->executed(); }
  [[nodiscard]] std::int64_t predicted_peak_bytes() const override {
    return imitated_->predicted_peak_bytes();
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

class Imitation : public Implementation {
 public:
  Imitation(std::string_view id, std::string_view imitated, std::string_view summary)
      : id_(id), imitated_(imitated), summary_(summary) {}
  [[nodiscard]] std::string_view id() const final { return id_; }
  [[nodiscard]] std::string_view summary() const final { return summary_; }
  [[nodiscard]] Status supports(const Problem& problem) const override;
  [[nodiscard]] Result<std::unique_ptr<PreparedAttention>> prepare(
      const Problem& problem) const final;

 protected:
  [[nodiscard]] virtual std::unique_ptr<PreparedAttention> wrap(
      const Problem& problem, std::unique_ptr<PreparedAttention> imitated) const;

 private:
  [[nodiscard]] const Implementation& imitated() const;
  std::string_view id_, imitated_, summary_;
};

}  // namespace attnscope::trial
