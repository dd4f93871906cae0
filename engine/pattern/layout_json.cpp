// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {
namespace {

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
    several->wrong("stands beside 'document'; give 'document' for one or 'documents' for several");
  }
  if (several) return read_numbers(*several);
  if (!one) return {};
  if (one->is_list()) one->wrong("is a list; several documents are given as 'documents'");
  return {read_size(item, "document", 0)};
}

void check_sentences(const JsonField& field, const LayoutItem& item) {
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
    field["query"].wrong("stands beside 'shared_query'; leave out one of them");
  }
  item.documents = read_documents(field);
  if (const auto sentences = field.member("sentences")) {
    item.sentences = read_numbers(*sentences);
    item.sentences_given = true;
    check_sentences(*sentences, item);
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
