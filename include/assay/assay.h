/* assay's engine for other programs: every command as a function whose results are tables in the
 * Arrow C data interface, and performance tables that answer millions of questions a second. C99;
 * link with `pkg-config --cflags --libs assay`, or in CMake with assay::assay.
 *
 *   const char* words[] = {"trace", "report", "rank0/trace.json.gz", "--output", "-"};
 *   assay_result* result = NULL;
 *   if (assay_run(words, 5, NULL, &result) != ASSAY_OK) puts(assay_error());
 *   for (size_t i = 0; i < assay_result_table_count(result); ++i) {
 *     struct ArrowArrayStream sheet;
 *     if (assay_result_table(result, i, &sheet) == ASSAY_OK) take(&sheet);
 *   }
 *   assay_result_free(result);
 *
 * Arguments, defaults and columns are those of the program `assay`; assay_commands() lists them.
 *
 * Errors: a function returns ASSAY_OK or another assay_status, and assay_error() is then a sentence
 * that says what is wrong and where, or what was found. Functions neither end the program nor
 * throw. A null pointer that is not said to be allowed is ASSAY_WRONG_USAGE. The object that a
 * function makes (`assay_result** result`, `assay_database** database`) is set whatever it returns:
 * to null or to what is to be freed.
 *
 * Threads: all functions may be called from any number of threads at the same time, also with the
 * same database or result. A surface is for one thread at a time. Commands use as many threads of
 * their own as their option --threads says, by default one for each processor.
 *
 * Memory: texts belong to the library, until the object that they were asked of is freed. What a
 * stream hands out belongs to whoever took it and stays valid after the result or database is
 * freed. Freeing NULL does nothing.
 *
 * Signals: the library handles none, nor do calls that run another program (`record`, `sweep run`):
 * `stop` and `progress` of assay_call end them with what they started. Where a program wants to
 * survive a reader that closes its pipe, it ignores SIGPIPE itself.
 *
 * Locales: none changes what the library reads and writes. `progress` is called in that of the
 * process.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#  pragma GCC visibility push(default)
#endif

/* The structures of https://arrow.apache.org/docs/format/CDataInterface.html and
 * CStreamInterface.html, which every library that uses them declares alike. */
#ifndef ARROW_C_DATA_INTERFACE
#  define ARROW_C_DATA_INTERFACE

#  define ARROW_FLAG_DICTIONARY_ORDERED 1
#  define ARROW_FLAG_NULLABLE 2
#  define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#  define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

/* What functions return; commands end the program with the same numbers. */
typedef enum {
  ASSAY_OK = 0,
  ASSAY_FAILED = 1,
  ASSAY_WRONG_USAGE = 2,
  /* A comparison or a check found what it looks for, as assay_error() and assay_commands() tell.
   * The result is whole. */
  ASSAY_FOUND = 3,
  ASSAY_STOPPED = 130
} assay_status;

/* "0.2.0", of the library. */
const char* assay_version(void);

/* Why the last call of this thread did not return ASSAY_OK; "" if it did. One line, no full stop.
 */
const char* assay_error(void);

/* How a long call reports to its caller. Set all of it to zero and `size` to sizeof(assay_call);
 * members that later versions add are then zero. A size that is less than those of the members
 * below is ASSAY_WRONG_USAGE. */
typedef struct assay_call {
  size_t size;
  /* Called about ten times a second by one thread at a time, which need not be the caller's. `done`
   * of `total` bytes are done; both are 0 where nobody knows. A return value other than 0 stops the
   * call. May be null. */
  int (*progress)(void* context, const char* doing, uint64_t done, uint64_t total);
  void* context;
  /* Any number but 0 stops the call; another thread may write it. May be null. */
  const int32_t* stop;
} assay_call;

/* ---- Commands ---- */

/* All commands as JSON, in UTF-8: a list of
 *   {"name": "trace report", "summary", "description", "examples", "found_means",
 *    "options": [{"names": ["-o", "--output"], "argument", "value", "kind", "choices", "default",
 *                 "group", "required", "repeatable", "help"}]}
 * `argument` is the name of a value that needs no option name; `kind` is one of none (a switch),
 * choice, choice_list, folder, file, text. */
const char* assay_commands(void);

typedef struct assay_result assay_result;

/* Runs a command as `assay` does, without the program's name: {"store", "query", "gemm", "--m",
 * "300"}. What the program prints becomes the result: tables whole (the program cuts long ones),
 * texts, and what it says on standard error as messages. Files are written as by the program.
 * `call` may be null. *result holds what the command gave before it failed or was stopped, and is
 * to be freed; it is null only where memory ran out. */
int assay_run(const char* const* arguments,
              size_t count,
              const assay_call* call,
              assay_result** result);

/* How many tables a result has; none if it is null. */
size_t assay_result_table_count(const assay_result* result);

/* The name of a table ("gpu_timeline"); null past the last. Several tables may share one. */
const char* assay_result_table_name(const assay_result* result, size_t table);

/* Hands out a table as one record batch. Numbers are int64 or float64 (formats "l", "g"), and lie
 * where every stream of this table finds them; texts are dictionaries (int32, utf8); what is true
 * or false is boolean ("b": a bit for each row, the lowest of a byte first); a column without any
 * value is null ("n"). Where a float64 is null there stands NaN. Where it fails, the stream is one
 * that was released. Fields have the metadata `unit`, `better` ("lower", "higher") and
 * `description`; the schema has `name`, `title`, and `notes`, one a line. */
int assay_result_table(const assay_result* result, size_t table, struct ArrowArrayStream* stream);

/* What the command prints besides tables, with its length in *bytes (which may be null). */
const char* assay_result_text(const assay_result* result, size_t* bytes);

/* The exit code of the program that `record` ran, as a shell tells it: 128 + N where signal N ended
 * it, 127 where there is none of that name. The call is ASSAY_FAILED if it is not 0. */
int assay_result_exit_code(const assay_result* result);

/* How many notes and warnings a result has. */
size_t assay_result_message_count(const assay_result* result);

/* A note or warning, one sentence; null past the last. *is_warning (which may be null) tells which
 * of the two it is, 1 for a warning. */
const char* assay_result_message(const assay_result* result, size_t message, int* is_warning);

/* Frees a result with its texts; what its streams handed out stays. */
void assay_result_free(assay_result* result);

/* ---- Performance tables ---- */

typedef struct assay_database assay_database;

/* Results of the functions below are like those of assay_run(): always to be freed, null only
 * where memory ran out. Messages tell where figures come from, and what was repaired in files, in
 * the result of the call that read the table. */

/* Opens a shipped system by its name ("h200_sxm"), a store (.db), a performance table (.csv,
 * .parquet) or a folder of them, and reads a table when it is asked first. Another program's
 * changes to a table are seen by databases that are opened later. */
int assay_database_open(const char* name, assay_database** database);

/* Frees the tables; results and surfaces stay. No other thread may be using the database. */
void assay_database_close(assay_database* database);

/* A table "columns" of what questions can name, a row each: table, column, kind ("size": a number
 * that may lie between measured ones; "exact": a text or number that is matched), values (how many
 * there are), lowest and highest (of sizes), examples (of exact values, at most 8,
 * comma-separated). `table` may be null: all tables. */
int assay_database_columns(assay_database* database, const char* table, assay_result** result);

/* A column of questions: `count` numbers or texts (NUL-terminated; null is ""), the other pointer
 * null. A count of 1 stands for all questions. */
typedef struct assay_column {
  const char* name; /* a column of the table, or "dtype" for its own column of types */
  const double* numbers;
  const char* const* texts;
  size_t count;
} assay_column;

/* Questions of one table. Columns that have several values have equally many. */
typedef struct assay_questions {
  size_t size;                 /* sizeof(assay_questions); see assay_call */
  const char* table;           /* "gemm", "gemm_perf", or an operator of `assay collect` */
  const assay_column* columns; /* each named once */
  size_t num_columns;
  int32_t extrapolate; /* 1: answers also more than 4 times past the measured points */
} assay_questions;

/* Answers each question, in a table "answers" in their order: latency (ms of one launch),
 * uncertainty (%, one sigma; null where the row was measured), low_80 and high_80 (ms: the time
 * lies between them in 80 % of cases), roofline (ms; null: unknown), method, refused (why there is
 * no answer; null where there is one): a size that is none or too far from the measured ones, a
 * value that no row has, several kinds of rows that are meant, because an exact value that tells
 * them apart is missing (the text names two of them).
 *
 * ASSAY_FOUND: some questions were refused; assay_error() tells how many, and why the first one
 * was. ASSAY_WRONG_USAGE: no such column; a column that is given twice, or has not either numbers
 * or texts; columns of different lengths; a size that rows differ in is missing, or is no number.
 * ASSAY_FAILED: no such table, or it cannot be read. */
int assay_database_query(assay_database* database,
                         const assay_questions* questions,
                         const assay_call* call,
                         assay_result** result);

typedef struct assay_surface assay_surface;

/* Binds what stays the same (columns of count 1) of questions that differ only in the sizes
 * `free_sizes`. The surface stays valid after the database is closed.
 *
 * ASSAY_WRONG_USAGE: a column has another count; a column or free size is given twice, or is both.
 * ASSAY_FAILED: no such table, column or value; a size is neither bound nor free; several kinds of
 * rows are meant. */
int assay_surface_bind(assay_database* database,
                       const assay_questions* bound,
                       const char* const* free_sizes,
                       size_t num_free,
                       assay_surface** surface);

/* Answers `count` questions; `sizes` holds num_free numbers of each, in the order of `free_sizes`.
 * latency_ms[i] is NaN where there is no answer; uncertainty[i] is one sigma as a part of the
 * latency, NaN where the row was measured. `uncertainty` may be null. Takes no memory. */
int assay_surface_ask(assay_surface* surface,
                      const double* sizes,
                      size_t count,
                      double* latency_ms,
                      double* uncertainty);

/* Frees a surface. */
void assay_surface_free(assay_surface* surface);

/* ---- Strategies of all-reduces ---- */

typedef struct assay_strategies assay_strategies;

/* Opens a table of strategies: the JSON that `assay allreduce codegen` writes, or a folder of
 * benchmark files of `assay allreduce bench`, of which the table is made now and whose times are
 * told as well. `options` say how a folder is read and decided, as words of `assay allreduce
 * explain`: {"--launch", "eager", "--tie", "1%"}; a file takes none. */
int assay_strategies_open(const char* name,
                          const char* const* options,
                          size_t num_options,
                          assay_strategies** strategies);

/* Frees the table; results stay. No other thread may be using it. */
void assay_strategies_close(assay_strategies* strategies);

/* Looks messages up. Columns of `questions` are tp, hidden and tokens (whole numbers from 1 to
 * 2^28), fusion and dtype (texts; by default NONE, and the --dtype of the options); its `table` and
 * `extrapolate` mean nothing here. The result, which is like that of assay_database_query(), has
 * the table "lookup" with a row for each question, in their order: strategy, message (bytes),
 * table_tp, table_dtype and table_hidden (where in the table it stands), from and to (bytes that
 * the choice holds for), origin, extrapolated (boolean: whether this number of GPUs was not
 * measured), "link limit" (us; null where the GPUs' links are not known); and of a folder time, low
 * and high (us; null where nothing was timed) and "time from". Both are null for numbers of GPUs
 * other than 2 to 8, which no all-reduce takes. Messages tell what was left out of
 * the files. All questions have an answer. ASSAY_WRONG_USAGE: a column that is missing, unknown,
 * wrong or given twice; columns of different lengths; a value that is none of a column's. */
int assay_strategies_lookup(assay_strategies* strategies,
                            const assay_questions* questions,
                            const assay_call* call,
                            assay_result** result);

#if defined(__GNUC__)
#  pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_H */
