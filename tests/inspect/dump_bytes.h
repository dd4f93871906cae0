#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A small generated dump in memory, whose parts a test can change.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/inspect/dump.h"

namespace attnscope {

struct DumpTensor {
  std::string dtype = "F32";
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // written in `dtype`: F32 or F16
};

struct DumpParts {
  std::map<std::string, std::string> metadata;
  std::map<std::string, DumpTensor> tensors;

  [[nodiscard]] std::vector<std::byte> bytes() const;
  [[nodiscard]] Result<Dump> read() const;
};

/// [CLS], 3 query and 8 document tokens; layers 0 and 2, 2 heads of 4 values, all pseudo-random.
[[nodiscard]] DumpParts small_dump();

}  // namespace attnscope
