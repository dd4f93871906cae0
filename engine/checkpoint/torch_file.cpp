// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/torch_file.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/sentences.h"
#include "base/spawn.h"
#include "engine/checkpoint/torch_pickle.h"

namespace attnscope {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// minizip reads the mapped bytes through these functions.
struct ByteReader {
  Bytes bytes;
  std::size_t at = 0;

  static ByteReader& of(voidpf stream) { return *static_cast<ByteReader*>(stream); }
  static voidpf open(voidpf reader, const void* /*name*/, int /*mode*/) { return reader; }
  static uLong read(voidpf /*reader*/, voidpf stream, void* to, uLong size) {
    ByteReader& self = of(stream);
    const std::size_t count = std::min<std::size_t>(size, self.bytes.size() - self.at);
    if (count > 0) std::memcpy(to, self.bytes.data() + self.at, count);
    self.at += count;
    return count;
  }
  static uLong write(voidpf, voidpf, const void*, uLong) { return 0; }
  static ZPOS64_T tell(voidpf /*reader*/, voidpf stream) { return of(stream).at; }
  static long seek(voidpf /*reader*/, voidpf stream, ZPOS64_T offset, int origin) {
    ByteReader& self = of(stream);
    const std::size_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? self.at
                             : origin == ZLIB_FILEFUNC_SEEK_END ? self.bytes.size()
                                                                : 0;
    if (offset > self.bytes.size() - from) return -1;
    self.at = from + offset;
    return 0;
  }
  static int close(voidpf, voidpf) { return 0; }
  static int error(voidpf, voidpf) { return 0; }
};

struct ArchiveCloser {
  void operator()(unzFile archive) const { unzClose(archive); }
};

using Records = std::unordered_map<std::string, Bytes>;

/// The bytes of the archive's current record, which must be stored uncompressed.
Result<Bytes> record_at(unzFile archive, Bytes file, const unz_file_info64& info,
                        const std::string& name) {
  constexpr uLong encrypted = 1;
  if (info.compression_method != 0 || (info.flag & encrypted) != 0) {
    return fail(
        "its record '{}' is compressed or encrypted, as in a TorchScript archive and not in a file "
        "of torch.save",
        in_a_sentence(name));
  }
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(archive, &method, &level, /*raw=*/1) != UNZ_OK)
    return fail("its record '{}' cannot be found, so it is damaged", in_a_sentence(name));
  const ZPOS64_T begin = unzGetCurrentFileZStreamPos64(archive);
  unzCloseCurrentFile(archive);
  if (begin > file.size() || info.uncompressed_size > file.size() - begin)
    return fail("its record '{}' lies outside the file, so it is damaged", in_a_sentence(name));
  return file.subspan(begin, info.uncompressed_size);
}

/// Records by name, without their common folder.
Result<Records> records_of(Bytes file) {
  ByteReader reader{file};
  zlib_filefunc64_def functions{ByteReader::open,  ByteReader::read, ByteReader::write,
                                ByteReader::tell,  ByteReader::seek, ByteReader::close,
                                ByteReader::error, &reader};
  const std::unique_ptr<void, ArchiveCloser> archive(unzOpen2_64("", &functions));
  // minizip accepts a truncated file if its list of records is complete.
  constexpr std::size_t end_bytes = 22;
  const bool has_end =
      file.size() > end_bytes && text_of(file.last(end_bytes)).starts_with("PK\5\6");
  if (!archive || !has_end) return fail("it is no whole zip archive, as torch.save writes them");
  Records records;
  std::string folder;
  for (int found = unzGoToFirstFile(archive.get()); found != UNZ_END_OF_LIST_OF_FILE;
       found = unzGoToNextFile(archive.get())) {
    std::array<char, 512> text{};
    unz_file_info64 info{};
    if (found != UNZ_OK ||
        unzGetCurrentFileInfo64(archive.get(), &info, text.data(), text.size(), nullptr, 0, nullptr,
                                0) != UNZ_OK ||
        info.size_filename >= text.size()) {
      return fail("its list of records is damaged");
    }
    const std::string name(text.data(), info.size_filename);
    if (records.empty()) folder = name.substr(0, name.find('/') + 1);
    const Result<Bytes> record = record_at(archive.get(), file, info, name);
    if (!record) return tl::unexpected(record.error());
    if (!name.starts_with(folder) || !records.emplace(name.substr(folder.size()), *record).second)
      return fail("its record '{}' is given twice or lies elsewhere", in_a_sentence(name));
  }
  return records;
}

}  // namespace

std::string torch_conversion(const std::filesystem::path& file) {
  constexpr std::size_t longest_command = 900;
  const std::string made = file.parent_path() / "model.safetensors";
  return in_a_sentence(
      fmt::format("python3 -c \"import sys, torch, safetensors.torch as s; t = "
                  "torch.load(sys.argv[1], 'cpu', weights_only=True); t = t.get('state_dict', t); "
                  "s.save_file({{k: v.clone().contiguous() for k, v in t.items() if "
                  "torch.is_tensor(v)}}, sys.argv[2], {{'format': 'pt'}})\" {} {}",
                  shell_word(file.string()), shell_word(made)),
      longest_command);
}

Result<TorchFile> TorchFile::open(const std::filesystem::path& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped) return tl::unexpected(mapped.error());
  TorchFile file(std::move(*mapped));
  if (const Status read = file.read(); !read) {
    constexpr std::size_t longest_name = 300;
    const std::string& name = file.file_.name();
    return fail("{}: {}; copy it anew if it is damaged, else convert it in Python: {}",
                in_a_sentence(name, longest_name), read.error().message, torch_conversion(name));
  }
  return file;
}

Status TorchFile::read() {
  const std::string_view text = text_of(file_.bytes());
  if (text.starts_with("\x80\x02\x8a\x0a"))
    return fail("it was written by PyTorch before 1.6, in a format that is not read");
  const Result<Records> records = records_of(file_.bytes());
  if (!records) return tl::unexpected(records.error());
  if (records->contains("constants.pkl"))
    return fail("it is a TorchScript archive, a program and not weights alone");
  const auto pickle = records->find("data.pkl");
  if (pickle == records->end()) return fail("it has no record 'data.pkl', as torch.save writes");
  const auto order = records->find("byteorder");
  if (order != records->end() && text_of(order->second) != "little")
    return fail("its numbers are in the byte order '{}'", in_a_sentence(text_of(order->second)));
  const auto described = read_torch_pickle(pickle->second);
  if (!described) return tl::unexpected(described.error());
  for (const PickledTensor& tensor : *described) {
    const auto record = records->find(fmt::format("data/{}", tensor.key));
    if (record == records->end()) {
      return fail("the record '{}' of the tensor '{}' is missing", in_a_sentence(tensor.key),
                  in_a_sentence(tensor.name));
    }
    Result<TensorView> view = view_in(record->second, tensor);
    if (!view) return tl::unexpected(view.error());
    tensors_.push_back({tensor.name, std::move(*view)});
  }
  return {};
}

}  // namespace attnscope
