// SPDX-License-Identifier: Apache-2.0
#include "engine/text/beir_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "base/gzip.h"
#include "base/sentences.h"
#include "base/written_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t longest_beir_path = 400;

/// The file, or its gzip-compressed form.
std::optional<fs::path> plain_or_packed(const fs::path& file) {
  std::error_code unknown;
  if (fs::exists(file, unknown)) return file;
  const fs::path packed = file.string() + ".gz";
  if (fs::exists(packed, unknown)) return packed;
  return std::nullopt;
}

}  // namespace

Result<BeirFolder> BeirFolder::open(const fs::path& folder) {
  const std::string name = in_a_sentence(folder.string(), longest_beir_path);
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) {
    return fail("--beir {}: is no folder; name one with corpus.jsonl, queries.jsonl and qrels/",
                name);
  }
  const auto corpus = plain_or_packed(folder / "corpus.jsonl");
  const auto queries = plain_or_packed(folder / "queries.jsonl");
  if (!corpus || !queries) {
    return fail("--beir {}: has no {}.jsonl, plain or with .gz; is it a data set of BEIR's?", name,
                !corpus ? "corpus" : "queries");
  }
  note_read(*corpus);
  note_read(*queries);
  return BeirFolder{.folder = folder, .corpus = *corpus, .queries = *queries};
}

Result<fs::path> BeirFolder::qrels(const std::string& split) const {
  const fs::path inside = folder / "qrels";
  const bool is_name = !split.empty() && split.find('/') == std::string::npos;
  if (is_name) {
    if (auto found = plain_or_packed(inside / (split + ".tsv"))) {
      note_read(*found);
      return std::move(*found);
    }
  }
  std::vector<std::string> splits;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(inside, unknown)) {
    const fs::path plain = without_gzip_ending(entry.path());
    if (plain.extension() == ".tsv") splits.push_back(in_a_sentence(plain.stem().string()));
  }
  std::ranges::sort(splits);
  return fail("--beir {}: has no judgements qrels/{}.tsv; {}",
              in_a_sentence(folder.string(), longest_beir_path), in_a_sentence(split),
              splits.empty() ? std::string("its folder qrels is missing or empty")
                             : fmt::format("--split is one of: {}", fmt::join(splits, ", ")));
}

}  // namespace attnscope
