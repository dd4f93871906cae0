#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One measurement at a time on a device of a machine. A turn is a lock of the kernel's on a file
// that all users of the machine share, so that it ends with the process that holds it, however that
// ends. Places in the queue are locks as well, in the order of arrival. What stands in the file
// says who measures, for people: nothing rests on it.
//
//   auto turn = Turn::line_up(locks_folder(), "cpu", {.what = "run 'mine'", .process = getpid()});
//   while (turn && !turn->has_come().value_or(true)) show(turn->holder());
//   ...                                           // measures
//   for (const Measurement& other : turn->others()) show(in_words(other));

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

/// Who measures, in the words of whoever started it.
struct Measurement {
  std::string what = {};          // "run 'mine'"
  std::int64_t process = 0;       // the driver's
  std::string host = {};          // the driver's machine
  std::string user = {};          // of the worker
  std::int64_t since_unix_s = 0;  // the measurement began
  friend bool operator==(const Measurement&, const Measurement&) = default;
};
[[nodiscard]] nlohmann::json to_json(const Measurement& measurement);
/// Fields that are missing or of another kind stay empty: anyone may have written them.
[[nodiscard]] Measurement read_measurement(const nlohmann::json& value);
/// "run 'mine' (process 1234 of ann, since 14:02)", with the host where it is another machine; of
/// an empty one "another measurement".
[[nodiscard]] std::string in_words(const Measurement& measurement);

[[nodiscard]] std::string host_name();

/// Where locks lie: $ATTNSCOPE_LOCKS; else /run/lock where every user may write there, else /tmp,
/// so that all users of a machine find the same files.
[[nodiscard]] std::filesystem::path locks_folder();

class Turn {
 public:
  /// Takes a place in the queue for the device. The file is made where there is none, for all
  /// users. Errors: one that cannot be opened for writing or is no regular file.
  [[nodiscard]] static Result<Turn> line_up(const std::filesystem::path& folder,
                                            const std::string& device, Measurement own);
  Turn(Turn&& other) noexcept;
  Turn& operator=(Turn&& other) noexcept;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

  /// Whether the measurement may begin; once it may, it is written down as begun. Never blocks. An
  /// error when the file was taken away and none can be made in its place.
  [[nodiscard]] Result<bool> has_come();
  /// Begins without waiting, whoever measures.
  void begin_now();
  /// Who has the turn, where that can be read.
  [[nodiscard]] std::optional<Measurement> holder() const;
  /// Who has measured at the same time since this one began or since the last call; one of whom
  /// nothing is known is an empty one.
  [[nodiscard]] std::vector<Measurement> others();

 private:
  /// A line of the file.
  struct Entry {
    std::int64_t place = 0;
    bool has_turn = false;
    Measurement measurement;
  };
  Turn(std::filesystem::path file, Measurement own);
  [[nodiscard]] Status open();
  void close();
  [[nodiscard]] bool is_at_its_place() const;
  [[nodiscard]] bool lock(std::int64_t at) const;
  [[nodiscard]] bool is_locked(std::int64_t first, std::int64_t last) const;
  [[nodiscard]] bool is_measuring(const Entry& entry) const;
  [[nodiscard]] bool somebody_measures() const;
  void begin(bool has_turn);
  [[nodiscard]] std::vector<Entry> entries(std::int64_t from) const;
  [[nodiscard]] std::int64_t size() const;

  std::filesystem::path file_;
  Measurement own_;
  int descriptor_ = -1;
  std::int64_t place_ = 0;  // in the queue
  bool has_begun_ = false;
  std::int64_t seen_ = 0;  // bytes of the file
};

}  // namespace attnscope
