// SPDX-License-Identifier: Apache-2.0
#include "engine/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/plan/number_formats.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::safetensors_text;
using tests::ScratchFolder;
using tests::write_bytes;

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const ScratchFolder folder;
  const std::vector<float> q = counting(24);
  const std::vector<float> lse = counting(6);
  const std::array<NamedTensor, 2> tensors{NamedTensor{"q", {3, 2, 4}, q},
                                           NamedTensor{"lse", {3, 2}, lse}};
  ASSERT_TRUE(write_safetensors(folder / "t.safetensors", tensors));

  const auto file = SafetensorsFile::open(folder / "t.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->names(), testing::UnorderedElementsAre("q", "lse"));
  const std::array<std::int64_t, 3> any_tokens{-1, 2, 4};
  const auto read = file->floats("q", any_tokens);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::vector<float>(read->begin(), read->end()), q);
  EXPECT_THAT(file->tensor("lse")->shape, ElementsAre(3, 2));
}

TEST(Safetensors, DistinguishesAnotherChecksumVersionFromDamage) {
  const ScratchFolder folder;
  const std::vector<float> values = counting(4);
  const NamedView view{"q", {"F32", {4}, std::as_bytes(std::span(values))}};
  const auto checked = [&](const std::string& checksum) {
    const std::map<std::string, std::string> texts{{checksum_key, checksum}};
    EXPECT_TRUE(write_safetensors(folder / "t", std::span(&view, 1), texts));
    return SafetensorsFile::open(folder / "t")->check_sum();
  };
  const std::string sum = checksum_of(std::span(&view, 1), {});
  EXPECT_TRUE(checked(sum));
  EXPECT_THAT(checked(sum.substr(2)).error().message, HasSubstr("by another version of attnscope"));
  std::string other = sum;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_THAT(checked(other).error().message, HasSubstr("is damaged"));
}

TEST(Safetensors, AcceptsEmptyTensorsAndFilesWithoutTensors) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_safetensors(folder / "none", {}));
  EXPECT_TRUE(SafetensorsFile::open(folder / "none")->names().empty());

  const std::array<NamedTensor, 1> empty{NamedTensor{"q", {0, 2, 4}, {}}};
  ASSERT_TRUE(write_safetensors(folder / "empty", empty));
  const auto file = SafetensorsFile::open(folder / "empty");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->tensor("q")->bytes.empty());
}

TEST(Safetensors, MetadataIsNotATensor) {
  const ScratchFolder folder;
  write_bytes(folder / "m",
              safetensors_text(R"({"__metadata__":{"format":"pt"},)"
                               R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                               8));
  const auto file = SafetensorsFile::open(folder / "m");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->names(), ElementsAre("a"));
}

TEST(Safetensors, ReadsMetadata) {
  const ScratchFolder folder;
  write_bytes(folder / "m", safetensors_text(R"({"__metadata__":{"window":"16"}})", 0));
  const auto file = SafetensorsFile::open(folder / "m");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata("window").value(), "16");
  EXPECT_THAT(file->metadata("size").error().message, HasSubstr("has no metadata 'size'"));
}

TEST(Safetensors, AcceptsNullMetadata) {
  const ScratchFolder folder;
  write_bytes(folder / "m", safetensors_text(R"({"__metadata__":null})", 0));
  const auto file = SafetensorsFile::open(folder / "m");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->metadata("window").error().message, HasSubstr("has no metadata 'window'"));
}

TEST(Safetensors, RefusesFloatsOfAnotherDtype) {
  const ScratchFolder folder;
  write_bytes(folder / "h",
              safetensors_text(R"({"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})", 8));
  const auto file = SafetensorsFile::open(folder / "h");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tensor("a")->dtype, "BF16");
  const std::array<std::int64_t, 2> shape{2, 2};
  EXPECT_THAT(file->floats("a", shape).error().message, HasSubstr("'a' is BF16; F32 is needed"));
}

/// Every dtype of the reference reader, and one that a later version may have.
TEST(Safetensors, ReadsEveryDtype) {
  struct Dtype {
    std::string name;
    int elements, bytes;
  };
  for (const auto& [name, elements, bytes] :
       {Dtype{"BOOL", 1, 1}, {"F4", 2, 1},          {"F6_E2M3", 4, 3},     {"F6_E3M2", 4, 3},
        {"U8", 1, 1},        {"I8", 1, 1},          {"F8_E5M2", 1, 1},     {"F8_E4M3", 1, 1},
        {"F8_E8M0", 1, 1},   {"F8_E4M3FNUZ", 1, 1}, {"F8_E5M2FNUZ", 1, 1}, {"I16", 1, 2},
        {"U16", 1, 2},       {"F16", 1, 2},         {"BF16", 1, 2},        {"I32", 1, 4},
        {"U32", 1, 4},       {"F32", 1, 4},         {"C64", 1, 8},         {"F64", 1, 8},
        {"I64", 1, 8},       {"U64", 1, 8},         {"C256", 1, 32}}) {
    const ScratchFolder folder;
    const std::string entry = fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}})",
                                          name, elements, bytes);
    write_bytes(folder / "m",
                safetensors_text("{\"a\":" + entry + "}", static_cast<std::size_t>(bytes)));
    const auto file = SafetensorsFile::open(folder / "m");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->tensor("a")->dtype, name);
    EXPECT_EQ(file->tensor("a")->bytes.size(), static_cast<std::size_t>(bytes));
  }
}

TEST(Safetensors, ListsTensorsIfOneIsMissing) {
  const ScratchFolder folder;
  const std::vector<float> values = counting(2);
  const std::array<NamedTensor, 2> tensors{NamedTensor{"k", {2}, values},
                                           NamedTensor{"v", {2}, values}};
  ASSERT_TRUE(write_safetensors(folder / "t", tensors));
  const auto file = SafetensorsFile::open(folder / "t");
  EXPECT_THAT(file->tensor("q").error().message, HasSubstr("has no tensor 'q'; it has k, v"));
}

TEST(Safetensors, NamesBothShapesIfTheyDiffer) {
  const ScratchFolder folder;
  const std::vector<float> values = counting(24);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {6, 4}, values}};
  ASSERT_TRUE(write_safetensors(folder / "t", tensors));
  const auto file = SafetensorsFile::open(folder / "t");
  const std::array<std::int64_t, 3> wanted{-1, 2, 4};
  EXPECT_THAT(file->floats("q", wanted).error().message,
              HasSubstr("'q' has shape [6, 4]; [any, 2, 4] is needed"));
}

TEST(Safetensors, RefusesUnalignedFloats) {
  const ScratchFolder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  write_bytes(folder / "odd",
              safetensors_text(header + std::string(header.size() % 2 + 1, ' '), 4));
  const auto file = SafetensorsFile::open(folder / "odd");
  ASSERT_TRUE(file) << file.error().message;
  const std::array<std::int64_t, 1> shape{1};
  EXPECT_THAT(file->floats("a", shape).error().message,
              HasSubstr("'a' does not start at a multiple of 4"));
}

TEST(Safetensors, WritingReplacesTheOldFile) {
  const ScratchFolder folder;
  write_bytes(folder / "t", "old");
  const std::vector<float> values = counting(2);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {2}, values}};
  ASSERT_TRUE(write_safetensors(folder / "t", tensors));
  EXPECT_TRUE(SafetensorsFile::open(folder / "t"));
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 1);
}

TEST(Safetensors, NamesAFolderThatCannotBeWritten) {
  const ScratchFolder folder;
  const std::vector<float> values = counting(2);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {2}, values}};
  const Status missing = write_safetensors(folder / "no/such/t", tensors);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no/such/t: cannot be written"));

  // A folder in the target's place fails at the last step, and the temporary file goes with it.
  std::filesystem::create_directory(folder / "taken");
  ASSERT_FALSE(write_safetensors(folder / "taken", tensors));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, RefusesValuesThatDoNotFillTheirShape) {
  const std::vector<float> values = counting(2);
  const std::array<NamedTensor, 1> wrong{NamedTensor{"q", {3}, values}};
  const ScratchFolder folder;
  const Status written = write_safetensors(folder / "t", wrong);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("shape [3] has 8 bytes"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, AFailedWriteKeepsTheOldFile) {
  const ScratchFolder folder;
  write_bytes(folder / "t", "old");
  const std::vector<float> values = counting(4096);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {4096}, values}};
  // A limit on file sizes stands for a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1024, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_safetensors(folder / "t", tensors);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("cannot be written: File too large"));
  EXPECT_EQ(std::filesystem::file_size(folder / "t"), 3U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, WritesMetadataAndFloat16) {
  const ScratchFolder folder;
  const std::vector<float> values{1.0F, -2.5F, 65504.0F, 1e30F};
  const std::vector<NamedTensor> tensors{{"x", {2, 2}, values}};
  ASSERT_TRUE(write_safetensors(folder / "h.safetensors", tensors,
                                {.metadata = {{"made by", "hand"}}, .half = true}));
  const auto file = SafetensorsFile::open(folder / "h.safetensors");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->metadata("made by").value(), "hand");
  const auto x = file->tensor("x").value();
  EXPECT_EQ(x.dtype, "F16");
  std::array<std::uint16_t, 4> halves{};
  ASSERT_EQ(x.bytes.size(), sizeof(halves));
  std::memcpy(halves.data(), x.bytes.data(), sizeof(halves));
  EXPECT_EQ(halves, (std::array<std::uint16_t, 4>{0x3C00, 0xC100, 0x7BFF, 0x7C00}));
}

TEST(HalfPrecision, RoundsToNearestEven) {
  EXPECT_EQ(float16_from_float(1.0F + 0x1p-11F), 0x3C00);  // half way
  EXPECT_EQ(float16_from_float(1.0F + 0x3p-11F), 0x3C02);
  EXPECT_EQ(float16_from_float(65520.0F), 0x7C00);
  EXPECT_EQ(float16_from_float(-0.0F), 0x8000);
  EXPECT_EQ(float16_from_float(0x1p-24F), 0x0001);
  EXPECT_EQ(float16_from_float(0x1p-14F), 0x0400);
  EXPECT_EQ(float16_from_float(0x1p-26F), 0x0000);
  EXPECT_EQ(float16_from_float(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_GT(float16_from_float(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7C00);
}

}  // namespace
}  // namespace attnscope
