#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SQLite's connection, statement and transaction as owning values. Failures are thrown within this
// room; the Store's functions turn them into one sentence (see error_of).

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace attnscope::store {

struct DatabaseError : std::runtime_error {
  DatabaseError(int primary_code, int extended_code, const std::string& text)
      : std::runtime_error(text), code(primary_code), extended(extended_code) {}
  /// Damage or a failed read, which are of the file that rows are taken from; all else is of
  /// writing.
  [[nodiscard]] bool is_of_reading() const;
  int code;      // SQLite's primary result code
  int extended;  // the same with what SQLite knows beyond it
};

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // The next parameter, in order.
  void bind(std::int64_t value);
  void bind(double value);  // NaN, which SQLite would turn into NULL, is bound as the text 'nan'
  void bind(std::string_view value);
  void bind_null();

  /// True while there is a row.
  bool step();
  /// Runs a statement that gives no rows, and makes it ready to be bound again.
  void run();
  /// Ready to be bound and stepped again.
  void reset();

  // Columns count from 0.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Access : std::uint8_t { read_only, read_write, create };
  /// `uri` is made by uri_of.
  Database(const std::string& uri, Access access);

  void execute(const std::string& sql);
  [[nodiscard]] Statement prepare(const std::string& sql) const;
  /// The first column of the only row.
  [[nodiscard]] std::int64_t integer(const std::string& sql) const;
  [[nodiscard]] std::string text(const std::string& sql) const;
  [[nodiscard]] std::int64_t last_id() const;
  /// Rows this connection has changed since it was opened.
  [[nodiscard]] std::int64_t own_changes() const;
  [[nodiscard]] bool is_read_only() const;
  void set_busy_timeout(int milliseconds);
  /// From here on statements end with SQLITE_INTERRUPT once `stop` is true. Null: never.
  void stop_when(const std::atomic<bool>* stop) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Rolled back when it goes out of scope uncommitted.
class Transaction {
 public:
  enum class Kind : std::uint8_t { read, write, exclusive };
  Transaction(Database& database, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

/// "file:/path?mode=ro" with everything odd in the path escaped.
[[nodiscard]] std::string uri_of(const std::filesystem::path& file, std::string_view query);

/// What went wrong with the file and how to mend it, as one sentence.
[[nodiscard]] Error error_of(const DatabaseError& error, const std::filesystem::path& file);

}  // namespace attnscope::store
