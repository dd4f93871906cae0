-- AttnScope's results, version 8. PRAGMA application_id is 0x41745363 ("AtSc") and user_version the
-- version of this schema. The same tables are in an exported .attn file.
--
-- Times are nanoseconds (_ns), points in time milliseconds since 1970-01-01 UTC (_unix_ms), memory
-- bytes, work floating-point operations, bytes and exponentials of ONE CALL OVER THE WHOLE BATCH:
-- divide by cells.batch for one item, and by heats.documents for one document of it. A REAL that is not a number is the text 'nan'; NULL means
-- that there is no value. Fingerprints are FNV-1a (64 bit, stored as signed) over the row's values as
-- engine/store/fingerprint.h serialises them; a row that does not match its own is damaged. So is one
-- whose values cannot be (why_impossible in engine/heat/cell.h): anyone can reckon a fingerprint.
-- A file may lack a column that came later (an axis of heats; restart of heats; cache_bytes, parts and disturbed_by of cells; cpu_ns and waited_ns of
-- samples; the fingerprints of heats, restarts, progress and of a run's state, whose rows are then under none).

-- One execution of a sweep: on one machine or, part by part, on several. A heat is always of one.
CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- short local number; another one in every database
  uuid TEXT NOT NULL UNIQUE,                 -- identity everywhere: random, version 4
  sweep_name TEXT NOT NULL,
  sweep_text TEXT NOT NULL,                  -- the sweep file as it was read
  command_line TEXT NOT NULL,
  provenance TEXT NOT NULL,                  -- JSON: device, driver, clocks, compiler, versions, commit
  device TEXT NOT NULL,                      -- the processor's or GPU's name in short
  heats_planned INTEGER NOT NULL,
  process_id INTEGER NOT NULL,               -- of the driver that runs it (last)
  process_start_ticks INTEGER NOT NULL,      -- field 22 of /proc/PID/stat: tells processes of one number apart
  fingerprint INTEGER NOT NULL,              -- of uuid ... process_start_ticks
  status TEXT NOT NULL,                      -- running, done, cancelled, interrupted
  tag TEXT NOT NULL DEFAULT '',              -- a person's own words, parted by spaces
  note TEXT NOT NULL DEFAULT '',
  started_unix_ms INTEGER NOT NULL,
  finished_unix_ms INTEGER NOT NULL DEFAULT 0, -- 0: not yet
  name TEXT NOT NULL DEFAULT '',             -- a person's own; '': the sweep's serves
  trashed_unix_ms INTEGER NOT NULL DEFAULT 0, -- in the trash since then; 0: it is not
  state_fingerprint INTEGER                  -- of uuid, status ... trashed_unix_ms and the number of its restarts,
                                             -- renewed with each of them; NULL: from before there was one
);

-- What lists show, without the long texts.
CREATE INDEX run_list ON runs(started_unix_ms, uuid, sweep_name, device, heats_planned, process_id,
                              process_start_ticks, status, tag, note, finished_unix_ms, name,
                              trashed_unix_ms);

-- Every later start of a run that was interrupted or cancelled.
CREATE TABLE restarts (
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  restarted_unix_ms INTEGER NOT NULL,
  command_line TEXT NOT NULL,
  fingerprint INTEGER,                       -- of the run's uuid and this row; NULL: from before there was one
  provenance TEXT NOT NULL                   -- JSON, as in runs; the build may be another one
);
CREATE INDEX restarts_of_run ON restarts(run_number);

-- What the driver is doing now.
CREATE TABLE progress (
  run_number INTEGER PRIMARY KEY REFERENCES runs(number) ON DELETE CASCADE,
  heats_done INTEGER NOT NULL,
  heats_planned INTEGER NOT NULL,
  current TEXT NOT NULL,                     -- "2048 tokens, sparse/segment/4"
  seconds_left REAL,                         -- seconds; NULL: not known
  fingerprint INTEGER                        -- of the run's uuid and this row; NULL: from before there was one
);

-- One point of all axes but the contender's; its cells were measured together and stored at once.
CREATE TABLE heats (
  id INTEGER PRIMARY KEY,
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  heat_index INTEGER NOT NULL,               -- position within the sweep, from 0
  cell_count INTEGER NOT NULL,               -- how many cells were stored with it
  fingerprint INTEGER,                       -- of the run's uuid and this row; NULL: from before there was one
  restart INTEGER,                           -- fingerprint of the restart under which it was measured, whose provenance names the
                                             -- machine; 0: by the run's first start; NULL: not known
  -- Then a column NOT NULL for each axis of engine/heat/axes.h, under its key: numbers and truths
  -- (0, 1) INTEGER, words TEXT. A file from before there was an axis lacks its column, which counts
  -- as the axis' default.
  :axes
);
CREATE INDEX heats_of_run ON heats(run_number);

-- One contender in one heat.
CREATE TABLE cells (
  id INTEGER PRIMARY KEY,
  heat_id INTEGER NOT NULL REFERENCES heats(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- place among the heat's contenders, from 0
  pattern TEXT NOT NULL,                     -- built-in name or the path of a JSON file
  implementation TEXT NOT NULL,
  attention_window TEXT,                     -- one-sided, tokens, or 'inf'; NULL: the pattern has none
  name TEXT NOT NULL,                        -- display name
  pattern_json TEXT NOT NULL,                -- the pattern itself
  model TEXT NOT NULL,                       -- of operation model, the row's name
  status TEXT NOT NULL,                      -- ok, unsupported, oom, wrong, crashed, timeout, cancelled
  reason TEXT NOT NULL,                      -- one sentence when status is not ok
  batch INTEGER NOT NULL,                    -- items measured together
  query_tokens INTEGER NOT NULL,             -- of one item, [SEP] included
  document_tokens INTEGER NOT NULL,          -- of all documents of one item, every [SEP] included
  relative_error REAL,                       -- against the float64 reference, over max|V|
  error_bound REAL,                          -- the most that relative_error may be
  requested_bytes INTEGER NOT NULL,          -- peak above what was live before the call, as asked for
  reserved_bytes INTEGER NOT NULL,           -- the same after the allocator's rounding and caching
  workspace_bytes INTEGER NOT NULL,          -- the part of it handed to the kernel as workspace
  process_peak_bytes INTEGER,                -- what the process grew by as the system saw it; NULL: not looked at
  cache_bytes INTEGER,                       -- of a re-ranker's encoded documents; NULL: it keeps none
  useful_flop REAL NOT NULL,
  least_bytes REAL NOT NULL,
  exponentials REAL NOT NULL,
  executed_flop REAL NOT NULL,
  executed_bytes REAL NOT NULL,
  settled INTEGER NOT NULL,                  -- 1: the stop rule's interval was reached; 0: its time limit
  parts TEXT,                                -- JSON: [["attention", nanoseconds, useful FLOP], ...]; NULL: none known
  disturbed_by TEXT,                         -- other measurements of this program at the same time; '' or NULL: none known
  median_ns REAL NOT NULL,                   -- of the samples, with the 95% interval of the bootstrap
  low_ns REAL NOT NULL,
  high_ns REAL NOT NULL,
  sample_count INTEGER NOT NULL,
  placement_count INTEGER NOT NULL,
  samples_fingerprint INTEGER NOT NULL,      -- of this cell's rows in samples, in order
  fingerprint INTEGER NOT NULL               -- of the run's uuid, the heat's point and this row
);
CREATE INDEX cells_of_heat ON cells(heat_id);
CREATE INDEX failed_cells ON cells(heat_id) WHERE status IN ('wrong', 'crashed', 'timeout');

-- One timed group of iterations.
CREATE TABLE samples (
  cell_id INTEGER NOT NULL REFERENCES cells(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- order of measuring, from 0
  process INTEGER NOT NULL,                  -- which worker process of the heat
  placement INTEGER NOT NULL,                -- which set of buffers, over all processes
  round INTEGER NOT NULL,                    -- shuffled round within the placement; pairs contenders
  time_ns REAL NOT NULL,                     -- of one iteration
  iterations INTEGER NOT NULL,
  involuntary_switches INTEGER NOT NULL,     -- context switches forced on the process meanwhile
  foreign_load REAL NOT NULL,                -- cores kept busy by other processes meanwhile
  clock_mhz REAL,                            -- of the processor's cores in use, or the device; NULL: unknown
  temperature_c REAL,                        -- of the device; NULL: unknown
  throttled INTEGER NOT NULL,                -- 1: slowed down for heat or power meanwhile
  cpu_ns REAL,                               -- its process' threads ran on cores, of one iteration; NULL: unknown
  waited_ns REAL,                            -- they were ready and others had the cores; NULL: unknown
  outlier INTEGER NOT NULL,                  -- 1: modified z-score above 3.5; flagged, never dropped
  PRIMARY KEY (cell_id, ordinal)
) WITHOUT ROWID;

-- Rates the machine can reach, measured before and after a run.
CREATE TABLE ceilings (
  id INTEGER PRIMARY KEY,
  run_number INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE,
  threads INTEGER NOT NULL,                  -- of the processor; 0 for a device
  flop_per_second REAL NOT NULL,             -- float32 fused multiply-adds, counted as two
  exponentials_per_second REAL NOT NULL,
  seconds_into_run REAL NOT NULL,
  device TEXT NOT NULL,                      -- cpu, cuda
  tensor_flop_per_second REAL NOT NULL,      -- of 16-bit factors on tensor cores
  fingerprint INTEGER NOT NULL               -- of the run's uuid, this row and its copy_rates
);
CREATE INDEX ceilings_of_run ON ceilings(run_number);

-- Copy bandwidth by working-set size.
CREATE TABLE copy_rates (
  ceilings_id INTEGER NOT NULL REFERENCES ceilings(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,                  -- ascending working set, from 0
  working_set_bytes INTEGER NOT NULL,
  bytes_per_second REAL NOT NULL,            -- read plus written
  PRIMARY KEY (ceilings_id, ordinal)
) WITHOUT ROWID;
