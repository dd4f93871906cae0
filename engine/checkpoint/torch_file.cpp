// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/torch_file.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/sentences.h"
#include "base/spawn.h"

namespace attnscope {
namespace {

/// An error in a pickle, caught by the reading function.
struct PickleProblem {
  std::string words;
};

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw PickleProblem{fmt::format(text, std::forward<Args>(args)...)};
}

constexpr std::string_view other_layout = "its pickle does not describe tensors as torch.save does";

struct StorageType {
  std::string_view name, dtype;
  std::int64_t bytes;
};
constexpr std::array<StorageType, 10> storage_types{{{"torch.FloatStorage", "F32", 4},
                                                     {"torch.HalfStorage", "F16", 2},
                                                     {"torch.BFloat16Storage", "BF16", 2},
                                                     {"torch.DoubleStorage", "F64", 8},
                                                     {"torch.LongStorage", "I64", 8},
                                                     {"torch.IntStorage", "I32", 4},
                                                     {"torch.ShortStorage", "I16", 2},
                                                     {"torch.CharStorage", "I8", 1},
                                                     {"torch.ByteStorage", "U8", 1},
                                                     {"torch.BoolStorage", "BOOL", 1}}};
constexpr std::string_view dictionary_name = "collections.OrderedDict";
constexpr std::string_view tensor_name = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view parameter_name = "torch._utils._rebuild_parameter";
constexpr std::string_view device_name = "torch.device";

/// The only allowed names of a pickle; none of them is executed, only the handling here.
std::string_view known_name(std::string_view name) {
  for (const std::string_view known : {dictionary_name, tensor_name, parameter_name, device_name})
    if (name == known) return known;
  const auto type = std::ranges::find(storage_types, name, &StorageType::name);
  if (type != storage_types.end()) return type->name;
  refuse("its pickle names '{}', which is refused, because weights do not need it",
         in_a_sentence(name));
}

enum class Kind : std::uint8_t { mark, other, whole, text, tuple, map, name, storage, tensor };

/// Values refer to each other by number, so that neither depth nor cycles are a problem.
using ValueNumber = std::uint32_t;

struct Value {
  Kind kind = Kind::other;
  std::int64_t whole = 0;
  std::string_view text{};
  std::vector<ValueNumber> items{};  // dictionary: key, value, key, value
};

constexpr std::size_t most_values = 4'000'000;  // about twenty per tensor

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : left_(bytes) {}

  /// Returns the final value.
  const Value& run() {
    while (true) {
      const std::uint64_t opcode = unsigned_of(1);
      if (opcode == '.') return at(pop());
      follow(opcode);
    }
  }
  [[nodiscard]] const Value& at(ValueNumber number) const { return values_[number]; }
  [[nodiscard]] const Value& expect(ValueNumber number, Kind kind) const {
    if (at(number).kind != kind) refuse("{}", other_layout);
    return at(number);
  }
  [[nodiscard]] std::span<const ValueNumber> tuple(ValueNumber number, std::size_t least) const {
    const std::span<const ValueNumber> items = expect(number, Kind::tuple).items;
    if (items.size() < least) refuse("{}", other_layout);
    return items;
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > left_.size()) refuse("its pickle is truncated or damaged");
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view line() {
    const std::string_view text = take(std::min(left_.find('\n'), left_.size()));
    take(1);
    return text;
  }
  /// Little-endian.
  std::uint64_t unsigned_of(std::size_t bytes) {
    std::uint64_t number = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      number |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return number;
  }
  std::int64_t signed_of(std::size_t bytes) {
    if (bytes == 0) return 0;
    if (bytes > sizeof(std::int64_t)) refuse("its pickle has a whole number of {} bytes", bytes);
    const std::size_t unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(unsigned_of(bytes) << unused) >> unused;
  }

  void push(Value value) {
    if (values_.size() == most_values) refuse("its pickle has more than {} values", most_values);
    stack_.push_back(static_cast<ValueNumber>(values_.size()));
    values_.push_back(std::move(value));
  }
  void push_whole(std::int64_t number) { push({.kind = Kind::whole, .whole = number}); }
  void push_tuple(std::vector<ValueNumber> items) {
    push({.kind = Kind::tuple, .items = std::move(items)});
  }
  [[nodiscard]] ValueNumber top() const {
    if (stack_.empty() || at(stack_.back()).kind == Kind::mark)
      refuse("its pickle takes a value from an empty stack, so it is damaged");
    return stack_.back();
  }
  ValueNumber pop() {
    const ValueNumber number = top();
    stack_.pop_back();
    return number;
  }
  std::vector<ValueNumber> pop(std::size_t count) {
    std::vector<ValueNumber> items(count);
    for (; count > 0; --count) items[count - 1] = pop();
    return items;
  }
  std::vector<ValueNumber> pop_to_mark() {
    std::size_t first = stack_.size();
    while (first > 0 && at(stack_[first - 1]).kind != Kind::mark) --first;
    if (first == 0) refuse("its pickle lacks a mark, so it is damaged");
    std::vector<ValueNumber> items(stack_.begin() + static_cast<std::ptrdiff_t>(first),
                                   stack_.end());
    stack_.resize(first - 1);
    return items;
  }

  void set(const std::vector<ValueNumber>& items) {
    if (at(top()).kind != Kind::map) refuse("{}", other_layout);
    if (items.size() % 2 != 0) refuse("its pickle has a key without a value, so it is damaged");
    std::vector<ValueNumber>& all = values_[top()].items;
    all.insert(all.end(), items.begin(), items.end());
  }
  void keep(std::uint64_t place) {
    if (place >= most_values) refuse("its pickle stores more than {} values", most_values);
    if (place >= memo_.size()) memo_.resize(place + 1, most_values);
    memo_[place] = top();
  }
  void recall(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == most_values)
      refuse("its pickle loads a value that it did not store");
    stack_.push_back(memo_[place]);
  }
  void name() {
    const std::string_view module = line(), name = line();
    push({.kind = Kind::name, .text = known_name(fmt::format("{}.{}", module, name))});
  }
  void call() {
    const std::span<const ValueNumber> arguments = tuple(pop(), 0);
    const std::string_view name = expect(pop(), Kind::name).text;
    if (name == dictionary_name && arguments.empty()) {
      push({.kind = Kind::map});
    } else if (name == tensor_name && arguments.size() >= 4) {
      push({.kind = Kind::tensor, .items = {arguments.begin(), arguments.begin() + 4}});
    } else if (name == parameter_name && !arguments.empty()) {
      stack_.push_back(arguments.front());
    } else if (name == device_name) {
      push({});
    } else {
      refuse("{}", other_layout);
    }
  }
  void storage() {
    const std::span<const ValueNumber> parts = tuple(pop(), 5);
    if (expect(parts[0], Kind::text).text != "storage") refuse("{}", other_layout);
    push({.kind = Kind::storage, .items = {parts.begin(), parts.begin() + 5}});
  }
  void follow(std::uint64_t opcode);

  std::string_view left_;
  std::vector<Value> values_;
  std::vector<ValueNumber> stack_;
  std::vector<ValueNumber> memo_;
};

/// Executes an instruction, given its opcode (CPython's Lib/pickle.py).
void Unpickler::follow(std::uint64_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const std::uint64_t version = unsigned_of(1); version != 2)
        refuse("its pickle has the protocol {}, but torch.save writes 2", version);
      return;
    case 'c':  // GLOBAL
      return name();
    case '(':  // MARK
      return push({.kind = Kind::mark});
    case '}':  // EMPTY_DICT
      return push({.kind = Kind::map});
    case ')':  // EMPTY_TUPLE
      return push_tuple({});
    case 't':  // TUPLE
      return push_tuple(pop_to_mark());
    case 0x85:  // TUPLE1
      return push_tuple(pop(1));
    case 0x86:  // TUPLE2
      return push_tuple(pop(2));
    case 0x87:  // TUPLE3
      return push_tuple(pop(3));
    case 'R':  // REDUCE
      return call();
    case 's':  // SETITEM
      return set(pop(2));
    case 'u':  // SETITEMS
      return set(pop_to_mark());
    case 'b':  // BUILD: attributes of an object are not part of the weights
    case 'a':  // APPEND: neither are elements of a list
      pop();
      return static_cast<void>(top());
    case 'e':  // APPENDS
      pop_to_mark();
      return static_cast<void>(top());
    case 'q':  // BINPUT
      return keep(unsigned_of(1));
    case 'r':  // LONG_BINPUT
      return keep(unsigned_of(4));
    case 'h':  // BINGET
      return recall(unsigned_of(1));
    case 'j':  // LONG_BINGET
      return recall(unsigned_of(4));
    case 'X':  // BINUNICODE
      return push({.kind = Kind::text, .text = take(unsigned_of(4))});
    case 'J':  // BININT
      return push_whole(signed_of(4));
    case 'K':  // BININT1
      return push_whole(static_cast<std::int64_t>(unsigned_of(1)));
    case 'M':  // BININT2
      return push_whole(static_cast<std::int64_t>(unsigned_of(2)));
    case 0x8a:  // LONG1
      return push_whole(signed_of(unsigned_of(1)));
    case 'G':  // BINFLOAT
      take(8);
      return push({});
    case ']':   // EMPTY_LIST
    case 'N':   // NONE
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push({});
    case 'Q':  // BINPERSID
      return storage();
    default:
      refuse("its pickle has the instruction {:#04x}, which weights do not need", opcode);
  }
}

std::vector<std::int64_t> wholes(const Unpickler& pickle, ValueNumber tuple) {
  constexpr std::size_t most = 64;  // PyTorch's own limit
  const std::span<const ValueNumber> items = pickle.tuple(tuple, 0);
  if (items.size() > most) refuse("its pickle has a tensor of {} dimensions", items.size());
  std::vector<std::int64_t> numbers;
  for (const ValueNumber item : items) numbers.push_back(pickle.expect(item, Kind::whole).whole);
  return numbers;
}

PickledTensor tensor_of(const Unpickler& pickle, std::string_view name, const Value& value) {
  if (value.kind != Kind::tensor) {
    refuse("its '{}' is {}, so it has more than a model's weights", in_a_sentence(name),
           value.kind == Kind::map ? "a dictionary" : "not a tensor");
  }
  const Value& storage = pickle.expect(value.items[0], Kind::storage);
  const std::string_view type = pickle.expect(storage.items[1], Kind::name).text;
  const auto known = std::ranges::find(storage_types, type, &StorageType::name);
  if (known == storage_types.end()) refuse("{}", other_layout);
  return {.name = name,
          .key = pickle.expect(storage.items[2], Kind::text).text,
          .dtype = known->dtype,
          .element_bytes = known->bytes,
          .count = pickle.expect(storage.items[4], Kind::whole).whole,
          .offset = pickle.expect(value.items[1], Kind::whole).whole,
          .sizes = wholes(pickle, value.items[2]),
          .strides = wholes(pickle, value.items[3])};
}

/// Elements from a tensor's first to one past its last, 0 for an empty one; nothing if a size or a
/// stride is negative or the sum overflows.
std::optional<std::int64_t> extent_of(const PickledTensor& tensor) {
  std::int64_t extent = 1;
  if (tensor.sizes.size() != tensor.strides.size()) return std::nullopt;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t step = 0;
    if (tensor.sizes[i] < 0 || tensor.strides[i] < 0) return std::nullopt;
    if (tensor.sizes[i] == 0) continue;
    if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &step) ||
        __builtin_add_overflow(extent, step, &extent)) {
      return std::nullopt;
    }
  }
  return std::ranges::find(tensor.sizes, 0) == tensor.sizes.end() ? extent : 0;
}

/// Whether the elements are contiguous.
bool is_contiguous(const PickledTensor& tensor) {
  std::int64_t next = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] == 1) continue;
    if (tensor.strides[i] != next || __builtin_mul_overflow(next, tensor.sizes[i], &next))
      return false;
  }
  return true;
}

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
    return fail("its record '{}' is compressed or encrypted, which torch.save never does",
                in_a_sentence(name));
  }
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(archive, &method, &level, /*raw=*/1) != UNZ_OK)
    return fail("its record '{}' cannot be found, so it is damaged", in_a_sentence(name));
  const ZPOS64_T begin = unzGetCurrentFileZStreamPos64(archive);
  unzCloseCurrentFile(archive);
  if (begin > file.size() || info.uncompressed_size > file.size() - begin)
    return fail("its record '{}' is outside the file, so it is damaged", in_a_sentence(name));
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
  if (!archive || !has_end)
    return fail("it is not a complete zip archive as written by torch.save");
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
      return fail("its record '{}' is given twice or is in another folder", in_a_sentence(name));
  }
  return records;
}

}  // namespace

Result<std::vector<PickledTensor>> read_torch_pickle(std::span<const std::byte> pickle) {
  try {
    Unpickler unpickler({reinterpret_cast<const char*>(pickle.data()), pickle.size()});
    const Value& all = unpickler.run();
    if (all.kind != Kind::map) refuse("it has no dictionary of tensors");
    constexpr std::size_t most_tensors = most_values / 16;
    if (all.items.size() / 2 > most_tensors) refuse("it has more than {} tensors", most_tensors);
    std::vector<PickledTensor> tensors;
    for (std::size_t i = 0; i < all.items.size(); i += 2) {
      const std::string_view name = unpickler.expect(all.items[i], Kind::text).text;
      tensors.push_back(tensor_of(unpickler, name, unpickler.at(all.items[i + 1])));
    }
    return tensors;
  } catch (const PickleProblem& problem) {
    return fail("{}", problem.words);
  }
}

Result<TensorView> view_in(std::span<const std::byte> record, const PickledTensor& tensor) {
  std::int64_t bytes = 0, end = 0;
  if (tensor.count < 0 || __builtin_mul_overflow(tensor.count, tensor.element_bytes, &bytes) ||
      static_cast<std::uint64_t>(bytes) != record.size()) {
    return fail("its record '{}' has {} bytes, but the pickle states {} elements of {} bytes",
                in_a_sentence(tensor.key), record.size(), tensor.count, tensor.element_bytes);
  }
  const std::optional<std::int64_t> extent = extent_of(tensor);
  if (!extent || tensor.offset < 0 || __builtin_add_overflow(tensor.offset, *extent, &end) ||
      end > tensor.count) {
    return fail("the tensor '{}' is outside its record '{}', so it is damaged",
                in_a_sentence(tensor.name), in_a_sentence(tensor.key));
  }
  if (*extent > 0 && !is_contiguous(tensor)) {
    return TensorView{fmt::format("{} but not contiguous", tensor.dtype), tensor.sizes, {}};
  }
  return TensorView{std::string(tensor.dtype), tensor.sizes,
                    record.subspan(static_cast<std::size_t>(tensor.offset * tensor.element_bytes),
                                   static_cast<std::size_t>(*extent * tensor.element_bytes))};
}

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
    return fail("{}: {}; copy it again if it is damaged, otherwise convert it in Python: {}",
                in_a_sentence(name, longest_name), read.error().message, torch_conversion(name));
  }
  return file;
}

Status TorchFile::read() {
  const std::string_view text = text_of(file_.bytes());
  if (text.starts_with("\x80\x02\x8a\x0a"))
    return fail("it was written by PyTorch before 1.6, in a format that is not supported");
  const Result<Records> records = records_of(file_.bytes());
  if (!records) return tl::unexpected(records.error());
  if (records->contains("constants.pkl"))
    return fail("it is a TorchScript archive, a program rather than only weights");
  const auto pickle = records->find("data.pkl");
  if (pickle == records->end()) return fail("it has no record 'data.pkl', which torch.save writes");
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
