// SPDX-License-Identifier: Apache-2.0
#include "engine/report/latex_text.h"

#include <fmt/format.h>

#include "engine/report/conditions.h"
#include "engine/report/writers.h"

namespace attnscope::report {

std::string latex_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '|':
        result += "\\textbar{}";
        break;
      case '-':  // two in a row would become a dash
        result += result.ends_with('-') ? "{}-" : "-";
        break;
      case '{':
      case '}':
      case '$':
      case '&':
      case '#':
      case '_':
      case '%':
        result += '\\';
        result += c;
        break;
      default:
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

std::string latex_difference(double ratio) {
  std::string text = format_relative(ratio);
  const std::size_t percent = text.find(" %");
  if (percent == std::string::npos) return {};
  return fmt::format(" $({}\\,\\%)$", text.substr(0, percent));
}

std::string latex_notes(const Row& row) {
  const std::string who = fmt::format("{}, {} tokens", latex_escaped(row.cell.cell.contender.name),
                                      row.cell.point.sequence_tokens);
  std::string text;
  for (const std::string& note : notes_on(row)) {
    text += fmt::format("{}: {}\\par\n", who, latex_escaped(note));
  }
  const Outcome outcome = outcome_of(row);
  if (is_measured(row) || outcome.reason.empty()) return text;
  return text + fmt::format("{}: {}: {}\\par\n", who, latex_escaped(outcome.status),
                            latex_escaped(outcome.reason));
}

}  // namespace attnscope::report
