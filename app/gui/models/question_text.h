#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The fields of a question as a person fills them in: what they mean, or what is wrong with them.
//
//   Result<DocumentsText> documents = parse_documents("300, 200, 4x100");   // or a file's path

#include <QString>
#include <cstdint>
#include <optional>
#include <variant>

#include "engine/report/question.h"

namespace attnscope::gui {

/// Lengths, or the file that they are to be read from.
using DocumentsText = std::variant<report::DocumentLengths, QString>;

/// A file is what is not made of digits, separators and "x" alone.
[[nodiscard]] Result<DocumentsText> parse_documents(const QString& text);
/// Empty: as measured.
[[nodiscard]] Result<std::optional<std::int64_t>> parse_query_tokens(const QString& text);
[[nodiscard]] Result<std::int64_t> parse_candidates(const QString& text);
/// Empty: no limit. `example` shows what to write: "500 for 500 MB".
[[nodiscard]] Result<std::optional<double>> parse_limit(const QString& text, const char* example);

}  // namespace attnscope::gui
