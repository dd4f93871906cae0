// SPDX-License-Identifier: GPL-3.0-or-later
//
// Output about commands and options, generated from the definitions that parse them: grouped help
// with an example for each command, shell completion, man pages; and former names of options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "app/cli/command_line.h"
#include "attnscope/build_info.h"
#include "base/sentences.h"
#include "base/written_file.h"

namespace attnscope::cli {
namespace {

constexpr std::string_view group_compare = "Compare attention",
                           group_rank = "Score, rank and evaluate",
                           group_train = "Train and inspect", group_stored = "Stored runs",
                           group_program = "Patterns and the program";

struct Topic {
  std::string_view command, group, example;
};
constexpr std::array topics{
    Topic{"run", group_compare, "attnscope run quick"},
    Topic{"estimate", group_compare, "attnscope estimate mine.json"},
    Topic{"pause", group_compare, "attnscope pause last"},
    Topic{"continue", group_compare, "attnscope continue last"},
    Topic{"answer", group_compare, "attnscope answer last --baseline full/sdpa"},
    Topic{"table", group_compare, "attnscope table last --baseline full/sdpa --format latex"},
    Topic{"plot", group_compare, "attnscope plot last --y time,memory -o figure.pdf"},
    Topic{"compare", group_compare, "attnscope compare 1 2"},
    Topic{"report", group_compare, "attnscope report last -o report.html"},
    Topic{"score", group_rank,
          "attnscope score --checkpoint cross-encoder/ms-marco-MiniLM-L6-v2 --pairs pairs.tsv"},
    Topic{"rerank", group_rank,
          "attnscope rerank --checkpoint DIR --run bm25.trec --queries queries.tsv "
          "--documents collection.tsv -o out.trec"},
    Topic{"encode", group_rank,
          "attnscope encode --checkpoint colbert-ir/colbertv2.0 --documents collection.tsv "
          "-o collection.cache"},
    Topic{"evaluate", group_rank,
          "attnscope evaluate --qrels qrels.txt full.trec sparse.trec --baseline full.trec"},
    Topic{"latency", group_rank,
          "attnscope latency --checkpoint DIR --pairs top1000.tsv --within 200"},
    Topic{"profile", group_rank, "attnscope profile --checkpoint DIR --pairs top1000.tsv"},
    Topic{"lengths", group_rank, "attnscope lengths --checkpoint DIR --pairs top1000.tsv"},
    Topic{"train", group_train,
          "attnscope train --checkpoint DIR --triples triples.tsv --margin-mse --pattern sparse "
          "--window 4 --steps 20000 -o sparse-4"},
    Topic{"inspect", group_train,
          "attnscope inspect --checkpoint DIR --query 'how tall is the tower' "
          "--document-file page.txt -o dump.safetensors"},
    Topic{"attend", group_train,
          "attnscope attend in.safetensors --pattern sparse --window 4 --layout layout.json "
          "--implementation segment -o out.safetensors"},
    Topic{"show", group_stored, "attnscope show last"},
    Topic{"describe", group_stored, "attnscope describe last --name 'for the paper' --tag laptop"},
    Topic{"export", group_stored, "attnscope export last -o run.attn"},
    Topic{"import", group_stored, "attnscope import run.attn"},
    Topic{"trash", group_stored, "attnscope trash 3"},
    Topic{"check-store", group_stored, "attnscope check-store"},
    Topic{"list", group_program, "attnscope list implementations"},
    Topic{"mask", group_program, "attnscope mask sparse --window 4 -o mask.pdf"},
    Topic{"costs", group_program, "attnscope costs sparse --window 4"},
    Topic{"check", group_program, "attnscope check"},
    Topic{"help", group_program, "attnscope help score"},
    Topic{"completion", group_program, "source <(attnscope completion bash)"},
    Topic{"manual", group_program, "attnscope manual ~/.local/share/man/man1"}};

/// A command or an option of a command, with its former and its current name.
struct Renamed {
  std::string_view command, former, current;
};
constexpr std::array renamed{Renamed{"", "foresee", "estimate"},
                             Renamed{"table", "--beside", "--published"},
                             Renamed{"profile", "--most-pairs", "--max-pairs"},
                             Renamed{"train", "--clip", "--max-grad-norm"},
                             Renamed{"train", "--warm-up", "--warmup-steps"},
                             Renamed{"train", "--accumulate", "--gradient-accumulation"}};

const Topic* topic_of(const CLI::App& command) {
  const auto* const topic = std::ranges::find(topics, command.get_name(), &Topic::command);
  return topic == topics.end() ? nullptr : topic;
}

/// The named options of a command, without --help.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && option != command.get_help_ptr()) options.push_back(option);
  }
  return options;
}

/// "-o", "--output"; without the negated form of a flag.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(fmt::format("-{}", name));
  for (const std::string& name : option.get_lnames()) {
    const auto& negative = option.get_fnames();
    if (std::ranges::find(negative, name) == negative.end())
      names.push_back(fmt::format("--{}", name));
  }
  return names;
}

std::string bash_completion(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> commands;
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    std::vector<std::string> words;
    for (const CLI::App* inner : commands_of(*command)) words.push_back(inner->get_name());
    for (const CLI::Option* option : options_of(*command))
      for (std::string& name : names_of(*option)) words.push_back(std::move(name));
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(words, " "));
  }
  return fmt::format(R"(# bash completion for attnscope
_attnscope() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command= words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] || {{ command=${{COMP_WORDS[i]}}; break; }}
  done
  case $command in
    '') words='{}' ;;
{}    *) words= ;;
  esac
  COMPREPLY=()
  [[ -n $command && $command != list && $current != -* ]] && return
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _attnscope attnscope
)",
                     fmt::join(commands, " "), cases);
}

/// `text` in single quotes, with the characters of `special` escaped as zsh's completion requires.
std::string zsh_quoted(std::string_view text, std::string_view special) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands += fmt::format("    {}\n", zsh_quoted(command->get_name() + ":", "") +
                                            zsh_quoted(command->get_description(), ":"));
    cases += fmt::format("    {})\n      _arguments", command->get_name());
    for (const CLI::Option* option : options_of(*command)) {
      for (const std::string& name : names_of(*option)) {
        std::string argument =
            zsh_quoted(name + "[", "") + zsh_quoted(option->get_description(), "[]:") + "']'";
        if (option->get_expected_max() > 0)
          argument += zsh_quoted(fmt::format(":{}:_files", option->get_type_name()), "");
        cases += fmt::format(" \\\n        {}", argument);
      }
    }
    cases += " \\\n        '*::file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef attnscope
_attnscope() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_attnscope "$@"
)",
                     commands, cases);
}

/// Escapes text for a man page: backslashes, and dots at the beginning of a line.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
      escaped += c;
    }
  }
  return escaped;
}

std::string page_head(std::string_view name, std::string_view description) {
  std::string title(name);
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".TH {} 1 \"\" \"attnscope {}\" \"AttnScope\"\n.SH NAME\n{} \\- {}\n", title,
                     ATTNSCOPE_VERSION, roff(name), roff(description));
}

std::string options_in_roff(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> names =
        option->get_positional() ? std::vector{option->get_name()} : names_of(*option);
    const bool has_value = option->get_expected_max() > 0 && !option->get_positional();
    const std::string& value = option->get_default_str();
    text +=
        fmt::format(".TP\n\\fB{}\\fR{}\n{}{}\n", roff(fmt::format("{}", fmt::join(names, ", "))),
                    has_value ? fmt::format(" \\fI{}\\fR", roff(option->get_type_name())) : "",
                    roff(option->get_description()),
                    value.empty() ? "" : roff(fmt::format("; default: {}", value)));
  }
  return text;
}

/// The file attnscope-COMMAND.1.
std::string manual_page(const CLI::App& command) {
  std::string usage = command.help("attnscope");
  usage.erase(0, usage.find("Usage: ") + 7);
  usage.resize(std::min(usage.find('\n'), usage.size()));
  std::string page =
      page_head(fmt::format("attnscope-{}", command.get_name()), command.get_description());
  page += fmt::format(".SH SYNOPSIS\n{}\n", roff(usage));
  for (const CLI::App* inner : commands_of(command)) {
    page += fmt::format(".SH {}\n{}\n{}", roff(inner->get_name()), roff(inner->get_description()),
                        options_in_roff(*inner));
  }
  if (commands_of(command).empty())
    page += fmt::format(".SH OPTIONS\n{}", options_in_roff(command));
  if (const Topic* topic = topic_of(command))
    page += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", roff(topic->example));
  return page + ".SH SEE ALSO\nattnscope(1)\n";
}

/// The file attnscope.1: all commands.
std::string manual_page_of_all(const CLI::App& app) {
  std::string page = page_head("attnscope", "compare attention implementations for re-rankers");
  page += ".SH SYNOPSIS\nattnscope [COMMAND ...]\n.br\nattnscope [FILE]\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command->get_name()),
                        roff(command->get_description()));
  }
  return page + ".SH SEE ALSO\nattnscope\\-COMMAND(1) for every command\n";
}

void write_manual(Session& session, const CLI::App& app, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto write = [&](const std::string& name, const std::string& page) {
    const Status written = write_file(folder / (name + ".1"), page);
    if (!written) session.fail(written.error());
    return written.has_value();
  };
  if (!write("attnscope", manual_page_of_all(app))) return;
  for (const CLI::App* command : commands_of(app))
    if (!write(fmt::format("attnscope-{}", command->get_name()), manual_page(*command))) return;
}

}  // namespace

std::vector<CLI::App*> commands_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

Result<const CLI::App*> find_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* found = &app;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = commands_of(*found);
    const auto named = std::ranges::find(commands, word, [](const CLI::App* command) {
      return std::string_view(command->get_name());
    });
    if (named == commands.end()) {
      std::vector<std::string_view> known;
      known.reserve(commands.size());
      for (const CLI::App* command : commands) known.emplace_back(command->get_name());
      return fail("there is no command '{}'; {}", in_a_sentence(word), suggest(word, known));
    }
    found = *named;
  }
  return found;
}

/// The program and the commands before the last one.
std::vector<std::string> before(const std::vector<std::string>& words) {
  std::vector<std::string> all{"attnscope"};
  all.insert(all.end(), words.begin(), words.end() - 1);
  return all;
}

void add_help(CLI::App& app, Session& session) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Print the help of a command");
  add_option(*help, "command", *words, "COMMAND", "Command; default: list all commands");
  help->callback([&app, &session, words] {
    const auto command = find_command(app, *words);
    if (!command) return session.fail(command.error());
    // app.help() would print the help of the parsed command, which is `help` itself.
    print_result(
        session,
        words->empty()
            ? app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal)
            : (*command)->help(fmt::format("{}", fmt::join(before(*words), " "))));
  });

  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Print a completion script for bash or zsh");
  add_option(*completion, "shell", *shell, "SHELL", "bash or zsh")->required();
  completion->callback([&app, &session, shell] {
    if (*shell != "bash" && *shell != "zsh") {
      return session.fail(
          exit_wrong_use,
          fmt::format("there is no completion for the shell '{}'; write bash or zsh",
                      in_a_sentence(*shell)));
    }
    print_result(session, *shell == "bash" ? bash_completion(app) : zsh_completion(app));
  });

  auto folder = std::make_shared<std::string>();
  CLI::App* manual = app.add_subcommand("manual", "Write the man pages of all commands");
  add_option(*manual, "folder", *folder, "FOLDER",
             "Folder to write to, such as ~/.local/share/man/man1")
      ->required();
  manual->callback([&app, &session, folder] { write_manual(session, app, *folder); });

  for (CLI::App* command : commands_of(app)) {
    const Topic* const topic = topic_of(*command);
    if (topic == nullptr) continue;
    command->group(std::string(topic->group));
    std::string footer = command->get_footer();
    if (!footer.empty()) footer.insert(0, "\n");
    command->footer(fmt::format("Example:\n  {}\n{}", topic->example, footer));
  }
}

std::vector<std::string> with_current_names(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
  std::string command;
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    const std::string value = argument.substr(name.size());
    for (const Renamed& entry : renamed) {
      if (entry.former == name && entry.command == command)
        argument = std::string(entry.current) + value;
    }
    if (command.empty() && !argument.starts_with('-')) command = argument;
  }
  return arguments;
}

}  // namespace attnscope::cli
