#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Lists of token numbers as the user types them: "300, 200, 4x100".

#include <QString>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace attnscope::gui {

inline constexpr int most_documents = 1000;  // per item

/// Document lengths; "4x100" means four documents of 100 tokens. Between 1 and 1000 documents.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_lengths(const QString& text);
/// Ascending, unique offsets; an empty text gives none.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_offsets(const QString& text);

/// "300, 200, 4x100"
[[nodiscard]] QString lengths_text(const std::vector<std::int64_t>& lengths);
[[nodiscard]] QString offsets_text(const std::vector<std::int64_t>& offsets);

}  // namespace attnscope::gui
