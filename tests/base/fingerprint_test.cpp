#include "base/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attnscope {
namespace {

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  RunningSum sum;
  sum.add(bytes);
  return sum.value();
}

TEST(RunningSum, ContinuesFromAStoredValue) {
  RunningSum whole;
  whole.add(std::string_view("one"));
  RunningSum rest(whole.value());
  whole.add(std::string_view("two"));
  rest.add(std::string_view("two"));
  EXPECT_EQ(whole.value(), rest.value());
}

TEST(RunningSum, DependsOnTheBordersOfParts) {
  RunningSum one, other;
  one.add(std::string_view("ab"));
  one.add(std::string_view("c"));
  other.add(std::string_view("a"));
  other.add(std::string_view("bc"));
  EXPECT_NE(one.value(), other.value());
}

// Short parts are summed up word by word, long ones four words at a time.
TEST(RunningSum, OneOrTwoChangedBitsChangeTheSum) {
  for (const std::size_t size : {24U, 300U}) {
    std::vector<std::byte> bytes(size, std::byte{0x5a});
    std::set<std::uint64_t> sums{sum_of(bytes)};
    const std::size_t bits = 8 * size, apart = size == 24 ? 1 : 7;
    const auto turn = [&](std::size_t bit) { bytes[bit / 8] ^= std::byte{1} << bit % 8; };
    std::size_t wanted = 1;
    for (std::size_t first = 0; first < bits; first += apart) {
      turn(first);
      ++wanted;
      sums.insert(sum_of(bytes));
      for (std::size_t second = first + apart; second < bits; second += apart, ++wanted) {
        turn(second);
        sums.insert(sum_of(bytes));
        turn(second);
      }
      turn(first);
    }
    EXPECT_EQ(sums.size(), wanted);
  }
}

TEST(RunningSum, OneBitNearTheEndChangesManyBits) {
  std::vector<std::byte> bytes(64);
  const std::uint64_t before = sum_of(bytes);
  for (const std::size_t place : {56U, 63U}) {
    bytes[place] = std::byte{0x80};
    EXPECT_GE(std::popcount(before ^ sum_of(bytes)), 12);
    bytes[place] = std::byte{0};
  }
}

}  // namespace
}  // namespace attnscope
