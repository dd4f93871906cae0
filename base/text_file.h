#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A user's JSON file as text. Pipes and devices, which may never end, and files far larger than any
// of their kind are rejected; a byte-order mark is skipped.
//
//   Result<std::string> json = read_text_file("my/pattern.json", "pattern file", 1 << 20);

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace attnscope {

enum class ByteOrderMark : std::uint8_t { left_out, kept };

/// `kind` is the name of the file type in messages.
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path,
                                                 std::string_view kind, std::uintmax_t most_bytes,
                                                 ByteOrderMark mark = ByteOrderMark::left_out);

}  // namespace attnscope
