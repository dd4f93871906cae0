#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Lists of token numbers as a person types them: "300, 200, 4x100".

#include <QString>
#include <cstdint>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope::gui {

inline constexpr int most_documents = 1000;  // of one item

/// Lengths of documents; "4x100" stands for four of 100. At most 1000 of them, at least one.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_lengths(const QString& text);
/// Ascending offsets, each once; an empty text has none.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_offsets(const QString& text);

/// "300, 200, 4x100"
[[nodiscard]] QString lengths_text(const std::vector<std::int64_t>& lengths);
[[nodiscard]] QString offsets_text(const std::vector<std::int64_t>& offsets);

}  // namespace attnscope::gui
