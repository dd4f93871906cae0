// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/sequence_layout.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/json.h"

namespace attnscope {
namespace {

Status check_size(std::int64_t size, std::int64_t item, std::string_view field) {
  if (size >= 0 && size <= SequenceLayout::max_tokens) return {};
  return fail("item {}: {} must be from 0 to {} tokens, not {}", item, field,
              SequenceLayout::max_tokens, size);
}

Status check_sentences(const LayoutItem& item, std::int64_t index) {
  const std::int64_t tokens =
      std::accumulate(item.documents.begin(), item.documents.end(), std::int64_t{0});
  std::int64_t previous = -1;
  for (const std::int64_t start : item.sentences) {
    if (start < 0 || start >= tokens) {
      return fail(
          "item {}: sentence start {} is outside its {} document tokens; offsets count "
          "from 0",
          index, start, tokens);
    }
    if (start <= previous) {
      return fail(
          "item {}: sentence start {} follows {}; give the offsets in ascending order, each "
          "once",
          index, start, previous);
    }
    previous = start;
  }
  return {};
}

Status check_sizes(const LayoutItem& item, std::int64_t index, bool shares_query) {
  if (Status cls = check_size(item.cls, index, "cls"); !cls) return cls;
  if (Status query = check_size(item.query, index, "query"); !query) return query;
  if (shares_query && item.query > 0) {
    return fail(
        "item {}: has a query of {} tokens in addition to the shared query; leave out one of them",
        index, item.query);
  }
  for (const std::int64_t document : item.documents) {
    if (Status size = check_size(document, index, "document"); !size) return size;
  }
  return {};
}

std::int64_t read_size(const JsonField& object, std::string_view name, std::int64_t otherwise) {
  const auto field = object.member(name);
  return field ? field->whole(0, SequenceLayout::max_tokens) : otherwise;
}

std::vector<std::int64_t> read_numbers(const JsonField& field) {
  std::vector<std::int64_t> numbers;
  for (const JsonField& element : field.elements()) {
    numbers.push_back(element.whole(0, SequenceLayout::max_tokens));
  }
  return numbers;
}

std::vector<std::int64_t> read_documents(const JsonField& item) {
  const auto one = item.member("document");
  const auto several = item.member("documents");
  if (one && several) {
    several->wrong(
        "cannot be combined with 'document'; give 'document' for one or 'documents' for several");
  }
  if (several) return read_numbers(*several);
  if (!one) return {};
  if (one->is_list()) one->wrong("is a list; several documents are given as 'documents'");
  return {read_size(item, "document", 0)};
}

void check_sentence_starts(const JsonField& field, const LayoutItem& item) {
  std::int64_t tokens = 0;
  for (const std::int64_t size : item.documents) {
    tokens += size;
    if (tokens > SequenceLayout::max_tokens) return;  // SequenceLayout::make reports it
  }
  std::int64_t previous = -1;
  for (const JsonField& element : field.elements()) {
    const std::int64_t start = element.whole();
    if (start >= tokens) {
      element.wrong(fmt::format(
          "is {}, outside the item's {} document tokens; offsets count from 0", start, tokens));
    }
    if (start <= previous) {
      element.wrong(fmt::format("is {} after {}; give the offsets in ascending order, each once",
                                start, previous));
    }
    previous = start;
  }
}

LayoutItem read_item(const JsonField& field, bool shares_query) {
  field.only({"cls", "query", "document", "documents", "sentences"});
  LayoutItem item;
  item.cls = read_size(field, "cls", 1);
  item.query = read_size(field, "query", 0);
  if (shares_query && item.query > 0) {
    field["query"].wrong("cannot be combined with 'shared_query'; leave out one of them");
  }
  item.documents = read_documents(field);
  if (const auto sentences = field.member("sentences")) {
    item.sentences = read_numbers(*sentences);
    item.sentences_given = true;
    check_sentence_starts(*sentences, item);
  }
  return item;
}

SequenceLayout read_layout(const JsonField& root) {
  root.only({"shared_query", "items"});
  const std::int64_t shared_query = read_size(root, "shared_query", 0);
  const auto list = root.member("items");
  if (!list) root.wrong("has no 'items'; a layout is {\"items\": [{...}, ...]}");
  std::vector<LayoutItem> items;
  for (const JsonField& element : list->elements()) {
    items.push_back(read_item(element, shared_query > 0));
  }
  if (items.empty()) list->wrong("is empty; a layout needs an item");
  Result<SequenceLayout> layout = SequenceLayout::make(std::move(items), shared_query);
  if (!layout) list->wrong(fmt::format("is too large: {}", layout.error().message));
  return std::move(*layout);
}

}  // namespace

Result<SequenceLayout> SequenceLayout::make(std::vector<LayoutItem> items,
                                            std::int64_t shared_query) {
  if (items.empty()) return fail("a layout needs at least one item");
  if (shared_query < 0 || shared_query > max_tokens) {
    return fail("shared_query must be from 0 to {} tokens, not {}", max_tokens, shared_query);
  }
  SequenceLayout layout;
  layout.shared_query_ = shared_query;
  layout.tokens_ = shared_query;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (Status sizes = check_sizes(items[i], index, shared_query > 0); !sizes) {
      return tl::unexpected(sizes.error());
    }
    if (!layout.place(items[i])) {
      return fail("item {}: makes the batch larger than {} tokens; split it into several layouts",
                  index, max_tokens);
    }
    if (Status sentences = check_sentences(items[i], index); !sentences) {
      return tl::unexpected(sentences.error());
    }
    items[i].sentences_given = items[i].sentences_given || !items[i].sentences.empty();
  }
  layout.first_token_.push_back(layout.tokens_);
  layout.items_ = std::move(items);
  return layout;
}

bool SequenceLayout::place(const LayoutItem& item) {
  first_token_.push_back(tokens_);
  first_document_.push_back(document_begin_.size());
  // No size is above max_tokens, so overflowing the sum takes more sizes than fit in memory.
  tokens_ += item.cls + item.query;
  for (const std::int64_t document : item.documents) {
    document_begin_.push_back(tokens_);
    tokens_ += document;
  }
  return tokens_ <= max_tokens;
}

SequenceLayout SequenceLayout::uniform(std::int64_t count, const LayoutItem& item,
                                       std::int64_t shared_query) {
  assert(count > 0);
  Result<SequenceLayout> layout =
      make(std::vector<LayoutItem>(static_cast<std::size_t>(count), item), shared_query);
  assert(layout);
  return std::move(layout).value();
}

const LayoutItem& SequenceLayout::item(std::int64_t i) const {
  return items_[static_cast<std::size_t>(i)];
}

TokenRange SequenceLayout::item_tokens(std::int64_t i) const {
  const auto index = static_cast<std::size_t>(i);
  return {first_token_[index], first_token_[index + 1]};
}

TokenRange SequenceLayout::cls(std::int64_t i) const {
  const std::int64_t begin = first_token_[static_cast<std::size_t>(i)];
  return {begin, begin + item(i).cls};
}

TokenRange SequenceLayout::query(std::int64_t i) const {
  if (shares_query()) return {0, shared_query_};
  const std::int64_t begin = cls(i).end;
  return {begin, begin + item(i).query};
}

TokenRange SequenceLayout::documents(std::int64_t i) const {
  return {cls(i).end + item(i).query, item_tokens(i).end};
}

std::int64_t SequenceLayout::document_count(std::int64_t i) const {
  return static_cast<std::int64_t>(item(i).documents.size());
}

TokenRange SequenceLayout::document(std::int64_t i, std::int64_t d) const {
  const std::size_t index =
      first_document_[static_cast<std::size_t>(i)] + static_cast<std::size_t>(d);
  const std::int64_t begin = document_begin_[index];
  return {begin, begin + item(i).documents[static_cast<std::size_t>(d)]};
}

bool SequenceLayout::is_uniform() const {
  if (shares_query()) return false;
  return std::all_of(items_.begin(), items_.end(), [&](const LayoutItem& item) {
    const LayoutItem& first = items_.front();
    return item.cls == first.cls && item.query == first.query && item.documents == first.documents;
  });
}

Result<SequenceLayout> parse_layout(std::string_view json, std::string_view source) {
  return read_json(json, source, read_layout);
}

std::string layout_json(const SequenceLayout& layout) {
  nlohmann::ordered_json root;
  if (layout.shares_query()) root["shared_query"] = layout.shared_query();
  root["items"] = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const LayoutItem& item = layout.item(i);
    nlohmann::ordered_json entry;
    entry["cls"] = item.cls;
    if (!layout.shares_query()) entry["query"] = item.query;
    if (item.documents.size() == 1) {
      entry["document"] = item.documents.front();
    } else {
      entry["documents"] = item.documents;
    }
    if (item.sentences_given) entry["sentences"] = item.sentences;
    root["items"].push_back(std::move(entry));
  }
  return root.dump();
}

}  // namespace attnscope
