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
#include <stdexcept>

#include "kernels/plan/number_formats.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::safetensors_text;
using tests::ScratchFolder;
using tests::write_bytes;

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

/// A file with this header and as many zero bytes.
SafetensorsFile opened(std::string_view header, std::size_t data_bytes) {
  const ScratchFolder folder;
  write_bytes(folder / "t", safetensors_text(header, data_bytes));
  auto file = SafetensorsFile::open(folder / "t");
  if (!file) throw std::runtime_error(file.error().message);
  return std::move(*file);
}

/// Writes a tensor "q" with two values.
Status write_q(const std::filesystem::path& path, std::int64_t rows = 2) {
  const std::vector<float> values = counting(2);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {rows}, values}};
  return write_safetensors(path, tensors);
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
  EXPECT_THAT(file->tensor("v").error().message, HasSubstr("has no tensor 'v'; it has lse, q"));
  const std::array<std::int64_t, 3> wanted{-1, 2, 5};
  EXPECT_THAT(file->floats("q", wanted).error().message,
              HasSubstr("'q' has shape [3, 2, 4]; [any, 2, 5] is needed"));
  const std::array<std::int64_t, 2> flat{6, 4};
  EXPECT_THAT(file->floats("q", flat).error().message, HasSubstr("[6, 4] is needed"));
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

TEST(Safetensors, ReadsMetadata) {
  const SafetensorsFile file = opened(R"({"__metadata__":{"window":"16"},)"
                                      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                      8);
  EXPECT_THAT(file.names(), ElementsAre("a"));
  EXPECT_EQ(file.metadata("window").value(), "16");
  EXPECT_THAT(file.metadata("size").error().message, HasSubstr("has no metadata 'size'"));
  EXPECT_THAT(opened(R"({"__metadata__":null})", 0).metadata("window").error().message,
              HasSubstr("has no metadata 'window'"));
}

TEST(Safetensors, RefusesFloatsOfAnotherDtype) {
  const SafetensorsFile file =
      opened(R"({"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})", 8);
  EXPECT_EQ(file.tensor("a")->dtype, "BF16");
  const std::array<std::int64_t, 2> shape{2, 2};
  EXPECT_THAT(file.floats("a", shape).error().message, HasSubstr("'a' is BF16; F32 is needed"));
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
    const SafetensorsFile file =
        opened(fmt::format(R"({{"a":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", name,
                           elements, bytes),
               static_cast<std::size_t>(bytes));
    EXPECT_EQ(file.tensor("a")->dtype, name);
    EXPECT_EQ(file.tensor("a")->bytes.size(), static_cast<std::size_t>(bytes));
  }
}

TEST(Safetensors, RefusesUnalignedFloats) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::array<std::int64_t, 1> shape{1};
  EXPECT_THAT(opened(header + std::string(header.size() % 2 + 1, ' '), 4)
                  .floats("a", shape)
                  .error()
                  .message,
              HasSubstr("'a' does not start at a multiple of 4"));
}

TEST(Safetensors, ReplacesAnOldFile) {
  const ScratchFolder folder;
  write_bytes(folder / "t", "old");
  ASSERT_TRUE(write_q(folder / "t"));
  EXPECT_TRUE(SafetensorsFile::open(folder / "t"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, NamesAFolderThatCannotBeWritten) {
  const ScratchFolder folder;
  const Status missing = write_q(folder / "no/such/t");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no/such/t: cannot be written"));

  // A folder in the target's place fails at the last step, and the temporary file goes with it.
  std::filesystem::create_directory(folder / "taken");
  ASSERT_FALSE(write_q(folder / "taken"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, RefusesValuesThatDoNotFillTheirShape) {
  const ScratchFolder folder;
  const Status written = write_q(folder / "t", 3);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("shape [3] has 8 bytes"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, AFailedWriteKeepsTheOldFile) {
  const ScratchFolder folder;
  write_bytes(folder / "t", "old");
  const std::vector<float> values = counting(4096);
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {4096}, values}};
  // A limit on file sizes simulates a full disk.
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

// Invalid files: each is refused in one sentence that names the file and, if
// there is one, the tensor.

std::string message_for(std::string_view bytes) {
  const ScratchFolder folder;
  write_bytes(folder / "hostile.safetensors", bytes);
  const auto file = SafetensorsFile::open(folder / "hostile.safetensors");
  return file ? "opened" : file.error().message;
}

std::string with_entry(const std::string& entry, std::size_t data_bytes = 64) {
  return safetensors_text("{\"a\":" + entry + "}", data_bytes);
}

/// A valid file without tensors whose header has this length.
std::string with_length(std::uint64_t length) {
  std::string text = safetensors_text("{}", 0);
  std::memcpy(text.data(), &length, sizeof(length));
  return text;
}

struct Hostile {
  std::string bytes, message;
};

void expect_refused(const std::vector<Hostile>& files) {
  for (const auto& [bytes, message] : files) {
    EXPECT_THAT(message_for(bytes),
                AllOf(HasSubstr("hostile.safetensors"), HasSubstr(message), Not(HasSubstr("\n"))))
        << bytes.substr(0, 100);
  }
}

TEST(HostileSafetensors, RefusesMissingFilesDirectoriesAndDevices) {
  const ScratchFolder folder;
  EXPECT_THAT(SafetensorsFile::open(folder / "absent").error().message,
              HasSubstr("absent: cannot be opened: No such file or directory"));
  EXPECT_THAT(SafetensorsFile::open(folder.path()).error().message, HasSubstr("is a directory"));
  EXPECT_THAT(SafetensorsFile::open("/dev/null").error().message,
              HasSubstr("/dev/null: is not a regular file"));
}

TEST(HostileSafetensors, RefusesInvalidHeaderLengths) {
  expect_refused(
      {{"", "has 0 bytes"},
       {std::string("\x02\0\0", 3), "too few for a safetensors file"},
       {with_length(100), "states a header of 100 bytes, but only 2 follow"},
       {with_length(std::uint64_t{1} << 63U), "states a header of 9223372036854775808 bytes"},
       {with_length(~std::uint64_t{0}), "states a header of 18446744073709551615 bytes"}});
}

TEST(HostileSafetensors, RefusesInvalidHeaders) {
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_refused(
      {{safetensors_text("PK\x03\x04 zip", 0), "not valid JSON"},
       {safetensors_text("{\"a\":", 0), "not valid JSON"},
       {safetensors_text("{\"\xff\":1}", 0), "not valid JSON"},
       {safetensors_text("", 0), "not valid JSON"},
       {safetensors_text("[1,2]", 0), "its header is not a JSON object"},
       {safetensors_text(nested, 0), "nested deeper than 64 levels"},
       {with_entry(nested), "nested deeper than 64 levels"},
       {safetensors_text("{" + entry + "," + entry + "}", 4), "field 'a' is given twice"},
       {safetensors_text(R"({"__metadata__":"pt"})", 0), "'__metadata__' is not an object"},
       {safetensors_text(R"({"__metadata__":{"size":3}})", 0),
        "'size' of '__metadata__' is 3, not a text"},
       {safetensors_text("{\"a\\n\\u001b[2J\":7}", 0), "tensor 'a??[2J':"}});
}

TEST(HostileSafetensors, ShortensALongName) {
  const std::string message =
      message_for(safetensors_text("{\"" + std::string(1'000'000, 'n') + "\":7}", 0));
  EXPECT_THAT(message, HasSubstr("nnn...'"));
  EXPECT_LT(message.size(), 400U);
}

TEST(HostileSafetensors, RefusesInvalidEntries) {
  expect_refused(
      {{with_entry("7"), "tensor 'a': its entry in the header is not an object"},
       {with_entry(R"({"shape":[1],"data_offsets":[0,4]})"),
        "tensor 'a': the header lacks its 'dtype'"},
       {with_entry(R"({"dtype":"F32","data_offsets":[0,4]})"), "lacks its 'shape'"},
       {with_entry(R"({"dtype":"F32","shape":[1]})"), "lacks its 'data_offsets'"},
       {with_entry(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})"),
        "'dtype' is 32, not a name such as \"F32\""},
       {with_entry(R"({"dtype":"F4","shape":[3],"data_offsets":[0,1]})", 1),
        "shape [3] of F4 needs 1.5 bytes, but 'data_offsets' gives 1"},
       {with_entry(R"({"dtype":"F32","shape":[2,-3],"data_offsets":[0,24]})"),
        "tensor 'a': 'shape' has -3"},
       {with_entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})"), "'shape' has 1.5"},
       {with_entry(R"({"dtype":"F32","shape":"1","data_offsets":[0,4]})"), "'shape' is not a list"},
       {with_entry(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})"),
        "'shape' has 18446744073709551615"},
       {with_entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
        "tensor 'a': its shape [4294967296, 4294967296] has more than 2^63 bits"},
       {with_entry(R"({"dtype":"F32","shape":[4],"data_offsets":[56,72]})"),
        "tensor 'a': its bytes 56 to 72 are outside the file, which has 64 bytes"},
       {with_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[8,4]})"),
        "'data_offsets' 8 and 4 are not an ascending pair"},
       {with_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"),
        "'data_offsets' -4 and 0"},
       {with_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"),
        "'data_offsets' is not a pair"},
       {with_entry(R"({"dtype":"F16","shape":[2,3],"data_offsets":[0,24]})"),
        "tensor 'a': shape [2, 3] of F16 needs 12 bytes, but 'data_offsets' gives 24"}});
  for (const char* name :
       {"", "F\\n3", "f32", "a name of a type", "F1234567890123456789012345678901"}) {
    expect_refused(
        {{with_entry(fmt::format(R"({{"dtype":"{}","shape":[1],"data_offsets":[0,4]}})", name)),
          "not a name such as"}});
  }
}

TEST(HostileSafetensors, AcceptsAnEmptyShapeWithHugeSizes) {
  EXPECT_EQ(message_for(with_entry(
                R"({"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]})", 0)),
            "opened");
}

/// The reference reader refuses these as well.
TEST(HostileSafetensors, RefusesOverlapsAndBytesOfNoTensor) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string b = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]})";
  const std::string c = R"("c":{"dtype":"U8","shape":[2],"data_offsets":[1,3]})";
  const std::string empty = R"("e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]})";
  expect_refused(
      {{safetensors_text("{" + a + "," + c + "}", 3), "tensors 'a' and 'c' overlap"},
       {safetensors_text("{" + a + "}", 5), "the bytes 2 to 5 of its data belong to no tensor"},
       {safetensors_text("{" + b + "," + a + "}", 6),
        "the bytes 2 to 4 of its data belong to no tensor"},
       {safetensors_text("{" + b + "}", 6), "the bytes 0 to 4 of its data belong to no tensor"},
       {safetensors_text("{" + a + "," + empty + "}", 2), "tensors 'a' and 'e' overlap"}});
}

/// A parser that looks through all tensors for each of them takes minutes here.
TEST(HostileSafetensors, ReadsAHundredThousandTensorsInLinearTime) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += fmt::format(R"({}"t{}":{{"dtype":"F8_E4M3","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  EXPECT_EQ(message_for(safetensors_text(header + "}", 100'000)), "opened");
}

TEST(HostileSafetensors, RefusesEveryTruncation) {
  const std::string good =
      safetensors_text(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  ASSERT_EQ(message_for(good), "opened");
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(message_for(good.substr(0, length)), "opened") << "first " << length << " bytes";
  }
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
