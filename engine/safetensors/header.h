#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The JSON header of a safetensors file; every entry is validated against the bytes that follow the
// header.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope {

struct HeaderEntry {
  std::string name;
  std::string dtype{};
  std::vector<std::int64_t> shape{};
  std::int64_t begin = 0;  // bytes from the end of the header
  std::int64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;             // in the header's order
  std::map<std::string, std::string> metadata;  // texts of the writer
};

/// The beginning of a file whose tensors are stored contiguously in this order (the entries' own
/// byte ranges are ignored): the header's length, the header, and spaces up to a multiple of
/// `alignment` bytes, a multiple of 8.
[[nodiscard]] std::string header_text(std::span<const HeaderEntry> entries,
                                      const std::map<std::string, std::string>& metadata,
                                      std::size_t alignment = 8);
/// Bytes of a tensor; the caller must rule out an overflow.
[[nodiscard]] std::int64_t bytes_of(const HeaderEntry& entry);

/// Length of the header, from the first 8 bytes of a file. `longest` is the reader's limit.
[[nodiscard]] Result<std::int64_t> header_length(std::span<const std::byte, 8> bytes,
                                                 std::int64_t file_bytes, std::int64_t longest,
                                                 std::string_view file);

/// `data_bytes` is the number of bytes after the header; `file` names the file in messages.
[[nodiscard]] Result<Header> parse_header(std::string_view json, std::int64_t data_bytes,
                                          std::string_view file);

}  // namespace attnscope
