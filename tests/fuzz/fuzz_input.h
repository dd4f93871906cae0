#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The requirements of all fuzz targets on the code under test. A broken promise ends the process,
// which libFuzzer reports as a finding with the input.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace attnscope::fuzz {

/// Defined by every target: one input, which ends the process if a promise is broken.
void run(std::string_view input);

inline void expect(bool kept, const char* promise, std::string_view about = {}) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, std::string(about).c_str());
  std::abort();
}

/// Whether the bytes are well-formed UTF-8 without control characters, which terminals, log lines
/// and JSON texts can all contain.
inline bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x20 || lead == 0x7F) return false;
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xE0) == 0xC0 ? 2
                               : (lead & 0xF0) == 0xE0 ? 3
                               : (lead & 0xF8) == 0xF0 ? 4
                                                       : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

/// One readable sentence: not empty, on one line, and shorter than an input.
inline void expect_sentence(const std::string& message) {
  constexpr std::size_t longest = 1500;
  expect(!message.empty(), "an error has a message");
  expect(message.size() <= longest, "an error is one sentence, not the input", message);
  expect(is_plain_text(message), "an error is one line of plain text", message);
}

/// Whether there is a value. The error of a result without one must be a sentence.
template <typename Result>
bool accepted(const Result& result) {
  if (!result) expect_sentence(result.error().message);
  return result.has_value();
}

/// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(descriptor_ >= 0, "a file in memory can be made");
    expect(write(descriptor_, bytes.data(), bytes.size()) == std::ssize(bytes),
           "the input can be written to it");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace attnscope::fuzz
