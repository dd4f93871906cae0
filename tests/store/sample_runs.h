#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Random but valid runs and heats, a folder for a test's files, and comparisons of everything
// stored.

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/store/store.h"

namespace attnscope::test {

/// A temporary folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The number of files and folders in it.
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] Store open_or_throw(const std::filesystem::path& file,
                                  Store::Mode mode = Store::Mode::read_write);
RunId begin_or_throw(Store& store, const NewRun& run);
/// The error's message; "no error" without one.
template <typename T>
std::string error_in(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}
/// The value; throws the error's message.
template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void need(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

[[nodiscard]] NewRun sample_run(std::string name = "quick");
/// A sample run that is being measured by this process.
[[nodiscard]] NewRun live_run(std::string name = "quick");
/// All fields are random, including unusual texts.
[[nodiscard]] Cell random_cell(std::mt19937_64& random);
[[nodiscard]] HeatResult random_heat(std::mt19937_64& random, int index, int cells);
[[nodiscard]] Ceilings random_ceilings(std::mt19937_64& random);

/// All bytes of a file.
[[nodiscard]] std::string bytes_of(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const std::string& bytes);

/// A test with a folder.
class FolderTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
};

/// A test with an empty database.
class StoreTest : public FolderTest {
 protected:
  Store store_ = open_or_throw(folder_ / "results.db");
};

// Equality of all values; NaN equals NaN.
[[nodiscard]] bool same(const Cell& a, const Cell& b);
[[nodiscard]] bool same(const statistics::Summary& a, const statistics::Summary& b);
[[nodiscard]] bool same(const Ceilings& a, const Ceilings& b);
[[nodiscard]] bool same(const NewRun& a, const NewRun& b);

}  // namespace attnscope::test
