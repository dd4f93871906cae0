#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SequenceLayout: the token groups of every item of a batch, packed without padding. An item is
// [CLS], the query with its [SEP], and one or more documents with their [SEP] (several documents
// make a list-wise item). A shared query's tokens appear once, before all items.
//
//   LayoutItem item{.cls = 1, .query = 11, .documents = {500}};
//   SequenceLayout layout = SequenceLayout::uniform(/*count=*/2, item);
//   layout.document(1, 0);   // TokenRange{524, 1024}

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Sizes of one item's token groups; every size may be 0.
struct LayoutItem {
  std::int64_t cls = 1;
  std::int64_t query = 0;  // 0 when the layout shares its query
  std::vector<std::int64_t> documents{};
  /// Global sentence starts as ascending offsets into the item's documents, counted over all of
  /// them; only patterns with a `sentence` group read them. `sentences_given` distinguishes a given
  /// list (possibly empty) from one that the pattern may fill in with its own stride.
  std::vector<std::int64_t> sentences{};
  bool sentences_given = false;
  friend bool operator==(const LayoutItem&, const LayoutItem&) = default;
};

class SequenceLayout {
 public:
  /// The most tokens a batch may hold: with it, pair counts of up to 512 heads fit 64 bits.
  static constexpr std::int64_t max_tokens = 100'000'000;

  SequenceLayout() = default;
  /// Checks sizes and offsets (>= 0, ascending, inside the documents, no overflow).
  [[nodiscard]] static Result<SequenceLayout> make(std::vector<LayoutItem> items,
                                                   std::int64_t shared_query = 0);
  /// The same item `count` times. Precondition: sizes are valid.
  [[nodiscard]] static SequenceLayout uniform(std::int64_t count, const LayoutItem& item,
                                              std::int64_t shared_query = 0);

  [[nodiscard]] std::int64_t item_count() const { return static_cast<std::int64_t>(items_.size()); }
  [[nodiscard]] const LayoutItem& item(std::int64_t i) const;
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] bool shares_query() const { return shared_query_ > 0; }
  [[nodiscard]] std::int64_t shared_query() const { return shared_query_; }

  // Ranges in packed token numbers. query(i) is the shared query's range when there is one.
  [[nodiscard]] TokenRange item_tokens(std::int64_t i) const;  // the item's own tokens
  [[nodiscard]] TokenRange cls(std::int64_t i) const;
  [[nodiscard]] TokenRange query(std::int64_t i) const;
  [[nodiscard]] TokenRange documents(std::int64_t i) const;  // all documents of the item
  [[nodiscard]] std::int64_t document_count(std::int64_t i) const;
  [[nodiscard]] TokenRange document(std::int64_t i, std::int64_t d) const;

  /// Whether all items have the same sizes and nothing is shared: then [batch, heads, tokens, dim]
  /// exists.
  [[nodiscard]] bool is_uniform() const;

 private:
  /// Assigns numbers to the item's tokens; returns false beyond max_tokens.
  bool place(const LayoutItem& item);

  std::vector<LayoutItem> items_;
  std::vector<std::int64_t> first_token_;     // per item
  std::vector<std::size_t> first_document_;   // per item, index into document_begin_
  std::vector<std::int64_t> document_begin_;  // first token of every document of the batch
  std::int64_t shared_query_ = 0;
  std::int64_t tokens_ = 0;
};

/// Layout JSON: {"items":[{"cls":1,"query":11,"document":500,"sentences":[0,30]}]}; a list-wise
/// item has "documents":[300,200] instead of "document"; with "shared_query":11 next to "items" no
/// item has its own query. `source` names the file in messages. Defaults: "cls" 1, "query" 0, and
/// no document. Errors name the line, the item, the field and the correction.
[[nodiscard]] Result<SequenceLayout> parse_layout(std::string_view json, std::string_view source);
[[nodiscard]] std::string layout_json(const SequenceLayout& layout);

}  // namespace attnscope
