// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/tensor_spec.h"

#include <fmt/format.h>

namespace attnscope {

void append_linear(std::string_view name, std::string_view in_file, std::int64_t out,
                   std::int64_t in, std::vector<TensorSpec>& specs) {
  specs.push_back({fmt::format("{}.weight", name), fmt::format("{}.weight", in_file), {out, in}});
  specs.push_back({fmt::format("{}.bias", name), fmt::format("{}.bias", in_file), {out}});
}

void append_norm(std::string_view name, std::string_view in_file, std::int64_t width,
                 std::vector<TensorSpec>& specs) {
  specs.push_back({fmt::format("{}.weight", name), fmt::format("{}.weight", in_file), {width}, 1});
  specs.push_back({fmt::format("{}.bias", name), fmt::format("{}.bias", in_file), {width}});
}

}  // namespace attnscope
