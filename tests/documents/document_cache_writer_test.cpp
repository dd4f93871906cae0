// SPDX-License-Identifier: Apache-2.0
//
// Caches written in batches: completed at once, continued after a kill, or refused for other
// contents.
#include "engine/documents/document_cache_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/documents/document_cache.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

constexpr std::int64_t width = 3;

CacheMaker maker() {
  return {.family = "colbert", .weights = 7, .dtype = DType::float32, .encoding = "full"};
}

std::int64_t rows_of(std::int64_t document) {
  return 1 + document % 3;
}

std::string id_of(std::int64_t document) {
  return "d" + std::to_string(document * 7);
}

/// Documents from `begin` to `end`, always with the same numbers.
DocumentCache encoded(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> offsets{0};
  std::vector<float> values;
  for (std::int64_t document = begin; document < end; ++document) {
    offsets.push_back(offsets.back() + rows_of(document));
    for (std::int64_t i = 0; i < rows_of(document) * width; ++i)
      values.push_back(static_cast<float>(document + 1) / static_cast<float>(i + 3));
  }
  const auto bytes = std::as_bytes(std::span(values));
  return {maker(), width, std::move(offsets), {bytes.begin(), bytes.end()}};
}

std::vector<std::string> ids(std::int64_t begin, std::int64_t end) {
  std::vector<std::string> all;
  for (std::int64_t document = begin; document < end; ++document) all.push_back(id_of(document));
  return all;
}

/// The fingerprint of the first `documents` of `all` documents.
std::uint64_t fingerprint(std::int64_t documents, std::int64_t all) {
  return documents == all ? 5 : static_cast<std::uint64_t>(1000 + documents);
}

CacheContents contents_of(std::int64_t documents, VectorFormat format = VectorFormat::float32) {
  CacheContents contents{.maker = maker(),
                         .format = format,
                         .width = width,
                         .documents = documents,
                         .id_bytes = 0,
                         .source = {.file = "docs.tsv", .most_tokens = 180, .fingerprint = 5}};
  for (std::int64_t document = 0; document < documents; ++document) {
    contents.rows += rows_of(document);
    *contents.id_bytes += static_cast<std::int64_t>(id_of(document).size());
  }
  return contents;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CacheWriter : public testing::Test {
 protected:
  [[nodiscard]] Result<DocumentCacheWriter> begin(const CacheContents& contents,
                                                  bool restart = false) const {
    return DocumentCacheWriter::begin(
        target, contents, {.restart = restart, .patience = std::chrono::milliseconds(0)});
  }
  [[nodiscard]] std::string refused(const CacheContents& contents, bool restart = false) const {
    const auto writer = begin(contents, restart);
    return writer ? "begun" : writer.error().message;
  }
  /// Continues to `end`, with `at_once` documents at a time.
  static void append(DocumentCacheWriter& writer, std::int64_t end, std::int64_t at_once) {
    while (writer.encoded() < end) {
      const std::int64_t first = writer.encoded(), last = std::min(end, first + at_once);
      const Status kept = writer.append(encoded(first, last), ids(first, last),
                                        fingerprint(last, writer.contents().documents));
      ASSERT_TRUE(kept) << kept.error().message;
    }
  }
  /// Leaves an unfinished cache with the first `documents`.
  void leave_unfinished(const CacheContents& contents, std::int64_t documents) const {
    auto writer = begin(contents);
    ASSERT_TRUE(writer) << writer.error().message;
    append(*writer, documents, 2);
  }
  /// Calls `check` with each byte of `bytes` changed that belongs to documents, with its position;
  /// of each part only its first half where only half of the documents are written.
  template <typename Check>
  static void for_each_damage(const std::string& bytes, bool half, const Check& check) {
    const auto parts = cache_file::parts(contents_of(5, VectorFormat::int8));
    for (const auto& [begins, size] :
         {parts.offsets, parts.id_offsets, parts.scales, parts.rows, parts.ids}) {
      for (std::int64_t at = begins; at < begins + (half ? size / 2 : size); ++at) {
        std::string damaged = bytes;
        damaged[static_cast<std::size_t>(at)] ^= 1;
        check(damaged, at);
      }
    }
  }
  void write(const CacheContents& contents, std::int64_t at_once) const {
    auto writer = begin(contents);
    ASSERT_TRUE(writer) << writer.error().message;
    append(*writer, contents.documents, at_once);
    const Status done = writer->finish();
    ASSERT_TRUE(done) << done.error().message;
  }

  ScratchFolder folder;
  std::filesystem::path target = folder / "docs.cache", part = folder / "docs.cache.part";
};

/// The same rows as a cache that was narrowed in memory.
void expect_rows(const DocumentCache& cache, const DocumentCache& expected) {
  ASSERT_EQ(cache.documents(), expected.documents());
  EXPECT_EQ(cache.format(), expected.format());
  for (std::int64_t document = 0; document < cache.documents(); ++document) {
    EXPECT_TRUE(std::ranges::equal(cache.document(document), expected.document(document)));
    EXPECT_EQ(cache.id(document), id_of(document));
  }
  const cpu::VectorRows rows = cache.vectors(), others = expected.vectors();
  for (std::int64_t row = 0; rows.scales != nullptr && row < rows.rows; ++row)
    EXPECT_EQ(rows.scales[row], others.scales[row]);
}

TEST_F(CacheWriter, WritesTheRowsOfACacheInMemoryInEveryFormat) {
  for (const VectorFormat format :
       {VectorFormat::float32, VectorFormat::float16, VectorFormat::int8}) {
    write(contents_of(10, format), 4);
    const auto cache = DocumentCache::open(target, maker());
    ASSERT_TRUE(cache) << cache.error().message;
    const DocumentCache whole = encoded(0, 10);
    if (format == VectorFormat::float32) {
      expect_rows(*cache, whole);
      EXPECT_FALSE(cache->error());
    } else {
      const auto narrowed = whole.narrowed(format);
      expect_rows(*cache, *narrowed);
      EXPECT_DOUBLE_EQ(cache->error()->largest, narrowed->error()->largest);
      EXPECT_NEAR(cache->error()->mean, narrowed->error()->mean, 1e-12);
    }
    EXPECT_FALSE(std::filesystem::exists(part));
    std::filesystem::remove(target);
  }
}

TEST_F(CacheWriter, TheFileDoesNotDependOnTheBatches) {
  write(contents_of(10, VectorFormat::int8), 10);
  const auto error = DocumentCache::open(target)->error();
  const std::string once = bytes_of(target);
  std::filesystem::remove(target);
  write(contents_of(10, VectorFormat::int8), 1);
  // Except for the mean error, which was summed in another order.
  EXPECT_NEAR(DocumentCache::open(target)->error()->mean, error->mean, 1e-12);
  const std::size_t data = cache_file::header(contents_of(10, VectorFormat::int8)).size();
  const std::size_t errors = data + sizeof(cache_file::State::encoded);
  const std::size_t after = errors + sizeof(cache_file::State::errors);
  EXPECT_EQ(bytes_of(target).substr(after), once.substr(after));
  EXPECT_EQ(data % 64, 0U) << "where the data begin";
  EXPECT_EQ(static_cast<std::int64_t>(once.size()),
            cache_file::parts(contents_of(10, VectorFormat::int8)).end);
}

TEST_F(CacheWriter, ContinuesAnUnfinishedCache) {
  write(contents_of(10), 3);
  const std::string whole = bytes_of(target);
  std::filesystem::remove(target);
  leave_unfinished(contents_of(10), 6);
  EXPECT_FALSE(std::filesystem::exists(target));
  const auto opened = DocumentCache::open(part);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("only 6 of its 10 documents are encoded"));
  auto writer = begin(contents_of(10));
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->encoded(), 6);
  append(*writer, 10, 3);
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(bytes_of(target), whole);
}

TEST_F(CacheWriter, AKillLosesNoCountedDocument) {
  std::vector<int> pipe_ends(2);
  ASSERT_EQ(::pipe(pipe_ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto writer = begin(contents_of(50, VectorFormat::int8));
    if (writer) append(*writer, 25, 5);
    const char ready = writer && writer->encoded() == 25 ? 'y' : 'n';
    static_cast<void>(::write(pipe_ends[1], &ready, 1));
    while (true) ::pause();
  }
  char ready = ' ';
  ASSERT_EQ(::read(pipe_ends[0], &ready, 1), 1);
  EXPECT_EQ(ready, 'y');
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  auto writer = begin(contents_of(50, VectorFormat::int8));
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->encoded(), 25);
  append(*writer, 50, 7);
  ASSERT_TRUE(writer->finish());
  expect_rows(*DocumentCache::open(target), *encoded(0, 50).narrowed(VectorFormat::int8));
}

TEST_F(CacheWriter, StartsAfterAKillBeforeTheFirstDocument) {
  for (const std::size_t size :
       {std::size_t{0}, static_cast<std::size_t>(cache_file::parts(contents_of(5)).end)}) {
    write_bytes(part, std::string(size, '\0'));
    write(contents_of(5), 2);
    EXPECT_TRUE(DocumentCache::open(target));
    std::filesystem::remove(target);
  }
}

TEST_F(CacheWriter, RefusesAnUnfinishedCacheWithOtherContents) {
  leave_unfinished(contents_of(5), 2);
  const auto refuses = [&](const auto& change, const char* reason) {
    CacheContents other = contents_of(5);
    change(other);
    EXPECT_THAT(refused(other),
                AllOf(HasSubstr("docs.cache.part: "), HasSubstr(reason),
                      HasSubstr("start again with --restart, or name another file")));
  };
  refuses([](CacheContents& c) { c.maker.weights = 8; }, "encoded with other weights");
  refuses([](CacheContents& c) { c.maker.encoding = "sparse"; }, "encoded as 'full', but");
  refuses([](CacheContents& c) { c.format = VectorFormat::int8; },
          "stored in float32, but int8 is requested");
  refuses([](CacheContents& c) { c.source.most_tokens = 64; },
          "truncated to 180 tokens, but 64 are requested");
  refuses([](CacheContents& c) { c.source.tokenizer = 1; }, "tokenized by another tokenizer");
  CacheContents other = contents_of(6);
  other.source.fingerprint = 6;
  other.source.file = "more.tsv";
  refuses([&](CacheContents& c) { c = other; },
          "other documents than these (5 of 'docs.tsv', now 6 of 'more.tsv')");
  EXPECT_EQ(begin(contents_of(5))->encoded(), 2);
  EXPECT_EQ(begin(other, /*restart=*/true)->encoded(), 0);
  EXPECT_EQ(begin(other)->encoded(), 0);
}

TEST_F(CacheWriter, NeverReplacesAForeignPartFile) {
  write_bytes(part, "notes");
  for (const bool restart : {false, true}) {
    EXPECT_THAT(
        refused(contents_of(5), restart),
        HasSubstr("docs.cache.part: is not an unfinished cache of documents; move it away"));
    EXPECT_EQ(bytes_of(part), "notes");
  }
  write_bytes(part, "");
  EXPECT_EQ(begin(contents_of(5), true)->encoded(), 0);
}

TEST_F(CacheWriter, NeverWritesThroughALinkOrFolder) {
  const std::filesystem::path notes = folder / "notes";
  const auto expect_refused = [&](const char* reason) {
    for (const bool restart : {false, true})
      EXPECT_THAT(refused(contents_of(5), restart),
                  HasSubstr(std::string("docs.cache.part: ") + reason));
    std::filesystem::remove(part);
  };
  write_bytes(notes, "other notes");
  std::filesystem::create_symlink(notes, part);
  expect_refused("is a link, a directory, a pipe or a device");
  std::filesystem::create_directory(part);
  expect_refused("is a link, a directory, a pipe or a device");
  ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
  expect_refused("is a link, a directory, a pipe or a device");
  std::filesystem::create_hard_link(notes, part);
  expect_refused("is also the name of another file");
  EXPECT_EQ(bytes_of(notes), "other notes");
}

TEST_F(CacheWriter, RefusesADamagedUnfinishedCache) {
  leave_unfinished(contents_of(5), 4);
  const std::string bytes = bytes_of(part);
  write_bytes(part, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(refused(contents_of(5)), HasSubstr("is a damaged cache; start again"));
  EXPECT_EQ(begin(contents_of(5), /*restart=*/true)->encoded(), 0);
  std::string damaged = bytes;
  const auto parts = cache_file::parts(contents_of(5));
  damaged[static_cast<std::size_t>(parts.offsets.begin) + 4 * 8 + 6] = '\x7f';
  write_bytes(part, damaged);
  EXPECT_THAT(refused(contents_of(5)), HasSubstr("is damaged; start again with --restart"));
  damaged = bytes;
  damaged[static_cast<std::size_t>(parts.state.begin)] = '\x7f';
  write_bytes(part, damaged);
  EXPECT_THAT(
      refused(contents_of(5)),
      HasSubstr(
          "127 of its 5 documents are encoded; is the file damaged? Start again with --restart"));
  EXPECT_EQ(begin(contents_of(5), /*restart=*/true)->encoded(), 0);
}

TEST_F(CacheWriter, DetectsEveryDamagedByteOfAnUnfinishedCache) {
  leave_unfinished(contents_of(5, VectorFormat::int8), 4);
  const std::string bytes = bytes_of(part);
  for_each_damage(bytes, /*half=*/true, [&](const std::string& damaged, std::int64_t at) {
    write_bytes(part, damaged);
    EXPECT_THAT(refused(contents_of(5, VectorFormat::int8)),
                HasSubstr("docs.cache.part: is damaged; start again with --restart"))
        << at;
  });
  write_bytes(part, bytes);
  EXPECT_EQ(begin(contents_of(5, VectorFormat::int8))->encoded(), 4);
}

TEST_F(CacheWriter, DetectsEveryDamagedByteOfAFinishedCache) {
  write(contents_of(5, VectorFormat::int8), 2);
  const std::string bytes = bytes_of(target);
  EXPECT_TRUE(DocumentCache::open(target, maker())->check_sum());
  for_each_damage(bytes, /*half=*/false, [&](const std::string& damaged, std::int64_t at) {
    write_bytes(target, damaged);
    const auto cache = DocumentCache::open(target, maker());
    EXPECT_TRUE(!cache || !cache->check_sum()) << at;
    EXPECT_THAT(refused(contents_of(5, VectorFormat::int8)), HasSubstr("is damaged")) << at;
  });
}

TEST_F(CacheWriter, ContinuesWithARenamedDocumentsFile) {
  leave_unfinished(contents_of(5), 4);
  CacheContents renamed = contents_of(5);
  renamed.source.file = "the same documents by a name that is longer than a line of sixty-four.tsv";
  auto writer = begin(renamed);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->encoded(), 4);
  append(*writer, 5, 1);
  ASSERT_TRUE(writer->finish());
  EXPECT_TRUE(DocumentCache::open(target));
  EXPECT_TRUE(begin(renamed)->is_finished());
}

TEST_F(CacheWriter, RefusesDocumentsThatChangedWhileTheyWereRead) {
  auto writer = begin(contents_of(5));
  append(*writer, 4, 4);
  ASSERT_TRUE(writer->append(encoded(4, 5), ids(4, 5), 6));
  EXPECT_THAT(writer->finish().error().message,
              HasSubstr("docs.cache.part: the documents changed while they were read; run again "
                        "with --restart"));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(CacheWriter, ReplacesACacheOnlyWithRestartAndAForeignFileNever) {
  write_bytes(target, "other notes");
  for (const bool restart : {false, true}) {
    EXPECT_THAT(refused(contents_of(5), restart),
                HasSubstr("docs.cache: exists and is not a cache of documents; move it away, or "
                          "name another file"));
    EXPECT_EQ(bytes_of(target), "other notes");
  }
  std::filesystem::remove(target);
  {
    auto writer = begin(contents_of(5), /*restart=*/true);
    append(*writer, 5, 5);
    ASSERT_TRUE(writer->finish());
  }
  CacheContents other = contents_of(5);
  other.source.tokenizer = 1;
  EXPECT_THAT(
      refused(other),
      HasSubstr("exists and is a cache whose documents were tokenized by another tokenizer"));
  EXPECT_TRUE(begin(contents_of(5))->is_finished());
}

TEST_F(CacheWriter, NeverReplacesAFileCreatedInTheMeantime) {
  auto writer = begin(contents_of(5));
  append(*writer, 5, 5);
  write_bytes(target, "other notes");
  EXPECT_THAT(writer->finish().error().message,
              HasSubstr("was created by another program in the meantime"));
  EXPECT_EQ(bytes_of(target), "other notes");
  std::filesystem::remove(target);
  EXPECT_TRUE(writer->finish());
}

TEST_F(CacheWriter, AnExistingCacheWithTheseContentsIsFinished) {
  write(contents_of(5), 2);
  const std::string bytes = bytes_of(target);
  auto again = begin(contents_of(5));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_finished());
  EXPECT_EQ(again->encoded(), 5);
  EXPECT_TRUE(again->finish());
  EXPECT_EQ(bytes_of(target), bytes);
  EXPECT_FALSE(begin(contents_of(5), /*restart=*/true)->is_finished());
  // The old file stays until the new one is complete.
  EXPECT_EQ(bytes_of(target), bytes);
}

TEST_F(CacheWriter, RefusesMoreDocumentsThanWereCountedAndThoseOfAnotherModel) {
  auto writer = begin(contents_of(5));
  append(*writer, 3, 3);
  EXPECT_THAT(writer->append(encoded(3, 6), ids(3, 6), 0).error().message,
              HasSubstr("there are more or longer documents than were counted"));
  EXPECT_THAT(
      writer->append(encoded(3, 5), {{"d21", "an id that is far longer"}}, 0).error().message,
      HasSubstr("more or longer documents"));
  EXPECT_THAT(writer->finish().error().message, HasSubstr("has 3 documents with 6 rows, but 5"));
  const DocumentCache other({.family = "dual-bert", .weights = 7}, width, {0}, {});
  EXPECT_THAT(writer->append(other, {}, 0).error().message,
              HasSubstr("by a model of the family 'dual-bert'"));
  EXPECT_EQ(writer->encoded(), 3);
  append(*writer, 5, 1);
  EXPECT_TRUE(writer->finish());
}

TEST_F(CacheWriter, RefusesASecondWriter) {
  std::optional<Result<DocumentCacheWriter>> first = begin(contents_of(5));
  ASSERT_TRUE(*first);
  // Another descriptor has a separate lock, also in this process.
  EXPECT_THAT(refused(contents_of(5)), HasSubstr("is being written by another process"));
  first.reset();
  EXPECT_EQ(refused(contents_of(5)), "begun");
}

TEST_F(CacheWriter, ReportsMissingDiskSpaceAtTheStart) {
  CacheContents huge = contents_of(5);
  huge.rows = std::int64_t{1} << 55;
  const std::string message = refused(huge);
  EXPECT_THAT(message, HasSubstr("bytes cannot be written"));
  EXPECT_THAT(message, HasSubstr("free disk space, or name a file elsewhere"));
  EXPECT_FALSE(std::filesystem::exists(part));
}

/// Simulates a full disk on a file system that cannot allocate in advance: while this object
/// exists, no file of this process can be written beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(CacheWriter, AFullDiskAtAnyWriteLosesNothing) {
  write(contents_of(10, VectorFormat::int8), 2);
  const std::string whole = bytes_of(target);
  std::filesystem::remove(target);
  const std::int64_t end = cache_file::parts(contents_of(10, VectorFormat::int8)).end;
  auto writer = begin(contents_of(10, VectorFormat::int8));
  append(*writer, 2, 2);
  int refusals = 0;
  for (std::int64_t room = 0; room <= end; ++room) {
    const FileSizeLimit limit(static_cast<rlim_t>(room));
    const std::int64_t first = writer->encoded(), last = std::min<std::int64_t>(first + 2, 10);
    if (first == 10) break;
    const Status kept =
        writer->append(encoded(first, last), ids(first, last), fingerprint(last, 10));
    if (kept) continue;
    ++refusals;
    EXPECT_EQ(writer->encoded(), first);
    ASSERT_THAT(kept.error().message,
                HasSubstr(fmt::format("free disk space and repeat the command, which continues "
                                      "after the {} encoded documents",
                                      first)));
  }
  EXPECT_GT(refusals, 100);
  append(*writer, 10, 2);
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(bytes_of(target), whole);
}

TEST_F(CacheWriter, RefusesALargerFormat) {
  CacheContents contents = contents_of(5);
  contents.maker.dtype = DType::bfloat16;
  EXPECT_THAT(refused(contents), HasSubstr("not in float32"));
  contents.format = VectorFormat::float16;
  EXPECT_THAT(refused(contents), HasSubstr("do not take less space in float16"));
}

TEST_F(CacheWriter, RefusesDamagedCaches) {
  write(contents_of(5), 5);
  const std::string bytes = bytes_of(target);
  for (const std::size_t size : {bytes.size() - 1, bytes.size() / 2, std::size_t{100}}) {
    write_bytes(target, bytes.substr(0, size));
    EXPECT_FALSE(DocumentCache::open(target)) << size;
  }
  const auto parts = cache_file::parts(contents_of(5));
  // The ids are d0 d7 d14 d21 d28.
  for (const auto& [at, replacement, reason] :
       {std::tuple{parts.id_offsets.begin + 8, std::string_view("\x7f"),
                   "id_offsets do not ascend from 0 to its"},
        {parts.ids.begin + 3, "0", "docs.cache: two of its documents have the id 'd0'; encode"},
        {parts.ids.begin + 2, "\t", "the id of its document 2 has a control character"},
        {parts.id_offsets.begin + 8, std::string_view("\0", 1),
         "the id of its document 1 is empty"}}) {
    std::string damaged = bytes;
    damaged.replace(static_cast<std::size_t>(at), replacement.size(), replacement);
    write_bytes(target, damaged);
    EXPECT_THAT(DocumentCache::open(target).error().message, HasSubstr(reason));
  }
}

TEST_F(CacheWriter, FindsDocumentsByTheirIds) {
  write(contents_of(40), 11);
  const auto cache = DocumentCache::open(target);
  const DocumentNumbers numbers(*cache);
  for (std::int64_t document = 0; document < 40; ++document)
    EXPECT_EQ(numbers.find(id_of(document)), document);
  EXPECT_FALSE(numbers.find("d1"));
  EXPECT_FALSE(numbers.find(""));
}

}  // namespace
}  // namespace attnscope
