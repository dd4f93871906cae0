-- AttnScope's results, version 10. PRAGMA application_id is 0x41745363 ("AtSc"), PRAGMA user_version
-- is the version of this schema. An exported .attn file has the same tables.
--
-- Units: times are nanoseconds (_ns), points in time are milliseconds since 1970-01-01 UTC
-- (_unix_ms), memory is bytes, work is floating-point operations, bytes and exponentials of ONE
-- CALL OVER THE WHOLE BATCH. Divide by cells.batch for one item, and by heats.documents for one
-- document of an item. A REAL that is not a number is stored as the text 'nan'. NULL means that
-- there is no value.
--
-- Fingerprints detect damage: each is the FNV-1a hash (64 bit, stored as a signed integer) of the
-- listed values, as base/fingerprint.h defines it. Anyone can compute a fingerprint, so
-- values are also checked for plausibility (why_impossible in engine/heat/cell.h).

-- One execution of a sweep: on one machine, or in parts on several. Each heat is measured on one.
CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- short number; differs between databases
  uuid TEXT NOT NULL UNIQUE,                 -- identifies the run everywhere; random, version 4
  sweep_name TEXT NOT NULL,
  sweep_text TEXT NOT NULL,                  -- the sweep file as it was read
  command_line TEXT NOT NULL,
  provenance TEXT NOT NULL,                  -- JSON: device, driver, clocks, compiler, versions, ...
  device TEXT NOT NULL,                      -- short name of the processor or GPU
  heats_planned INTEGER NOT NULL,
  process_id INTEGER NOT NULL,               -- the driver that runs it, or ran it last
  process_start_ticks INTEGER NOT NULL,      -- field 22 of /proc/PID/stat: tells apart processes
                                             -- that had the same id
  fingerprint INTEGER NOT NULL,              -- of uuid to process_start_ticks
  status TEXT NOT NULL,                      -- running, done, cancelled, interrupted
  tag TEXT NOT NULL DEFAULT '',              -- the user's tags, separated by spaces
  note TEXT NOT NULL DEFAULT '',
  started_unix_ms INTEGER NOT NULL,
  finished_unix_ms INTEGER NOT NULL DEFAULT 0,  -- 0: not finished
  name TEXT NOT NULL DEFAULT '',             -- given by the user; '': the sweep's name is shown
  trashed_unix_ms INTEGER NOT NULL DEFAULT 0,   -- when it was put in the trash; 0: it is not there
  heats_stored INTEGER NOT NULL DEFAULT 0,   -- number of its rows in heats
  state_fingerprint INTEGER NOT NULL DEFAULT 0  -- of uuid, status to heats_stored, and the numbers
                                             -- of its restarts and ceilings
);

-- The columns that lists show, without the long texts.
CREATE INDEX run_list ON runs(started_unix_ms, uuid, sweep_name, device, heats_planned, process_id,
                              process_start_ticks, status, tag, note, finished_unix_ms, name,
                              trashed_unix_ms);

-- Each later start of a run that was interrupted or cancelled.
CREATE TABLE restarts (
  id INTEGER PRIMARY KEY,
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  restarted_unix_ms INTEGER NOT NULL,
  command_line TEXT NOT NULL,
  provenance TEXT NOT NULL,                  -- JSON, as in runs; the build may be a different one
  fingerprint INTEGER NOT NULL               -- of the run's uuid and the columns of this row from
                                             -- restarted_unix_ms on
);
CREATE INDEX restarts_of_run ON restarts(run_number);

-- What the driver is doing now.
CREATE TABLE progress (
  run_number INTEGER PRIMARY KEY REFERENCES runs(number) ON DELETE CASCADE,
  heats_done INTEGER NOT NULL,
  heats_planned INTEGER NOT NULL,
  current TEXT NOT NULL,                     -- "2048 tokens, sparse/segment/4"
  seconds_left REAL                          -- seconds; NULL: unknown
);

-- One point of all axes except the contender. Its cells were measured together and stored at once.
CREATE TABLE heats (
  id INTEGER PRIMARY KEY,
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  heat_index INTEGER NOT NULL,               -- position in the sweep, from 0
  cell_count INTEGER NOT NULL,               -- number of its rows in cells
  restart INTEGER,                           -- fingerprint of the restart that measured it, whose
                                             -- provenance names the machine; 0: the first start;
                                             -- NULL: unknown
  -- One column for each axis of engine/heat/axes.h, named by its key: numbers and truth values
  -- (0, 1) are INTEGER, words are TEXT.
  :axes
);
CREATE INDEX heats_of_run ON heats(run_number);

-- One contender in one heat.
CREATE TABLE cells (
  id INTEGER PRIMARY KEY,
  heat_id INTEGER NOT NULL REFERENCES heats(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- position among the heat's contenders, from 0
  pattern TEXT NOT NULL,                     -- built-in name, or the path of a JSON file
  implementation TEXT NOT NULL,
  attention_window TEXT,                     -- one-sided, in tokens, or 'inf'; NULL: the pattern
                                             -- has no window
  name TEXT NOT NULL,                        -- displayed name
  pattern_json TEXT NOT NULL,                -- the pattern itself
  model TEXT NOT NULL,                       -- the row's name for operation model, otherwise ''
  status TEXT NOT NULL,                      -- ok, unsupported, oom, wrong, crashed, timeout,
                                             -- cancelled
  reason TEXT NOT NULL,                      -- one sentence if status is not ok
  batch INTEGER NOT NULL,                    -- items measured together
  query_tokens INTEGER NOT NULL,             -- of one item, including [SEP]
  document_tokens INTEGER NOT NULL,          -- of all documents of one item, including each [SEP]
  relative_error REAL,                       -- against the float64 reference, relative to max|V|
  error_bound REAL,                          -- limit of relative_error
  requested_bytes INTEGER NOT NULL,          -- peak above what was live before the call
  reserved_bytes INTEGER NOT NULL,           -- the same, as rounded and cached by the allocator
  workspace_bytes INTEGER NOT NULL,          -- the part that the kernel received as workspace
  process_peak_bytes INTEGER,                -- growth of the process that the system reported;
                                             -- NULL: not measured
  cache_bytes INTEGER,                       -- encoded documents of a re-ranker; NULL: none
  useful_flop REAL NOT NULL,
  least_bytes REAL NOT NULL,
  exponentials REAL NOT NULL,
  executed_flop REAL NOT NULL,
  executed_bytes REAL NOT NULL,
  settled INTEGER NOT NULL,                  -- 1: the stop rule's interval was reached; 0: its time
                                             -- limit
  parts TEXT,                                -- JSON: [["attention", nanoseconds, useful FLOP], ...];
                                             -- NULL: none known
  disturbed_by TEXT NOT NULL,                -- other measurements of this program at the same time;
                                             -- '': none known
  median_ns REAL NOT NULL,                   -- of the samples, with the 95% bootstrap interval
  low_ns REAL NOT NULL,
  high_ns REAL NOT NULL,
  sample_count INTEGER NOT NULL,
  placement_count INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL               -- of the run's uuid, its heat from heat_index on, this
                                             -- row from ordinal on, and its samples in order
);
CREATE INDEX cells_of_heat ON cells(heat_id);
CREATE INDEX failed_cells ON cells(heat_id) WHERE status IN ('wrong', 'crashed', 'timeout');

-- One timed group of calls.
CREATE TABLE samples (
  cell_id INTEGER NOT NULL REFERENCES cells(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- order of measurement, from 0
  process INTEGER NOT NULL,                  -- worker process of the heat
  placement INTEGER NOT NULL,                -- set of buffers, numbered over all processes
  round INTEGER NOT NULL,                    -- shuffled round in the placement; pairs contenders
  time_ns REAL NOT NULL,                     -- of one call
  iterations INTEGER NOT NULL,               -- calls in the group
  involuntary_switches INTEGER NOT NULL,     -- forced context switches of the process meanwhile
  foreign_load REAL NOT NULL,                -- cores that other processes used meanwhile
  clock_mhz REAL,                            -- of the cores in use, or the device; NULL: unknown
  temperature_c REAL,                        -- of the device; NULL: unknown
  throttled INTEGER NOT NULL,                -- 1: slowed down because of heat or power meanwhile
  cpu_ns REAL,                               -- time its threads ran on cores, of one call; NULL:
                                             -- unknown
  waited_ns REAL,                            -- time they were ready while others had the cores;
                                             -- NULL: unknown
  power_w REAL,                              -- power draw of the device; NULL: unknown
  outlier INTEGER NOT NULL,                  -- 1: modified z-score above 3.5; marked, never dropped
  PRIMARY KEY (cell_id, ordinal)
) WITHOUT ROWID;

-- Rates that the machine can reach, measured before and after a run.
CREATE TABLE ceilings (
  id INTEGER PRIMARY KEY,
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  threads INTEGER NOT NULL,                  -- of the processor; 0 for a device
  flop_per_second REAL NOT NULL,             -- float32 fused multiply-adds, counted as two
  exponentials_per_second REAL NOT NULL,
  seconds_into_run REAL NOT NULL,
  device TEXT NOT NULL,                      -- cpu, cuda
  tensor_flop_per_second REAL NOT NULL,      -- with 16-bit factors, on tensor cores
  fingerprint INTEGER NOT NULL               -- of the run's uuid, this row from threads on, and its
                                             -- copy_rates in order
);
CREATE INDEX ceilings_of_run ON ceilings(run_number);

-- Copy bandwidth by size of the working set.
CREATE TABLE copy_rates (
  ceilings_id INTEGER NOT NULL REFERENCES ceilings(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- ascending working set, from 0
  working_set_bytes INTEGER NOT NULL,
  bytes_per_second REAL NOT NULL,            -- read plus written
  PRIMARY KEY (ceilings_id, ordinal)
) WITHOUT ROWID;
