// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: every byte of every tensor of an accepted file can be read, and none is read
// twice.
#include <array>
#include <numeric>

#include "engine/safetensors/safetensors.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;
using fuzz::expect_sentence;
using fuzz::MemoryFile;

void follow(const SafetensorsFile& file, std::size_t file_size) {
  std::size_t bytes = 0;
  for (const std::string& name : file.names()) {
    const auto tensor = file.tensor(name);
    expect(tensor.has_value(), "a named tensor is there", name);
    bytes += tensor->bytes.size();
    volatile unsigned sum = 0;
    for (const std::byte byte : tensor->bytes) sum = sum + std::to_integer<unsigned>(byte);
    for (const std::int64_t size : tensor->shape) expect(size >= 0, "sizes are not negative", name);
    const std::vector<std::int64_t> any(tensor->shape.size(), -1);
    const auto floats = file.floats(name, any);
    if (!floats) {
      expect_sentence(floats.error().message);
    } else {
      volatile float last = 0;
      if (!floats->empty()) last = floats->back();
      static_cast<void>(last);
    }
    const auto other = file.floats(name, std::array<std::int64_t, 3>{2, -1, 7});
    if (!other) expect_sentence(other.error().message);
  }
  expect(bytes <= file_size, "tensors do not overlap");
  const auto absent = file.tensor("no such tensor");
  if (!absent) expect_sentence(absent.error().message);
  const auto words = file.metadata("format");
  if (!words) expect_sentence(words.error().message);
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const attnscope::fuzz::MemoryFile memory(data, size);
  const auto file = attnscope::SafetensorsFile::open(memory.path());
  if (file) {
    attnscope::follow(*file, size);
  } else {
    attnscope::fuzz::expect_sentence(file.error().message);
  }
  return 0;
}
