// SPDX-License-Identifier: Apache-2.0
//
// Files that lie: each ends in one sentence that names the file and, where there is one, the
// tensor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/safetensors/safetensors.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::safetensors_text;
using tests::ScratchFolder;
using tests::write_bytes;

std::string message_for(std::string_view bytes) {
  const ScratchFolder folder;
  write_bytes(folder / "hostile.safetensors", bytes);
  const auto file = SafetensorsFile::open(folder / "hostile.safetensors");
  return file ? "opened" : file.error().message;
}

auto says(const std::string& what) {
  return AllOf(HasSubstr("hostile.safetensors"), HasSubstr(what), Not(HasSubstr("\n")));
}

std::string message_for_entry(const std::string& entry, std::size_t data_bytes = 64) {
  return message_for(safetensors_text("{\"a\":" + entry + "}", data_bytes));
}

TEST(HostileSafetensors, RefusesAMissingFile) {
  const ScratchFolder folder;
  const auto file = SafetensorsFile::open(folder / "absent.safetensors");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message,
              HasSubstr("absent.safetensors: cannot be opened: No such file or directory"));
}

TEST(HostileSafetensors, RefusesADirectory) {
  const ScratchFolder folder;
  const auto file = SafetensorsFile::open(folder.path());
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("is a directory"));
}

TEST(HostileSafetensors, RefusesADevice) {
  const auto file = SafetensorsFile::open("/dev/null");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("/dev/null: is not a regular file"));
}

TEST(HostileSafetensors, RefusesAnEmptyFile) {
  EXPECT_THAT(message_for(""), says("has 0 bytes"));
}

TEST(HostileSafetensors, RefusesAFileShorterThanItsLengthField) {
  EXPECT_THAT(message_for("\x02\0\0"), says("too few for a safetensors file"));
}

TEST(HostileSafetensors, RefusesAHeaderLongerThanTheFile) {
  std::string text = safetensors_text("{}", 0);
  text[0] = 100;
  EXPECT_THAT(message_for(text), says("states a header of 100 bytes, but only 2 follow"));
}

TEST(HostileSafetensors, RefusesAHeaderLengthOfTwoToThe63) {
  std::string text = safetensors_text("{}", 0);
  text[7] = static_cast<char>(0x80);
  text[0] = 0;
  EXPECT_THAT(message_for(text), says("states a header of 9223372036854775808 bytes"));
}

TEST(HostileSafetensors, RefusesAHeaderLengthOfAllOnes) {
  EXPECT_THAT(message_for(std::string(8, '\xff') + "{}"),
              says("states a header of 18446744073709551615 bytes"));
}

TEST(HostileSafetensors, RefusesAHeaderThatIsNotJson) {
  EXPECT_THAT(message_for(safetensors_text("PK\x03\x04 zip", 0)), says("not valid JSON"));
  EXPECT_THAT(message_for(safetensors_text("{\"a\":", 0)), says("not valid JSON"));
  EXPECT_THAT(message_for(safetensors_text("{\"\xff\":1}", 0)), says("not valid JSON"));
  EXPECT_THAT(message_for(safetensors_text("", 0)), says("not valid JSON"));
}

TEST(HostileSafetensors, RefusesAHeaderThatIsNotAnObject) {
  EXPECT_THAT(message_for(safetensors_text("[1,2]", 0)), says("its header is not a JSON object"));
}

TEST(HostileSafetensors, RefusesADeeplyNestedHeader) {
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(message_for(safetensors_text(nested, 0)), says("nested deeper than 64 levels"));
  EXPECT_THAT(message_for_entry(nested), says("nested deeper than 64 levels"));
}

TEST(HostileSafetensors, ShowsControlCharactersOfANameInOneLine) {
  EXPECT_THAT(message_for(safetensors_text("{\"a\\n\\u001b[2J\":7}", 0)), says("tensor 'a??[2J':"));
}

TEST(HostileSafetensors, ShortensALongName) {
  const std::string message =
      message_for(safetensors_text("{\"" + std::string(1'000'000, 'n') + "\":7}", 0));
  EXPECT_THAT(message, says("nnn...'"));
  EXPECT_LT(message.size(), 400U);
}

TEST(HostileSafetensors, RefusesADuplicateTensor) {
  const std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(message_for(safetensors_text("{" + entry + "," + entry + "}", 4)),
              says("field 'a' is given twice"));
}

TEST(HostileSafetensors, RefusesAnEntryThatIsNotAnObject) {
  EXPECT_THAT(message_for_entry("7"), says("tensor 'a': its entry in the header is not an object"));
}

TEST(HostileSafetensors, NamesAMissingField) {
  EXPECT_THAT(message_for_entry(R"({"shape":[1],"data_offsets":[0,4]})"),
              says("tensor 'a': the header lacks its 'dtype'"));
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","data_offsets":[0,4]})"),
              says("lacks its 'shape'"));
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[1]})"),
              says("lacks its 'data_offsets'"));
}

TEST(HostileSafetensors, RefusesAnInvalidDtype) {
  EXPECT_THAT(message_for_entry(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})"),
              says("'dtype' is 32, not a name such as \"F32\""));
  for (const char* name :
       {"", "F\\n3", "f32", "a name of a type", "F1234567890123456789012345678901"})
    EXPECT_THAT(message_for_entry(
                    fmt::format(R"({{"dtype":"{}","shape":[1],"data_offsets":[0,4]}})", name)),
                says("not a name such as"));
}

TEST(HostileSafetensors, RefusesHalfAByte) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F4","shape":[3],"data_offsets":[0,1]})", 1),
              says("shape [3] of F4 needs 1.5 bytes, but 'data_offsets' gives 1"));
}

TEST(HostileSafetensors, RefusesMetadataThatIsNotText) {
  EXPECT_THAT(message_for(safetensors_text(R"({"__metadata__":"pt"})", 0)),
              says("'__metadata__' is not an object"));
  EXPECT_THAT(message_for(safetensors_text(R"({"__metadata__":{"size":3}})", 0)),
              says("'size' of '__metadata__' is 3, not a text"));
}

TEST(HostileSafetensors, RefusesANegativeSize) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[2,-3],"data_offsets":[0,24]})"),
              says("tensor 'a': 'shape' has -3"));
}

TEST(HostileSafetensors, RefusesASizeThatIsNotAnInteger) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})"),
              says("'shape' has 1.5"));
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":"1","data_offsets":[0,4]})"),
              says("'shape' is not a list"));
  EXPECT_THAT(
      message_for_entry(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})"),
      says("'shape' has 18446744073709551615"));
}

TEST(HostileSafetensors, RefusesAShapeWhoseProductOverflows) {
  EXPECT_THAT(
      message_for_entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
      says("tensor 'a': its shape [4294967296, 4294967296] has more than 2^63 bits"));
}

TEST(HostileSafetensors, AcceptsAnEmptyShapeWithHugeSizes) {
  EXPECT_EQ(message_for_entry(
                R"({"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]})", 0),
            "opened");
}

TEST(HostileSafetensors, RefusesOffsetsBeyondTheData) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[4],"data_offsets":[56,72]})"),
              says("tensor 'a': its bytes 56 to 72 are outside the file, which has 64 bytes"));
}

TEST(HostileSafetensors, RefusesOffsetsThatAreNotAnAscendingPair) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[8,4]})"),
              says("'data_offsets' 8 and 4 are not an ascending pair"));
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"),
              says("'data_offsets' -4 and 0"));
  EXPECT_THAT(message_for_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"),
              says("'data_offsets' is not a pair"));
}

TEST(HostileSafetensors, RefusesAByteCountThatDoesNotMatchTheShape) {
  EXPECT_THAT(message_for_entry(R"({"dtype":"F16","shape":[2,3],"data_offsets":[0,24]})"),
              says("tensor 'a': shape [2, 3] of F16 needs 12 bytes, but 'data_offsets' gives 24"));
}

TEST(HostileSafetensors, RefusesOverlappingTensors) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  EXPECT_THAT(message_for(safetensors_text(header, 12)), says("tensors 'a' and 'b' overlap"));
}

/// The reference reader takes none of these.
TEST(HostileSafetensors, RefusesBytesThatBelongToNoTensor) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string b = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]})";
  const std::string empty = R"("e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]})";
  EXPECT_THAT(message_for(safetensors_text("{" + a + "}", 5)),
              says("the bytes 2 to 5 of its data belong to no tensor"));
  EXPECT_THAT(message_for(safetensors_text("{" + b + "," + a + "}", 6)),
              says("the bytes 2 to 4 of its data belong to no tensor"));
  EXPECT_THAT(message_for(safetensors_text("{" + b + "}", 6)),
              says("the bytes 0 to 4 of its data belong to no tensor"));
  EXPECT_THAT(message_for(safetensors_text("{" + a + "," + empty + "}", 2)),
              says("tensors 'a' and 'e' overlap"));
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

}  // namespace
}  // namespace attnscope
