// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/packed_batch.h"

#include <algorithm>

namespace attnscope {
namespace {

class Packer {
 public:
  Packer(const ModelShape& shape, PackedBatch& packed) : shape_(shape), packed_(packed) {
    const auto tokens = static_cast<std::size_t>(packed.layout.tokens());
    packed.ids.reserve(tokens);
    packed.positions.reserve(tokens);
    packed.types.reserve(tokens);
  }

  /// Assigns positions to tokens from `position` on. If padding has a row of the table (RoBERTa and
  /// derived models), a padding token in a text has that position and does not advance `position`.
  Status add(std::span<const std::int32_t> ids, std::int64_t& position, std::int64_t type) {
    const auto outside = std::ranges::find_if(
        ids, [&](std::int32_t id) { return id < 0 || id >= shape_.vocabulary; });
    if (outside != ids.end()) {
      return fail("a token id is {}, and the model's vocabulary ends at {}", *outside,
                  shape_.vocabulary - 1);
    }
    for (const std::int32_t id : ids) {
      const bool is_padding = shape_.first_position > 0 && id == shape_.first_position - 1;
      place(id, is_padding ? -1 : position++, type);
    }
    return {};
  }
  /// Adds learned vectors, which are not in the vocabulary.
  void add_learned(std::int64_t count, std::int64_t type) {
    for (std::int64_t i = 0; i < count; ++i) place(shape_.vocabulary + i, i, type);
  }

 private:
  void place(std::int64_t id, std::int64_t position, std::int64_t type) {
    packed_.ids.push_back(id);
    packed_.positions.push_back(shape_.first_position + position);
    packed_.types.push_back(std::max<std::int64_t>(std::min(type, shape_.types - 1), 0));
  }

  const ModelShape& shape_;
  PackedBatch& packed_;
};

Status fits_positions(const PairBatch& batch, const ModelShape& shape) {
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const std::int64_t tokens =
        1 + count_of(batch.items[i].query) + count_of(batch.items[i].document);
    if (tokens <= shape.positions) continue;
    return fail(
        "pair {} has {} tokens, and the model has {} positions; truncate the document, or extend "
        "the positions",
        i + 1, tokens, shape.positions);
  }
  return {};
}

}  // namespace

Result<SequenceLayout> layout_of(const PairBatch& batch, bool shares_query) {
  if (batch.items.empty()) return fail("a batch without pairs has nothing to score");
  std::vector<LayoutItem> items;
  items.reserve(batch.items.size());
  for (const PairBatch::Item& item : batch.items) {
    const std::int64_t query = shares_query ? 0 : count_of(item.query);
    if (batch.is_one_text) {
      items.push_back({.cls = 1, .query = 0, .documents = {query + count_of(item.document)}});
    } else {
      items.push_back({.cls = 1, .query = query, .documents = {count_of(item.document)}});
    }
  }
  return SequenceLayout::make(std::move(items),
                              shares_query ? count_of(batch.items.front().query) : 0);
}

Result<PackedBatch> pack_batch(const PairBatch& batch, bool shares_query, const ModelShape& shape) {
  auto layout = layout_of(batch, shares_query);
  if (!layout) return tl::unexpected(layout.error());
  if (const Status fits = fits_positions(batch, shape); !fits) return tl::unexpected(fits.error());
  PackedBatch packed{.layout = std::move(*layout), .ids = {}, .positions = {}, .types = {}};
  Packer packer(shape, packed);
  Status added;
  std::int64_t shared_end = 1;  // position after the shared query
  if (shares_query) added = packer.add(batch.items.front().query, shared_end, 0);
  for (const PairBatch::Item& item : batch.items) {
    std::int64_t position = 0;
    if (added) added = packer.add({&batch.cls, 1}, position, 0);
    if (shares_query) {
      position = shared_end;
    } else if (added) {
      added = packer.add(item.query, position, 0);
    }
    if (added) added = packer.add(item.document, position, batch.document_type);
    if (!added) return tl::unexpected(added.error());
  }
  return packed;
}

Result<SequenceLayout> layout_of_texts(std::span<const TokenIds> texts, const TextForm& form) {
  std::vector<LayoutItem> items;
  items.reserve(texts.size());
  for (const TokenIds text : texts) {
    LayoutItem& item = items.emplace_back(LayoutItem{.cls = form.first_tokens()});
    if (form.group == TokenGroup::query) {
      item.query = count_of(text);
    } else {
      item.documents = {count_of(text)};
    }
  }
  return SequenceLayout::make(std::move(items));
}

Result<PackedBatch> pack_texts(std::span<const TokenIds> texts, const TextForm& form,
                               std::int32_t cls, const ModelShape& shape) {
  auto layout = layout_of_texts(texts, form);
  if (!layout) return tl::unexpected(layout.error());
  PackedBatch packed{.layout = std::move(*layout), .ids = {}, .positions = {}, .types = {}};
  Packer packer(shape, packed);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t tokens = form.first_tokens() + count_of(texts[i]);
    if (tokens > shape.positions) {
      return fail(
          "{} {} has {} tokens, and the model has {} positions; truncate it, or extend the "
          "positions",
          name_of(form.group), i + 1, tokens, shape.positions);
    }
    Status added;
    std::int64_t position = form.learned;
    if (form.learned > 0) {
      packer.add_learned(form.learned, form.type);
    } else {
      added = packer.add({&cls, 1}, position, form.type);
    }
    if (added) added = packer.add(texts[i], position, form.type);
    if (!added) return tl::unexpected(added.error());
  }
  return packed;
}

bool has_independent_query(const AttentionPattern& pattern) {
  if (pattern.knows_no_groups()) return false;
  return std::ranges::all_of(token_groups, [&](TokenGroup group) {
    return group == TokenGroup::query ||
           pattern.rule(TokenGroup::query, group).kind == GroupRule::Kind::none;
  });
}

}  // namespace attnscope
