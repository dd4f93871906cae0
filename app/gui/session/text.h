#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later

#include <QString>
#include <string_view>

namespace attnscope::gui {

/// The engine's UTF-8 words as Qt's.
[[nodiscard]] inline QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace attnscope::gui
