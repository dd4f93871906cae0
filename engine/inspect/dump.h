#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A dump: the queries, keys and values of a cross-encoder for one query with its document, as
// written by scripts/attnscope_dump.py (docs/attention-dumps.md). Opening reads only the header; a
// head's vectors are read on request.
//
//   Result<Dump> dump = Dump::open("monobert.safetensors");
//   Result<HeadVectors> head = dump->head(/*layer=*/0, /*head=*/3);

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/open_file.h"
#include "base/result.h"
#include "engine/inspect/head_weights.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

/// The validated metadata of a dump.
struct DumpInfo {
  std::string model;
  std::string note;                        // description shown with the dump; may be empty
  SequenceLayout layout;                   // of one item
  std::vector<std::string> tokens;         // texts of the tokens
  std::vector<TokenGroup> groups;          // by token
  double scale = 1;                        // factor of the scores before the softmax
  std::vector<std::int64_t> layers;        // the model's numbers of the dumped layers, ascending
  std::vector<AttentionPattern> patterns;  // that the model ran with, by layer
  std::vector<std::optional<Window>> windows;  // likewise
  std::int32_t heads = 0;
  std::int64_t head_dim = 0;
  /// Rows that a model projects separately (Longformer's global tokens): their scores come from
  /// `q_global` and `k_global`.
  std::vector<std::int64_t> global_rows;
};

/// Bytes of a file, or of memory, read on demand. A file is read and not mapped: if another program
/// truncates it while it is open, the result is an error, whereas a mapping would end the process.
class ByteSource {
 public:
  [[nodiscard]] static Result<ByteSource> open(const std::filesystem::path& path);
  /// `name` denotes the bytes in messages.
  [[nodiscard]] static ByteSource of(std::vector<std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on; thread-safe.
  [[nodiscard]] Status read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string name_;
  std::int64_t size_ = 0;
  std::shared_ptr<const OpenFile> file_;  // null: the bytes are in memory
  std::vector<std::byte> memory_;
};

class Dump {
 public:
  /// The maximum number of tokens, so that a row of all tokens fits a page.
  static constexpr std::int64_t most_tokens = 65'536;

  // Errors name the file, the problem and how to fix it.
  [[nodiscard]] static Result<Dump> open(const std::filesystem::path& path);
  [[nodiscard]] static Result<Dump> read(ByteSource source);

  [[nodiscard]] const std::string& name() const { return source_.name(); }
  [[nodiscard]] const DumpInfo& info() const { return info_; }
  /// `layer` is an index into info().layers. Errors: values that are not finite, a file that
  /// changed.
  [[nodiscard]] Result<HeadVectors> head(std::size_t layer, std::int32_t head) const;

 private:
  explicit Dump(ByteSource source) : source_(std::move(source)) {}
  [[nodiscard]] Status check_tensors();
  [[nodiscard]] Status check_tensor(const std::string& name);
  [[nodiscard]] Result<std::vector<float>> read_head(const std::string& name,
                                                     std::int32_t head) const;

  ByteSource source_;
  std::int64_t data_begin_ = 0;
  std::map<std::string, HeaderEntry> tensors_;
  DumpInfo info_;
};

}  // namespace attnscope
