#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Changes and locks of a database file by another program.

#include <filesystem>

#include "engine/store/database.h"

namespace attnscope::test {

/// Executes the statements; creates the file if there is none.
inline void run_sql(const std::filesystem::path& file, const char* sql) {
  store::open_database(store::uri_of(file, ""), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec(sql);
}

/// Another program's transaction on the database: nobody else can write until it ends.
class OtherWriter {
 public:
  explicit OtherWriter(const std::filesystem::path& file)
      : database_(store::open_database(store::uri_of(file, ""), SQLite::OPEN_READWRITE)),
        transaction_(database_, SQLite::TransactionBehavior::IMMEDIATE) {}

 private:
  store::Database database_;
  store::Transaction transaction_;
};

}  // namespace attnscope::test
