#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The oracle: whether a pair is allowed, read directly from the pattern's table (or its rule for
// blocks or whole items) and never from a plan. Tests compare plans with it pair by pair, and
// reference outputs are computed from it.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {

class Oracle {
 public:
  /// The arguments must outlive the oracle. `window` as in compile_plan; a missing one throws
  /// std::invalid_argument.
  Oracle(const AttentionPattern& pattern, std::optional<Window> window,
         const SequenceLayout& layout);

  /// Whether packed token `query` attends to packed token `key` in `head`. Tokens of different
  /// items never attend to each other; a shared query belongs to all items.
  [[nodiscard]] bool allowed(std::int32_t head, std::int64_t query, std::int64_t key) const;

  struct Place {
    std::int64_t item = -1;  // -1: the shared query
    TokenGroup group = TokenGroup::cls;
    std::int64_t document = -1;  // index of the document within the item; -1 outside documents
    std::int64_t position = 0;   // position within the group's subsequence
  };
  [[nodiscard]] Place place_of(std::int64_t token) const;

  /// Why a pair is allowed or not, as a sentence: "document 17 attends to document 20: window,
  /// |17-20| <= 4".
  [[nodiscard]] std::string explain(std::int64_t query, std::int64_t key,
                                    std::int32_t head = 0) const;

 private:
  enum class BlockVerdict : std::uint8_t;
  /// The block of the token within its item.
  [[nodiscard]] std::int64_t block_of(std::int64_t token, std::int64_t item) const;
  [[nodiscard]] BlockVerdict judge_blocks(std::int32_t head, std::int64_t query,
                                          std::int64_t key) const;
  [[nodiscard]] std::string explain_blocks(std::int32_t head, std::int64_t query,
                                           std::int64_t key) const;
  [[nodiscard]] std::string explain_item(std::int64_t query, std::int64_t key) const;

  const AttentionPattern& pattern_;
  std::optional<Window> window_;
  const SequenceLayout& layout_;
};

}  // namespace attnscope
