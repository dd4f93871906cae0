// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <nlohmann/json.hpp>

#include "engine/pattern/sequence_layout.h"
#include "kernels/base/json.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 2> layout_fields{"shared_query", "items"};
constexpr std::array<std::string_view, 5> item_fields{"cls", "query", "document", "documents",
                                                      "sentences"};

Result<std::int64_t> read_size(const JsonField& object, std::string_view name,
                               std::int64_t otherwise) {
  const auto field = object.member(name);
  if (!field) return otherwise;
  return field->whole_number(0, SequenceLayout::max_tokens);
}

Result<std::vector<std::int64_t>> read_numbers(const JsonField& field) {
  if (Status list = field.list(); !list) return tl::unexpected(list.error());
  std::vector<std::int64_t> numbers;
  for (const JsonField& element : field.elements()) {
    Result<std::int64_t> number = element.whole_number(0, SequenceLayout::max_tokens);
    if (!number) return tl::unexpected(number.error());
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<std::int64_t>> read_documents(const JsonField& item) {
  const auto one = item.member("document");
  const auto several = item.member("documents");
  if (one && several) {
    return several->wrong(
        "stands beside 'document'; give 'document' for one or 'documents' for several");
  }
  if (several) return read_numbers(*several);
  if (!one) return std::vector<std::int64_t>{};
  if (one->value().kind == JsonValue::Kind::list) {
    return one->wrong("is a list; several documents are given as 'documents'");
  }
  Result<std::int64_t> size = read_size(item, "document", 0);
  if (!size) return tl::unexpected(size.error());
  return std::vector{*size};
}

Status check_sentences(const JsonField& field, const LayoutItem& item) {
  std::int64_t tokens = 0;
  for (const std::int64_t size : item.documents) {
    tokens += size;
    if (tokens > SequenceLayout::max_tokens) return {};  // SequenceLayout::make says so
  }
  std::int64_t previous = -1;
  for (const JsonField& element : field.elements()) {
    const std::int64_t start = element.value().integer;
    if (start >= tokens) {
      return element.wrong(fmt::format(
          "is {}, outside the item's {} document tokens; offsets count from 0", start, tokens));
    }
    if (start <= previous) {
      return element.wrong(fmt::format(
          "is {} after {}; give the offsets in ascending order, each once", start, previous));
    }
    previous = start;
  }
  return {};
}

Result<LayoutItem> read_item(const JsonField& field, bool shares_query) {
  if (Status known = field.only(item_fields); !known) return tl::unexpected(known.error());
  LayoutItem item;
  Result<std::int64_t> cls = read_size(field, "cls", 1);
  if (!cls) return tl::unexpected(cls.error());
  Result<std::int64_t> query = read_size(field, "query", 0);
  if (!query) return tl::unexpected(query.error());
  if (shares_query && *query > 0) {
    return field.member("query")->wrong("stands beside 'shared_query'; leave out one of them");
  }
  Result<std::vector<std::int64_t>> documents = read_documents(field);
  if (!documents) return tl::unexpected(documents.error());
  item.cls = *cls;
  item.query = *query;
  item.documents = std::move(*documents);
  if (const auto sentences = field.member("sentences")) {
    Result<std::vector<std::int64_t>> starts = read_numbers(*sentences);
    if (!starts) return tl::unexpected(starts.error());
    if (Status valid = check_sentences(*sentences, item); !valid) {
      return tl::unexpected(valid.error());
    }
    item.sentences = std::move(*starts);
    item.sentences_given = true;
  }
  return item;
}

}  // namespace

Result<SequenceLayout> parse_layout(std::string_view json, std::string_view source) {
  Result<JsonValue> value = parse_json(json, source);
  if (!value) return tl::unexpected(value.error());
  const JsonField root(source, *value);
  if (Status known = root.only(layout_fields); !known) return tl::unexpected(known.error());
  Result<std::int64_t> shared_query = read_size(root, "shared_query", 0);
  if (!shared_query) return tl::unexpected(shared_query.error());
  const auto list = root.member("items");
  if (!list) return root.wrong("has no 'items'; a layout is {\"items\": [{...}, ...]}");
  if (Status is_list = list->list(); !is_list) return tl::unexpected(is_list.error());
  if (list->value().elements.empty()) return list->wrong("is empty; a layout needs an item");
  std::vector<LayoutItem> items;
  for (const JsonField& element : list->elements()) {
    Result<LayoutItem> item = read_item(element, *shared_query > 0);
    if (!item) return tl::unexpected(item.error());
    items.push_back(std::move(*item));
  }
  Result<SequenceLayout> layout = SequenceLayout::make(std::move(items), *shared_query);
  if (!layout) return list->wrong(fmt::format("is too large: {}", layout.error().message));
  return layout;
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
