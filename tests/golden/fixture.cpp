// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/fixture.h"

#include <array>
#include <cstring>
#include <filesystem>

#include "engine/pattern/compile_plan.h"
#include "tests/golden/drawn_blocks.h"

namespace attnscope::tests {
namespace {

SafetensorsFile open(std::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden";
  return must(SafetensorsFile::open(folder / fmt::format("{}.safetensors", name)));
}

std::vector<std::int64_t> integers(const TensorView& view) {
  std::vector<std::int64_t> values(view.bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

}  // namespace

Fixture::Fixture(std::string_view name)
    : file_(open(name)), layout_(must(parse_layout(must(file_.metadata("layout")), name))) {
  const std::vector<std::int64_t> shape = must(file_.tensor("q")).shape;
  heads_ = shape.at(1);
  head_dim_ = shape.at(2);
  if (const auto window = file_.metadata("window")) window_ = must(parse_window(*window));
  if (const auto block_length = file_.metadata("block_length")) {
    pattern_.name = "bigbird";  // for messages: the plan is made of the lists in the file
    plan_ = plan_of_blocks(std::stoll(std::string(*block_length)));
  } else {
    pattern_ = must(find_pattern(must(file_.metadata("pattern"))));
    plan_ = must(compile_plan(pattern_, window_, layout_, static_cast<std::int32_t>(heads_)));
  }
}

AttentionPlan Fixture::plan_of_blocks(std::int64_t block_length) const {
  const TensorView lists = must(file_.tensor("random_blocks"));
  return plan_of_drawn_blocks(layout_, {.heads = lists.shape.at(0),
                                        .rows = lists.shape.at(1),
                                        .per_row = lists.shape.at(2),
                                        .block_length = block_length,
                                        .blocks = integers(lists)});
}

Problem Fixture::problem(MemoryOrder order, Direction direction) const {
  return {.pattern = pattern_,
          .window = window_,
          .layout = layout_,
          .plan = plan_,
          .head_dim = head_dim_,
          .memory_order = order,
          .direction = direction,
          .scale = scale_of(Operation::attention, head_dim_)};
}

std::span<const float> Fixture::values(std::string_view tensor) const {
  const std::array<std::int64_t, 3> shape{layout_.tokens(), heads_, head_dim_};
  return must(file_.floats(tensor, shape));
}

}  // namespace attnscope::tests
