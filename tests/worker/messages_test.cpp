// SPDX-License-Identifier: Apache-2.0
//
// Every message of the protocol: it is read as it was written, and docs/protocol.md lists its
// fields.
#include "engine/worker/messages.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

namespace attnscope {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Calls `visit` with a default-constructed message of each type of the tuple.
template <typename Tuple, typename Visit>
void for_each_message(Visit visit) {
  std::apply([&](const auto&... message) { (visit(message), ...); }, Tuple());
}

/// Gives every field a value that is not its default.
struct Fill {
  template <typename T, typename... Limits>
  void operator()(const char* /*key*/, T& value, Limits... /*limits*/) {
    fill(value);
  }
  template <typename T, typename... Limits>
  void or_default(const char* /*key*/, T& value, Limits... /*limits*/) {
    fill(value);
  }
  template <typename T, typename... Limits>
  void if_present(const char* /*key*/, T& value, Limits... /*limits*/) {
    fill(value);
  }

  static void fill(std::string& value) { value = "a \"quoted\"\nline"; }
  static void fill(bool& value) { value = !value; }
  template <std::integral T>
  static void fill(T& value) {
    value = value == 1 ? 0 : 1;
  }
  template <std::floating_point T>
  static void fill(T& value) {
    value = static_cast<T>(1.0 / 3);
  }
  static void fill(json& value) { value = {{"name", "a processor"}, {"cores", 2}}; }
  static void fill(Operation& value) { value = Operation::windowed_matmul; }
  static void fill(Direction& value) { value = Direction::forward_backward; }
  static void fill(DeviceKind& value) { value = DeviceKind::cuda; }
  static void fill(DType& value) { value = DType::bfloat16; }
  static void fill(Products& value) { value = Products::int8; }
  static void fill(AttentionPattern& value) { value = find_pattern("sparse").value(); }
  static void fill(protocol::WindowOrEmpty& value) { value = {Window::of(4)}; }
  static void fill(LayerAttention& value) {
    value = {find_pattern("longformer").value(), Window::infinite()};
  }
  static void fill(Measurement& value) {
    value = {.what = "run 'a'", .process = 7, .host = "box", .user = "ann", .since_unix_s = 8};
  }
  static void fill(Heat& value) { value.point.sequence_tokens = 64; }
  static void fill(HeatResult& value) {
    value.point.sequence_tokens = 64;
    value.cells.emplace_back();
  }
  static void fill(Ceilings& value) {
    value.threads = 2;
    value.copy = {{.working_set_bytes = 8, .bytes_per_second = 1e9 / 3}};
  }
  static void fill(std::optional<Window>& value) { value = Window::of(4); }
  static void fill(std::vector<Window>& value) { value = {Window::of(4), Window::infinite()}; }
  static void fill(std::map<std::string, std::string>& value) { value = {{"key", "text"}}; }
  template <typename T>
  static void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <typename T>
  static void fill(std::vector<T>& value) {
    fill(value.emplace_back());
    fill(value.emplace_back());
  }
  template <typename T, typename Less>
  static void fill(std::set<T, Less>& value) {
    T element{};
    fill(element);
    value.insert(element);
  }
  template <typename A, typename B>
  static void fill(std::pair<A, B>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <HasFields T>
  static void fill(T& value) {
    Fill all;
    T::list_fields(value, all);
  }
};

template <typename Message>
Message filled() {
  Message message;
  Fill::fill(message);
  return message;
}

/// Through the text of a line, as between two processes.
json through_a_line(const json& message) {
  const std::string line = protocol::write_line(message);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  return *protocol::parse_line(std::string_view(line).substr(0, line.size() - 1));
}

using Requests =
    decltype(std::tuple_cat(protocol::AnsweredRequests(), protocol::OvertakingRequests()));
using AllMessages = decltype(std::tuple_cat(Requests(), protocol::Events()));

TEST(Messages, AreReadAsTheyWereWritten) {
  for_each_message<AllMessages>([]<typename Message>(const Message& unset) {
    const Message all = filled<Message>();
    for (const Message* sent : {&unset, &all}) {
      const json written = through_a_line(protocol::as_event(*sent));
      EXPECT_EQ(written.at("event"), Message::name);
      const auto received = protocol::read_message<Message>(written);
      // Defaults such as a heat without tokens are outside their limits.
      if (!received && sent == &unset) continue;
      ASSERT_TRUE(received) << Message::name << ": " << received.error().message;
      EXPECT_EQ(as_json(*received), as_json(*sent)) << Message::name;
    }
  });
}

TEST(Messages, AMissingFieldIsNamedAndAnUnknownOneIsIgnored) {
  for_each_message<AllMessages>([]<typename Message>(const Message&) {
    json whole = as_json(filled<Message>());
    whole["of_a_later_version"] = {1, 2};
    const auto known = protocol::read_message<Message>(whole);
    ASSERT_TRUE(known) << Message::name << ": " << known.error().message;
    for (const FieldNames::Name& field : listed_fields<Message>()) {
      json without = whole;
      ASSERT_EQ(without.erase(field.key), 1U) << Message::name << ": " << field.key;
      const auto read = protocol::read_message<Message>(without);
      EXPECT_EQ(read.has_value(), field.may_be_missing) << Message::name << ": " << field.key;
      if (!read) {
        EXPECT_EQ(read.error().message,
                  fmt::format("the protocol message needs the field '{}'", field.key));
      }
    }
  });
}

TEST(Messages, NumbersOutsideTheirLimitsAreErrors) {
  json message = as_json(filled<protocol::ScoreRequest>());
  message["items"][1]["query"][0] = -1;
  const auto negative = protocol::read_message<protocol::ScoreRequest>(message);
  ASSERT_FALSE(negative);
  EXPECT_THAT(negative.error().message,
              HasSubstr("'items[1].query[0]' in the protocol message must be a whole number"));
  json check = as_json(filled<protocol::CheckRequest>());
  check["threads"] = 5000;
  EXPECT_FALSE(protocol::read_message<protocol::CheckRequest>(check));
}

using Rows = std::map<std::string, std::vector<std::string>>;

// The page --------------------------------------------------------------------------------------

/// The fields in a column of the page's tables, by the name in the first column; a field that may
/// be missing ends with '?'.
Rows rows_of_table(const std::string& header) {
  std::ifstream page(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "docs/protocol.md");
  const auto quoted = [](const std::string& cell) {
    std::vector<std::string> words;
    for (std::size_t begin = cell.find('`'); begin != std::string::npos;) {
      const std::size_t end = cell.find('`', begin + 1);
      words.push_back(cell.substr(begin + 1, end - begin - 1));
      begin = cell.find('`', end + 1);
    }
    return words;
  };
  Rows rows;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(header)) {
      inside = true;
      continue;
    }
    if (!line.starts_with("| ")) inside = false;
    if (!inside || line.starts_with("| ---")) continue;
    std::istringstream cells(line);
    std::string empty, name, fields;
    std::getline(cells, empty, '|');
    std::getline(cells, name, '|');
    std::getline(cells, fields, '|');
    rows[quoted(name).at(0)] = quoted(fields);
  }
  return rows;
}

template <typename Message>
std::vector<std::string> documented_fields() {
  std::vector<std::string> names;
  for (const FieldNames::Name& field : listed_fields<Message>())
    names.push_back(field.key + (field.may_be_missing ? "?" : ""));
  return names;
}

template <typename T>
void expect_row(Rows& rows, const std::string& name) {
  const auto row = rows.find(name);
  ASSERT_NE(row, rows.end()) << "docs/protocol.md has no row '" << name << "'";
  EXPECT_EQ(row->second, documented_fields<T>()) << name;
  rows.erase(row);
}

template <typename Messages>
void expect_rows(const std::string& header) {
  Rows rows = rows_of_table(header);
  for_each_message<Messages>(
      [&]<typename Message>(const Message&) { expect_row<Message>(rows, Message::name); });
  for (const auto& [name, fields] : rows)
    ADD_FAILURE() << "docs/protocol.md has '" << name << "', which is no message";
}

TEST(Messages, ThePageListsEveryRequest) {
  expect_rows<Requests>("| request | fields |");
}

TEST(Messages, ThePageListsEveryEvent) {
  expect_rows<protocol::Events>("| event | fields |");
}

TEST(Messages, ThePageListsEveryObjectWithinMessages) {
  Rows rows = rows_of_table("| object | fields |");
  expect_row<protocol::ListedImplementation>(rows, "implementation");
  expect_row<protocol::ImplementationCosts>(rows, "implementation costs");
  expect_row<protocol::MaxSimIds>(rows, "max_sim");
  expect_row<protocol::ScoreItem>(rows, "item");
  expect_row<protocol::ScoredPart>(rows, "part");
  expect_row<protocol::TrainGroup>(rows, "group");
  EXPECT_TRUE(rows.empty());
}

TEST(Messages, ThePageStatesTheVersion) {
  std::ifstream file(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "docs/protocol.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr(fmt::format("**Protocol version {}.**", protocol::version)));
}

}  // namespace
}  // namespace attnscope
