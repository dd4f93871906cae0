// SPDX-License-Identifier: Apache-2.0
#include "engine/store/schema.h"

#include <fmt/format.h>

#include "engine/heat/axes.h"
#include "engine/store/location.h"

namespace attnscope::store {

std::string schema() {
  std::string columns;
  for (const Axis& axis : heat_axes) {
    columns += fmt::format("{}  -- {}\n  {} {} NOT NULL", columns.empty() ? "" : ",\n", axis.says,
                           axis.key, has_texts(axis) ? "TEXT" : "INTEGER");
  }
  constexpr std::string_view place = "  :axes";
  std::string text(schema_text);
  return text.replace(text.find(place), place.size(), columns);
}

void create_schema(Database& database) {
  Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
  if (first_integer(database, "SELECT count(*) FROM sqlite_master") == 0) {
    database.exec(schema());
    database.exec(fmt::format("PRAGMA application_id = {}", application_id));
    database.exec(fmt::format("PRAGMA user_version = {}", schema_version));
  }
  transaction.commit();
}

}  // namespace attnscope::store
