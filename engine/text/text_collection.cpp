// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_collection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/gzip.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"

namespace attnscope {

/// The header of an index file. If it differs in any byte, the index is rebuilt.
struct TextCollection::Header {
  std::array<char, 16> mark{};
  std::int64_t size = 0, seconds = 0, nanoseconds = 0, device = 0,
               number = 0;  // inode of the text file
  std::int64_t parts = 0, format = 0;
  std::int64_t count = 0;
  std::uint64_t fingerprint = 0;  // of the entries
};

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

constexpr std::string_view mark = "attnscope ids 3\n";

/// FNV-1a with an additional mixing step, so that hashes of similar ids differ widely.
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t start = 0xcbf29ce484222325U, prime = 0x100000001b3U;
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  constexpr std::uint64_t mixer = 0xff51afd7ed558ccdU;
  constexpr unsigned shift = 33;
  hash = (hash ^ (hash >> shift)) * mixer;
  return hash ^ (hash >> shift);
}

/// The folder of kept indexes; empty if there is none.
std::filesystem::path cache_folder() {
  std::filesystem::path base;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    base = cache;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    base = std::filesystem::path(home) / ".cache";
  } else {
    return {};
  }
  base /= "attnscope";
  std::error_code error;
  std::filesystem::create_directories(base, error);
  return error ? std::filesystem::path() : base;
}

const std::string& id_in(const TextPair& text, PairParts parts) {
  return parts == PairParts::query ? text.query_id : text.document_id;
}

}  // namespace

Result<BeirFolder> BeirFolder::open(const fs::path& folder) {
  const std::string name = in_a_sentence(folder.string(), longest_beir_path);
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) {
    return fail(
        "--beir {}: is not a folder; name a folder with corpus.jsonl, queries.jsonl and qrels/",
        name);
  }
  const auto corpus = plain_or_packed(folder / "corpus.jsonl");
  const auto queries = plain_or_packed(folder / "queries.jsonl");
  if (!corpus || !queries) {
    return fail("--beir {0}: has no {1}.jsonl or {1}.jsonl.gz; is it a data set in BEIR's layout?",
                name, !corpus ? "corpus" : "queries");
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

TextCollection::TextCollection(TextFile file, PairParts parts)
    : file_(std::move(file)), parts_(parts) {}

TextCollection::TextCollection(TextCollection&& other) noexcept
    : file_(std::move(other.file_)),
      parts_(other.parts_),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      entries_(std::exchange(other.entries_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      was_kept_(other.was_kept_),
      source_(std::move(other.source_)),
      index_(std::move(other.index_)),
      on_progress_(std::move(other.on_progress_)),
      kept_from_(other.kept_from_) {}

TextCollection::~TextCollection() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

Result<TextCollection> TextCollection::open(const std::filesystem::path& file, PairParts parts,
                                            const std::function<bool(double)>& on_progress,
                                            std::int64_t kept_from) {
  struct stat info {};
  if (file == "-" || (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) {
    return fail(
        "{}: is not a regular file, but its texts are read in random order; write it to a regular "
        "file",
        in_a_sentence(file.string()));
  }
  Result<TextFile> opened = TextFile::open_to_seek(file, on_progress);
  if (!opened) return tl::unexpected(opened.error());
  if (Status named = check_columns(*opened, parts, /*needs_id=*/true); !named)
    return tl::unexpected(named.error());
  TextCollection collection(std::move(*opened), parts);
  // The index is kept for the file that was read, not for a file that has replaced it meanwhile.
  const auto check_unchanged = [&]() -> Status {
    struct stat now {};
    if (::stat(file.c_str(), &now) == 0 && now.st_dev == info.st_dev && now.st_ino == info.st_ino &&
        now.st_size == info.st_size && now.st_mtim.tv_sec == info.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == info.st_mtim.tv_nsec) {
      return {};
    }
    return fail("{}: was changed while it was read; repeat when it is complete", collection.name());
  };
  if (Status unchanged = check_unchanged(); !unchanged) return tl::unexpected(unchanged.error());
  Header header{.size = info.st_size,
                .seconds = info.st_mtim.tv_sec,
                .nanoseconds = info.st_mtim.tv_nsec,
                .device = static_cast<std::int64_t>(info.st_dev),
                .number = static_cast<std::int64_t>(info.st_ino),
                .parts = static_cast<std::int64_t>(parts),
                .format = static_cast<std::int64_t>(collection.file_.format())};
  std::ranges::copy(mark, header.mark.begin());
  const std::filesystem::path folder =
      info.st_size >= kept_from ? cache_folder() : std::filesystem::path();
  std::error_code error;
  const std::filesystem::path index =
      folder / fmt::format("{:016x}-{}.ids",
                           hash_of(std::filesystem::weakly_canonical(file, error).string()),
                           static_cast<int>(parts));
  if (!folder.empty() && collection.map_kept(index, header)) {
    collection.source_ = file;
    collection.index_ = index;
    collection.on_progress_ = on_progress;
    collection.kept_from_ = kept_from;
    // The first line determines the number of columns.
    if (const auto first = collection.text_at(0); !first) return tl::unexpected(first.error());
    return collection;
  }
  if (Status built = collection.build(folder, on_progress); !built)
    return tl::unexpected(built.error());
  if (Status unchanged = check_unchanged(); !unchanged) return tl::unexpected(unchanged.error());
  header.count = collection.size();
  header.fingerprint = collection.fingerprint_of_entries();
  if (!folder.empty()) collection.keep(index, header);
  return collection;
}

bool TextCollection::map(int descriptor, std::size_t skipped, std::size_t count, bool writable) {
  const std::size_t bytes = skipped + count * sizeof(Entry);
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return false;
  mapping_ = mapped;
  mapped_bytes_ = bytes;
  entries_ = reinterpret_cast<const Entry*>(static_cast<const std::byte*>(mapped) + skipped);
  count_ = count;
  return true;
}

std::uint64_t TextCollection::fingerprint_of_entries() const {
  return hash_of({reinterpret_cast<const char*>(entries_), count_ * sizeof(Entry)});
}

bool TextCollection::map_kept(const std::filesystem::path& index, const Header& header) {
  Descriptor file;
  Header kept;
  struct stat info {};
  if (!file.take(::open(index.c_str(), O_RDONLY | O_CLOEXEC)) || ::fstat(file.get(), &info) != 0 ||
      ::pread(file.get(), &kept, sizeof(kept), 0) != static_cast<ssize_t>(sizeof(kept))) {
    return false;
  }
  const std::int64_t count = std::exchange(kept.count, 0);
  const std::uint64_t fingerprint = std::exchange(kept.fingerprint, 0);
  if (std::memcmp(&kept, &header, sizeof(kept)) != 0 || count < 1 ||
      info.st_size != static_cast<std::int64_t>(sizeof(kept)) +
                          count * static_cast<std::int64_t>(sizeof(Entry))) {
    return false;
  }
  if (!map(file.get(), sizeof(Header), static_cast<std::size_t>(count), false)) return false;
  was_kept_ = fingerprint_of_entries() == fingerprint;
  if (!was_kept_) ::munmap(std::exchange(mapping_, nullptr), mapped_bytes_);
  return was_kept_;
}

Status TextCollection::build(const std::filesystem::path& folder,
                             const std::function<bool(double)>& on_progress) {
  constexpr std::size_t entries_at_a_time = 1U << 16U;
  std::error_code none;
  Descriptor index;
  const auto not_made = [&] {
    return fail("{}: its index could not be written ({}); free disk space in {}", name(),
                system_reason(errno),
                folder.empty() ? "the folder for temporary files" : folder.string());
  };
  if (!index.take(
          unnamed_file(folder.empty() ? std::filesystem::temp_directory_path(none) : folder)))
    return not_made();
  std::vector<Entry> entries;
  std::size_t count = 0;
  std::int64_t empty_line = 0;
  const auto write_out = [&] {
    count += entries.size();
    const bool written = write_all(index.get(), std::as_bytes(std::span(entries)));
    entries.clear();
    return written;
  };
  while (true) {
    const auto line = file_.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) break;
    if ((*line)->text.empty()) {
      if (empty_line == 0) empty_line = (*line)->number;
      continue;
    }
    const Result<TextPair> text =
        parse_pair((*line)->text, file_.format(), file_.columns(), parts_);
    if (!text) return fail("{}: {}", file_.place((*line)->number), text.error().message);
    const std::string& id = id_in(*text, parts_);
    if (id.empty()) return fail("{}: has no id", file_.place((*line)->number));
    if (empty_line > 0) {
      return fail("{}: is empty, but other lines follow", file_.place(empty_line));
    }
    entries.push_back({hash_of(id), (*line)->begin});
    if (entries.size() < entries_at_a_time) continue;
    if (!write_out()) return not_made();
    if (on_progress && !on_progress(file_.progress().value_or(0))) return fail("interrupted");
  }
  if (!write_out()) return not_made();
  if (count == 0) return fail("{}: has no texts", name());
  if (!map(index.get(), 0, count, true)) return not_made();
  const std::span<Entry> mapped(static_cast<Entry*>(mapping_), count);
  std::ranges::sort(mapped, [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.begin < b.begin;
  });
  return check_ids();
}

/// Entries with equal hashes have the same id, or, with negligible probability, two ids.
Status TextCollection::check_ids() {
  std::int64_t repeated = 0, first = 0, second = 0;
  std::string repeated_id;
  for (std::size_t i = 1; i < count_; ++i) {
    if (entries_[i].hash != entries_[i - 1].hash) continue;
    const Result<TextPair> a = text_at(entries_[i - 1].begin), b = text_at(entries_[i].begin);
    if (!a) return tl::unexpected(a.error());
    if (!b) return tl::unexpected(b.error());
    if (id_in(*a, parts_) != id_in(*b, parts_)) continue;
    if (repeated++ == 0 || entries_[i].begin < second) {
      repeated_id = id_in(*a, parts_);
      first = entries_[i - 1].begin;
      second = entries_[i].begin;
    }
  }
  if (repeated == 0) return {};
  const auto first_line = line_of(first), second_line = line_of(second);
  if (!first_line) return tl::unexpected(first_line.error());
  if (!second_line) return tl::unexpected(second_line.error());
  return fail("{}: the id '{}' is already used in {} {}{}; give each text its own id",
              file_.place(*second_line), in_a_sentence(repeated_id),
              file_.is_array() ? "element" : "line", *first_line,
              repeated > 1 ? fmt::format(" ({} such lines in all)", repeated) : "");
}

void TextCollection::keep(const std::filesystem::path& index, const Header& header) const {
  auto file = WrittenFile::next_to(index);
  if (!file) return;
  const auto bytes = std::as_bytes(std::span(entries_, count_));
  // A failed write is ignored: the next process rebuilds the index.
  if (file->write(std::as_bytes(std::span(&header, 1))) && file->write(bytes))
    static_cast<void>(file->commit());
}

Result<TextPair> TextCollection::text_at(std::int64_t begin) {
  if (Status sought = file_.seek(begin); !sought) return tl::unexpected(sought.error());
  const auto line = file_.next();
  if (!line) return tl::unexpected(line.error());
  if (!*line) return fail("{}: became shorter while it was read; restart", name());
  Result<TextPair> text = parse_pair((*line)->text, file_.format(), file_.columns(), parts_);
  if (!text) return fail("{}: from byte {} on: {}", name(), begin, text.error().message);
  return text;
}

Result<std::int64_t> TextCollection::line_of(std::int64_t begin) {
  if (Status sought = file_.seek(0); !sought) return tl::unexpected(sought.error());
  for (std::int64_t number = file_.names_columns() ? 2 : 1;; ++number) {
    const auto line = file_.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line || (*line)->begin >= begin) return number;
  }
}

Status TextCollection::make_anew() {
  std::error_code none;
  const bool is_removed = std::filesystem::remove(index_, none);
  auto made = open(source_, parts_, on_progress_,
                   is_removed ? kept_from_ : std::numeric_limits<std::int64_t>::max());
  if (on_progress_) static_cast<void>(on_progress_(1));
  if (!made) return tl::unexpected(made.error());
  std::swap(file_, made->file_);
  std::swap(mapping_, made->mapping_);
  std::swap(mapped_bytes_, made->mapped_bytes_);
  std::swap(entries_, made->entries_);
  std::swap(count_, made->count_);
  was_kept_ = false;
  return {};
}

Result<std::optional<std::string>> TextCollection::find(std::string_view id) {
  auto text = find_noted(id);
  if (!was_kept_ || (text && *text)) return text;
  if (Status made = make_anew(); !made) return tl::unexpected(made.error());
  return find_noted(id);
}

Result<std::optional<std::string>> TextCollection::find_noted(std::string_view id) {
  const std::uint64_t hash = hash_of(id);
  const std::span<const Entry> entries(entries_, count_);
  for (auto at = std::ranges::lower_bound(entries, hash, {}, &Entry::hash);
       at != entries.end() && at->hash == hash; ++at) {
    Result<TextPair> text = text_at(at->begin);
    if (!text) return tl::unexpected(text.error());
    if (id_in(*text, parts_) != id) continue;
    return std::optional(std::move(parts_ == PairParts::query ? text->query : text->document));
  }
  return std::optional<std::string>();
}

bool TextCollection::contains(std::string_view id) {
  const auto text = find(id);
  return text && text->has_value();
}

}  // namespace attnscope
