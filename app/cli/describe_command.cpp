// SPDX-License-Identifier: GPL-3.0-or-later
//
// describe: a person's own name, tags and note for runs.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

namespace {

struct DescribeCommandArguments {
  std::vector<std::string> runs, tags, untags;
  std::optional<std::string> name, note;
  std::filesystem::path database;
};

std::string changed_tags(const RunInfo& run, const DescribeCommandArguments& arguments) {
  std::vector<std::string> words = tag_words(run.tag);
  for (const std::string& tag : arguments.untags) {
    for (const std::string& word : tag_words(tag)) std::erase(words, word);
  }
  std::string tag = tag_of(words);
  for (const std::string& added : arguments.tags) tag += " " + added;
  return tag_of(tag_words(tag));
}

void describe(Session& session, const DescribeCommandArguments& arguments) {
  const bool tags = !arguments.tags.empty() || !arguments.untags.empty();
  if (!arguments.name && !arguments.note && !tags) {
    return session.fail(exit_wrong_use,
                        "nothing is said of the run; add --name, --tag, --untag or --note");
  }
  if (arguments.name && arguments.runs.size() > 1) {
    return session.fail(exit_wrong_use,
                        "--name is for one run; name several runs one after the other");
  }
  auto store = Store::open(arguments.database, Store::Mode::read_write);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  std::vector<RunInfo> runs;
  for (const std::string& text : arguments.runs) {
    auto run = store->find_run(text);
    if (!run) return session.fail(exit_store_refused, run.error().message);
    runs.push_back(std::move(*run));
  }
  for (const RunInfo& run : runs) {
    RunWords words{.name = arguments.name, .note = arguments.note};
    if (tags) words.tag = changed_tags(run, arguments);
    if (Status done = store->describe_run(run.id, words); !done) {
      return session.fail(exit_store_refused, done.error().message);
    }
  }
}

}  // namespace

void add_describe_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<DescribeCommandArguments>();
  CLI::App* command =
      app.add_subcommand("describe", "Give runs a name, tags and a note of your own");
  command->add_option("runs", arguments->runs, "Numbers, UUIDs, own names or 'last'")
      ->type_name("RUN")
      ->required();
  command->add_option("--name", arguments->name, "Its name; '' for the sweep's again")
      ->type_name("NAME");
  command->add_option("--tag", arguments->tags, "Add a tag (one word); may be repeated")
      ->type_name("TAG")
      ->expected(1)
      ->take_all();
  command->add_option("--untag", arguments->untags, "Take a tag away; may be repeated")
      ->type_name("TAG")
      ->expected(1)
      ->take_all();
  command->add_option("--note", arguments->note, "Its note, in place of the one it had")
      ->type_name("TEXT");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { describe(session, *arguments); });
}

}  // namespace attnscope::cli
