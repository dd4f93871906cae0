#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "base/gzip.h"

namespace attnscope::tests {

/// As gzip packs a file of this text.
inline std::string packed(std::string_view text) {
  GzipPacker packer;
  std::string bytes = packer.pack(text);
  return bytes + packer.finish();
}

/// The text of a packed file, "" of one that is not packed or not whole.
inline std::string unpacked(const std::filesystem::path& file) {
  const int number = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  UnpackedBytes bytes(number, file.string());
  if (!bytes.is_packed().value_or(false)) return ::close(number), "";
  std::string text;
  const Status done = unpack_all(bytes, std::numeric_limits<std::int64_t>::max(),
                                 [&](std::span<const char> part) -> Status {
                                   text.append(part.begin(), part.end());
                                   return {};
                                 });
  ::close(number);
  return done ? text : "";
}

}  // namespace attnscope::tests
