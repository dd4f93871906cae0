// SPDX-License-Identifier: Apache-2.0
//
// Files of torch.save: one that PyTorch 2.15 wrote, and hostile ones. torch_2_15.bin holds a
// Linear(3, 2) and tensors of other dtypes that share a storage.

#include "engine/checkpoint/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <cstring>

#include "engine/checkpoint/checkpoint.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::ScratchFolder;
using tests::TinyCheckpoint;
using tests::write_bytes;

const std::filesystem::path written_by_torch =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/checkpoint/torch_2_15.bin";

std::string little(std::uint64_t number, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>((number >> (8 * i)) & 0xFFU);
  return text;
}
std::string text(std::string_view words) {
  return "X" + little(words.size(), 4) + std::string(words);
}
std::string whole(std::int64_t number) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(number), 8);
}
std::string tuple(const std::vector<std::int64_t>& numbers) {
  std::string items = "(";
  for (const std::int64_t number : numbers) items += whole(number);
  return items + "t";
}
const std::string empty_dictionary = "ccollections\nOrderedDict\n)R";

struct Tensor {
  std::vector<std::int64_t> sizes{2};
  std::vector<std::int64_t> strides{1};
  std::int64_t offset = 0;
  std::int64_t count = 2;
  std::string key = "0";
  std::string type = "FloatStorage";
};
std::string storage(const Tensor& tensor) {
  return "(" + text("storage") + "ctorch\n" + tensor.type + "\n" + text(tensor.key) + text("cpu") +
         whole(tensor.count) + "tQ";
}
std::string pickled(const Tensor& tensor) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage(tensor) + whole(tensor.offset) +
         tuple(tensor.sizes) + tuple(tensor.strides) + "\x89" + empty_dictionary + "tR";
}
std::string pickle_of(const std::string& entries) {
  return "\x80\x02" + empty_dictionary + "(" + entries + "u.";
}

using Records = std::vector<std::pair<std::string, std::string>>;

void write_archive(const std::filesystem::path& path, const Records& records, int method = 0) {
  zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, bytes] : records) {
    zipOpenNewFileInZip64(archive, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, method,
                          method == 0 ? 0 : 6, 0);
    zipWriteInFileInZip(archive, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(archive);
  }
  zipClose(archive, nullptr);
}

std::string message_for_archive(const Records& records, int method = 0) {
  const ScratchFolder folder;
  write_archive(folder / "pytorch_model.bin", records, method);
  const auto file = TorchFile::open(folder / "pytorch_model.bin");
  return file ? "opened" : file.error().message;
}

std::string message_for_pickle(const std::string& pickle) {
  return message_for_archive({{"a/data.pkl", pickle}, {"a/data/0", std::string(8, '\0')}});
}

std::string message_for(const Tensor& tensor) {
  return message_for_pickle(pickle_of(text("x") + pickled(tensor)));
}

std::string message_for_bytes(std::string_view bytes) {
  const ScratchFolder folder;
  write_bytes(folder / "pytorch_model.bin", bytes);
  const auto file = TorchFile::open(folder / "pytorch_model.bin");
  return file ? "opened" : file.error().message;
}

TEST(TorchFile, ReadsAFileOfPyTorch) {
  const auto file = TorchFile::open(written_by_torch);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  std::map<std::string_view, TensorView> all;
  for (const NamedView& tensor : file->tensors()) all.emplace(tensor.name, tensor.view);
  ASSERT_EQ(all.size(), 11U);
  const auto floats = [&](std::string_view name) {
    const TensorView& view = all.at(name);
    std::vector<float> values(view.bytes.size() / sizeof(float));
    std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
  };
  EXPECT_THAT(floats("weight"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(all.at("weight").shape, ElementsAre(2, 3));
  EXPECT_THAT(floats("bias"), ElementsAre(0.5F, -1.5F));
  EXPECT_THAT(floats("row"), ElementsAre(3, 4, 5));
  EXPECT_THAT(floats("whole"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(floats("parameter"), ElementsAre(7));
  EXPECT_EQ(all.at("row").bytes.data(), all.at("whole").bytes.data() + 12);
  EXPECT_EQ(all.at("half").dtype, "F16");
  EXPECT_EQ(all.at("brain").dtype, "BF16");
  EXPECT_THAT(all.at("double").shape, ElementsAre());
  EXPECT_EQ(all.at("double").bytes.size(), 8U);
  EXPECT_EQ(all.at("ids").dtype, "I64");
  EXPECT_EQ(all.at("truth").dtype, "BOOL");
  EXPECT_EQ(all.at("transposed").dtype, "F32 but not contiguous");
  EXPECT_TRUE(all.at("transposed").bytes.empty());
}

TEST(TorchFile, RefusesEveryTruncation) {
  std::ifstream in(written_by_torch, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  ASSERT_EQ(message_for_bytes(good), "opened");
  for (std::size_t length = 0; length < good.size(); length += length < 3900 ? 7 : 1)
    EXPECT_NE(message_for_bytes(good.substr(0, length)), "opened") << "first " << length;
}

/// model.safetensors counts where both are there; a tensor that is needed must be contiguous.
TEST(TorchFile, ReadsWeightsOfACheckpoint) {
  const ScratchFolder folder;
  const TinyCheckpoint tiny = TinyCheckpoint::bert();
  std::string entries;
  Records records;
  for (const auto& [name, tensor] : tiny.tensors) {
    std::int64_t count = 1;
    std::vector<std::int64_t> strides(tensor.shape.size());
    for (std::size_t i = tensor.shape.size(); i-- > 0; count *= tensor.shape[i]) strides[i] = count;
    const std::string key = std::to_string(records.size());
    const bool turned = name == "bert.pooler.dense.weight";
    if (turned) std::swap(strides[0], strides[1]);
    entries += text(name) + pickled({tensor.shape, strides, 0, count, key});
    records.emplace_back("m/data/" + key, std::string(static_cast<std::size_t>(count) * 4, '\0'));
  }
  records.emplace_back("m/data.pkl", pickle_of(entries));
  write_bytes(folder / "config.json", tiny.config_json());
  write_archive(folder / "pytorch_model.bin", records);
  const auto turned = Checkpoint::open(folder.path());
  ASSERT_FALSE(turned.has_value());
  EXPECT_THAT(
      turned.error().message,
      AllOf(HasSubstr("convert to contiguous F32, F16, BF16 or F64: 'bert.pooler.dense.weight' F32 "
                      "but not contiguous"),
            HasSubstr("python3 -c \"import sys, torch, safetensors.torch as s;")));
  write_bytes(folder / "model.safetensors", tiny.weights());
  EXPECT_TRUE(Checkpoint::open(folder.path()).has_value());
}

TEST(TorchFile, RefusesOtherFormatsWithTheConversionCommand) {
  EXPECT_THAT(
      message_for_bytes(std::string("\x80\x02\x8a\x0a\x6c\xfc", 6)),
      AllOf(HasSubstr("pytorch_model.bin: it was written by PyTorch before 1.6"),
            HasSubstr("python3 -c \"import sys, torch, safetensors.torch as s;"),
            HasSubstr("weights_only=True"), HasSubstr("model.safetensors"), Not(HasSubstr("\n"))));
  EXPECT_THAT(message_for_bytes("version https://git-lfs.github.com/spec/v1"),
              HasSubstr("it is not a complete zip archive"));
  EXPECT_THAT(message_for_archive({{"m/data.pkl", ""}, {"m/constants.pkl", ""}}),
              HasSubstr("it is a TorchScript archive"));
  EXPECT_THAT(message_for_archive({{"m/weights", ""}}), HasSubstr("has no record 'data.pkl'"));
  EXPECT_THAT(message_for_archive({{"m/byteorder", "big"}, {"m/data.pkl", ""}}),
              HasSubstr("byte order 'big'"));
  EXPECT_THAT(message_for_archive({{"m/data.pkl", pickle_of("")}}, Z_DEFLATED),
              HasSubstr("'m/data.pkl' is compressed or encrypted"));
  EXPECT_THAT(message_for_archive({{"m/data.pkl", "a"}, {"m/data.pkl", "b"}}),
              HasSubstr("'m/data.pkl' is given twice"));
  EXPECT_THAT(message_for_archive({{"m/data.pkl", "a"}, {"n/data.pkl", "b"}}),
              HasSubstr("'n/data.pkl' is given twice or is in another folder"));
}

TEST(TorchFile, RefusesMoreThanWeights) {
  EXPECT_THAT(message_for_pickle(pickle_of(text("state_dict") + "}")),
              HasSubstr("its 'state_dict' is a dictionary, so it has more"));
  EXPECT_THAT(message_for_pickle(pickle_of(text("epoch") + "K\x03")),
              HasSubstr("its 'epoch' is not a tensor"));
  EXPECT_THAT(message_for_pickle("\x80\x02]."), HasSubstr("it has no dictionary of tensors"));
}

TEST(TorchFile, RefusesOtherNamesAndInstructions) {
  EXPECT_THAT(message_for_pickle("\x80\x02"
                                 "cos\nsystem\n(" +
                                 text("true") + "tR."),
              HasSubstr("its pickle names 'os.system', which is refused"));
  EXPECT_THAT(message_for_pickle("\x80\x02"
                                 "c__builtin__\neval\n."),
              HasSubstr("'__builtin__.eval'"));
  EXPECT_THAT(message_for_pickle("\x80\x02"
                                 "ctorch\n\x1b[2J" +
                                 std::string(9000, 'x') + "\n."),
              AllOf(HasSubstr("names 'torch.?[2Jxxx"), Not(HasSubstr("\x1b"))));
  for (const char instruction : std::string("\x93\x81io0122PSIFLVUBCT\x8c\x8d\x8e\x8f\x95"))
    EXPECT_THAT(
        message_for_pickle(std::string("\x80\x02(") + instruction + "\x01\x01\n."),
        HasSubstr(fmt::format("instruction {:#04x}",
                              static_cast<unsigned>(static_cast<unsigned char>(instruction)))));
  EXPECT_THAT(message_for_pickle("\x80\x04}."), HasSubstr("has the protocol 4"));
}

TEST(TorchFile, RefusesTensorsOutsideTheirRecords) {
  EXPECT_EQ(message_for(Tensor{}), "opened");
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  for (const Tensor& outside :
       {Tensor{.offset = 1}, Tensor{.offset = -1}, Tensor{.offset = INT64_MAX},
        Tensor{.sizes = {3}}, Tensor{.sizes = {-1}}, Tensor{.sizes = {huge}},
        Tensor{.strides = {2}}, Tensor{.strides = {-1}}, Tensor{.strides = {INT64_MAX}},
        Tensor{.sizes = {huge, huge}, .strides = {huge, 1}}, Tensor{.sizes = {2, 2}}}) {
    EXPECT_THAT(message_for(outside), HasSubstr("the tensor 'x' is outside its record '0'"));
  }
  for (const Tensor& other : {Tensor{.count = 3}, Tensor{.count = -1}, Tensor{.count = huge},
                              Tensor{.count = 1}, Tensor{.type = "DoubleStorage"}}) {
    EXPECT_THAT(message_for(other), HasSubstr("its record '0' has 8 bytes"));
  }
  EXPECT_THAT(message_for(Tensor{.key = "../data.pkl"}),
              HasSubstr("the record '../data.pkl' of the tensor 'x' is missing"));
  EXPECT_EQ(message_for(Tensor{.sizes = {0, huge}, .strides = {huge, 1}}), "opened");
  EXPECT_EQ(message_for(Tensor{.sizes = {1, 2}, .strides = {77, 1}}), "opened");
}

TEST(TorchFile, RefusesHugeCountsDepthAndCycles) {
  // A text, a number and a stack far beyond what is there.
  EXPECT_THAT(message_for_pickle("\x80\x02X\xff\xff\xff\xff"
                                 "a."),
              HasSubstr("is truncated or damaged"));
  EXPECT_THAT(message_for_pickle("\x80\x02\x8a\xff" + std::string(255, '\1') + "."),
              HasSubstr("a whole number of 255 bytes"));
  EXPECT_THAT(message_for_pickle("\x80\x02}r\xff\xff\xff\xff."), HasSubstr("stores more than"));
  EXPECT_THAT(message_for_pickle("\x80\x02h\x07."), HasSubstr("loads a value that it did not"));
  EXPECT_THAT(message_for_pickle("\x80\x02t."), HasSubstr("lacks a mark"));
  EXPECT_THAT(message_for_pickle("\x80\x02(((."), HasSubstr("from an empty stack"));
  EXPECT_THAT(message_for_pickle("\x80\x02)R."), HasSubstr("from an empty stack"));
  EXPECT_THAT(message_for_pickle("\x80\x02}}R."), HasSubstr("does not describe tensors"));
  // Tuples in tuples, and twice the one before a hundred times.
  std::string deep = "\x80\x02)", doubled = "\x80\x02)q\x01";
  for (int i = 0; i < 1'000'000; ++i) deep += '\x85';
  for (int i = 0; i < 100; ++i) doubled += "h\x01h\x01\x86q\x01";
  EXPECT_THAT(message_for_pickle(deep + "."), HasSubstr("it has no dictionary"));
  EXPECT_THAT(message_for_pickle(doubled + "."), HasSubstr("it has no dictionary"));
  // A dictionary in itself, more values than are taken, and a tensor of many dimensions.
  EXPECT_THAT(message_for_pickle("\x80\x02}q\x01" + text("x") + "h\x01s."),
              HasSubstr("its 'x' is a dictionary"));
  EXPECT_THAT(message_for_pickle("\x80\x02" + std::string(5'000'000, '}') + "."),
              HasSubstr("more than 4000000 values"));
  EXPECT_THAT(message_for(Tensor{.sizes = std::vector<std::int64_t>(65, 1)}),
              HasSubstr("a tensor of 65 dimensions"));
  std::string many = text("x") + "q\x01" + pickled({}) + "q\x02";
  for (int i = 0; i < 300'000; ++i) many += "h\x01h\x02";
  EXPECT_THAT(message_for_pickle(pickle_of(many)), HasSubstr("more than 250000 tensors"));
}

}  // namespace
}  // namespace attnscope
