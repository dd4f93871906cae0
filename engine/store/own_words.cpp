// SPDX-License-Identifier: Apache-2.0
//
// The user's texts for runs, and the trash.

#include <algorithm>

#include "engine/store/fields.h"
#include "engine/store/implementation.h"

namespace attnscope {
namespace {

using store::Statement;
using store::Writer;

void set_trashed(store::Database& database, const RunInfo& run, std::int64_t since_unix_ms) {
  store::change_state(database, run.number, [&] {
    Statement update(database, "UPDATE runs SET trashed_unix_ms = ? WHERE number = ?");
    store::execute(update, since_unix_ms, run.number);
  });
}

}  // namespace

std::vector<std::string> tag_words(std::string_view tag) {
  constexpr std::string_view between = " ,\t\n\r";
  std::vector<std::string> words;
  while (!tag.empty()) {
    const auto end = std::min(tag.find_first_of(between), tag.size());
    std::string word(tag.substr(0, end));
    tag.remove_prefix(std::min(end + 1, tag.size()));
    if (!word.empty() && std::ranges::find(words, word) == words.end())
      words.push_back(std::move(word));
  }
  return words;
}

std::string tag_of(const std::vector<std::string>& words) {
  std::string tag;
  for (const std::string& word : words) tag += tag.empty() ? word : " " + word;
  return tag;
}

Status Store::describe_run(const RunId& run, const RunWords& words) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    const Result<std::int64_t> number = store::number_of(own.database, run);
    if (!number) return tl::unexpected(number.error());
    Statement update(
        own.database,
        "UPDATE runs SET name = coalesce(?, name), tag = coalesce(?, tag), note = coalesce(?, "
        "note) WHERE number = ?");
    store::change_state(own.database, *number, [&] {
      Writer write(update);
      write(words.name);
      write(words.tag);
      write(words.note);
      write(*number);
      store::execute(update);
    });
    return {};
  });
}

Status Store::put_in_trash(const std::vector<RunId>& runs) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    const std::int64_t now = store::now_unix_ms();
    for (const RunId& run : runs) {
      const Result<RunInfo> info = find_run(run.uuid);
      if (!info) return tl::unexpected(info.error());
      if (Status free = store::not_being_measured(*info, "put in the trash"); !free) return free;
      if (is_in_trash(*info)) continue;
      set_trashed(own.database, *info, now);
    }
    return {};
  });
}

Status Store::take_from_trash(const std::vector<RunId>& runs) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    for (const RunId& run : runs) {
      const Result<RunInfo> info = find_run(run.uuid);
      if (!info) return tl::unexpected(info.error());
      set_trashed(own.database, *info, 0);
    }
    return {};
  });
}

Result<int> Store::empty_trash() {
  Implementation& own = *implementation_;
  int removed = 0;
  const Status done = own.change([&]() -> Status {
    removed =
        static_cast<int>(store::first_integer(own.database,
                                              "SELECT count(*) FROM runs WHERE trashed_unix_ms <> "
                                              "0"));
    own.database.exec("DELETE FROM runs WHERE trashed_unix_ms <> 0");
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return removed;
}

}  // namespace attnscope
