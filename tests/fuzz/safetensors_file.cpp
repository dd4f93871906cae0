// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: every byte of every tensor of an accepted file can be read, and none is read
// twice.
#include <array>

#include "engine/safetensors/safetensors.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

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
    if (accepted(floats) && !floats->empty()) {
      const volatile float last = floats->back();
      static_cast<void>(last);
    }
    accepted(file.floats(name, std::array<std::int64_t, 3>{2, -1, 7}));
  }
  expect(bytes <= file_size, "tensors do not overlap");
  accepted(file.tensor("no such tensor"));
  accepted(file.metadata("format"));
}

}  // namespace

void fuzz::run(std::string_view input) {
  const MemoryFile memory(input);
  const auto file = SafetensorsFile::open(memory.path());
  if (accepted(file)) follow(*file, input.size());
}

}  // namespace attnscope
