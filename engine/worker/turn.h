#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one measurement at a time on each device of a machine. A turn is a kernel lock on a file
// shared by all users of the machine, so it ends with the process that holds it, however the
// process ends. Places in the queue are locks as well, in the order of arrival. The contents of the
// file name the running measurement for people; the program does not depend on them.
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

#include "base/result.h"

namespace attnscope {

/// A running measurement, as described by the user who started it.
struct Measurement {
  std::string what = {};          // "run 'mine'"
  std::int64_t process = 0;       // of the driver
  std::string host = {};          // of the driver
  std::string user = {};          // of the worker
  std::int64_t since_unix_s = 0;  // start of the measurement
  friend bool operator==(const Measurement&, const Measurement&) = default;
};
[[nodiscard]] nlohmann::json to_json(const Measurement& measurement);
/// Fields that are missing or have another type stay empty: any user may have written them.
[[nodiscard]] Measurement read_measurement(const nlohmann::json& value);
/// "run 'mine' (process 1234 of ann, since 14:02)", with the host if it is another machine;
/// "another measurement" if the argument is empty.
[[nodiscard]] std::string in_words(const Measurement& measurement);

[[nodiscard]] std::string host_name();

/// The folder of the locks: $ATTNSCOPE_LOCKS; else /run/lock if every user may write there; else
/// /tmp, so that all users of a machine use the same files.
[[nodiscard]] std::filesystem::path locks_folder();

class Turn {
 public:
  /// Takes a place in the queue for the device. Creates the file, for all users, if it does not
  /// exist. Errors: the file cannot be opened for writing or is not a regular file.
  [[nodiscard]] static Result<Turn> line_up(const std::filesystem::path& folder,
                                            const std::string& device, Measurement own);
  Turn(Turn&& other) noexcept;
  Turn& operator=(Turn&& other) noexcept;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

  /// Whether the measurement may begin; if so, records its begin. Never blocks. Returns an error if
  /// the file was removed and cannot be created again.
  [[nodiscard]] Result<bool> has_come();
  /// Begins without waiting for other measurements.
  void begin_now();
  /// The measurement that has the turn, if it can be read.
  [[nodiscard]] std::optional<Measurement> holder() const;
  /// Measurements that ran at the same time since this one began or since the last call; an unknown
  /// one is an empty Measurement.
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
