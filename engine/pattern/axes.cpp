// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/axes.h"

#include <array>
#include <charconv>

#include "base/json.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

// Names in the order of the enumerators.
constexpr std::array<std::string_view, 3> operations{"windowed-matmul", "attention", "model"};
constexpr std::array<std::string_view, 2> directions{"forward", "forward-backward"};
constexpr std::array<std::string_view, 2> memory_orders{"head-major", "token-major"};
constexpr std::array<std::string_view, 2> caches{"warm", "cold"};
constexpr std::array<std::string_view, 2> devices{"cpu", "cuda"};
constexpr std::array<std::string_view, 2> launch_modes{"eager", "graph"};
constexpr std::array<std::string_view, 8> stages{
    "whole",         "offline",         "load",           "online", "train-step",
    "train-forward", "train-gradients", "train-optimizer"};
constexpr std::array<std::string_view, 3> dtypes{"float32", "float16", "bfloat16"};
constexpr std::array<std::string_view, 3> precisions{"float32", "bfloat16", "int8"};

template <typename Enum>
Result<Enum> parse(std::string_view what, std::string_view text,
                   std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return fail("unknown {} '{}'; {}", what, in_a_sentence(text),
              suggest(in_a_sentence(text), names));
}

}  // namespace

std::string_view name_of(Operation value) {
  return operations[static_cast<std::size_t>(value)];
}
std::string_view name_of(Direction value) {
  return directions[static_cast<std::size_t>(value)];
}
std::string_view name_of(MemoryOrder value) {
  return memory_orders[static_cast<std::size_t>(value)];
}
std::string_view name_of(CacheState value) {
  return caches[static_cast<std::size_t>(value)];
}
std::string_view name_of(DeviceKind value) {
  return devices[static_cast<std::size_t>(value)];
}
std::string_view name_of(LaunchMode value) {
  return launch_modes[static_cast<std::size_t>(value)];
}
std::string_view name_of(Stage value) {
  return stages[static_cast<std::size_t>(value)];
}
std::string_view name_of(DType value) {
  return dtypes[static_cast<std::size_t>(value)];
}
std::string_view name_of(Products value) {
  return precisions[static_cast<std::size_t>(value)];
}

Result<Operation> parse_operation(std::string_view text) {
  return parse<Operation>("operation", text, operations);
}
Result<Direction> parse_direction(std::string_view text) {
  return parse<Direction>("direction", text, directions);
}
Result<DeviceKind> parse_device(std::string_view text) {
  return parse<DeviceKind>("device", text, devices);
}
Result<DType> parse_dtype(std::string_view text) {
  return parse<DType>("dtype", text, dtypes);
}
Result<Products> parse_precision(std::string_view text) {
  return parse<Products>("precision", text, precisions);
}

Status supports_precision(Products products, DType dtype, DeviceKind device) {
  if (products == Products::float32) return {};
  if (dtype != DType::float32) {
    return fail(
        "products of {} need a model whose other operations are in float32, not {}; leave out its "
        "dtype",
        name_of(products), name_of(dtype));
  }
  if (device != DeviceKind::cpu) {
    return fail("products of {} are supported only on the CPU, not on {}; give a dtype there",
                name_of(products), name_of(device));
  }
  return {};
}

Result<Window> parse_window(std::string_view text) {
  if (text == "inf") return Window::infinite();
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error == std::errc::result_out_of_range || tokens > widest_window) {
    return fail("window '{}' is above {}; give \"inf\" for the whole subsequence",
                in_a_sentence(text), widest_window);
  }
  if (error != std::errc() || end != text.data() + text.size() || tokens < 0) {
    return fail("window '{}' is neither a number of tokens from 0 on nor \"inf\"",
                in_a_sentence(text));
  }
  return Window::of(tokens);
}

Result<std::optional<Window>> parse_optional_window(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return parse_window(text);
}

Window window_in(const JsonField& field) {
  if (field.is_text()) return field.take(parse_window(field.text()));
  return Window::of(field.whole(0, widest_window));
}

}  // namespace attnscope
