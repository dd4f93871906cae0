#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pickle in a file of torch.save(model.state_dict()): which tensor lies where in which record.
// A pickle is a program. This reader knows the few instructions and names that such a file needs,
// runs nothing, and refuses all others by name.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

/// A tensor as the pickle describes it: nothing of it is checked against its record.
struct PickledTensor {
  std::string_view name;  // alive as long as the pickle's bytes, as `key`
  std::string_view key;   // of its record, which tensors may share
  std::string_view dtype;
  std::int64_t element_bytes = 0;
  std::int64_t count = 0;   // elements of the record
  std::int64_t offset = 0;  // of the first element, in elements, as the strides
  std::vector<std::int64_t> sizes{};
  std::vector<std::int64_t> strides{};
};

/// The tensors of a dictionary that has nothing else, in its order. Errors go on after the file's
/// name, here as below.
[[nodiscard]] Result<std::vector<PickledTensor>> read_torch_pickle(
    std::span<const std::byte> pickle);

/// Its elements in its record. One whose elements do not follow each other has no bytes, and a
/// dtype that says so, which nothing reads.
[[nodiscard]] Result<TensorView> view_in(std::span<const std::byte> record,
                                         const PickledTensor& tensor);

}  // namespace attnscope
