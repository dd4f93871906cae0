// SPDX-License-Identifier: Apache-2.0
//
// hold_lock DATABASE everything|writing: locks the database exclusively or for writing, prints
// "held" and releases the lock at the end of its input.

#include <cstdio>
#include <cstring>

#include "engine/store/database.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  using namespace attnscope::store;
  Database database = open_database(uri_of(argv[1], ""), SQLite::OPEN_READWRITE);
  database.exec(std::strcmp(argv[2], "everything") == 0 ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE");
  std::puts("held");
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}
