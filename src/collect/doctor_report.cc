#include <fmt/core.h>

#include <cmath>
#include <map>
#include <sstream>

#include "collect/doctor.h"
#include "core/text.h"
#include "report/book.h"

namespace assay::collect {
namespace {

using model::Cell;

constexpr std::size_t kIndent = 9;  // of "warning  "

const char* word(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNote:
      return "note";
    case Level::kWarning:
      return "warning";
    case Level::kProblem:
      return "problem";
  }
  return "";
}

template <class Number>
Cell cell(std::optional<Number> value) {
  if (!value) return {};
  return static_cast<std::int64_t>(std::llround(static_cast<double>(*value)));
}

model::Table gpus_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "gpus",
                     .title = "GPUs as nvidia-smi counts them",
                     .columns = {{.name = "GPU"},
                                 {.name = "model"},
                                 {.name = "SM", .unit = "MHz"},
                                 {.name = "most", .unit = "MHz"},
                                 {.name = "memory", .unit = "MHz"},
                                 {.name = "most memory", .unit = "MHz"},
                                 {.name = "heat", .unit = "C"},
                                 {.name = "power", .unit = "W"},
                                 {.name = "limit", .unit = "W"},
                                 {.name = "bus id"}}};
  for (const gpu::Device& gpu : diagnosis.machine.devices) {
    table.add_row({std::int64_t{gpu.index}, gpu.name, cell(gpu.sm.now_mhz), cell(gpu.sm.max_mhz),
                   cell(gpu.memory.now_mhz), cell(gpu.memory.max_mhz),
                   cell(gpu.temperature_celsius), cell(gpu.power_watts),
                   cell(gpu.power_limit_watts), gpu.bus_id});
  }
  return table;
}

model::Table libraries_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "libraries",
                     .title = "Libraries as a program would find them now",
                     .columns = {{.name = "library"}, {.name = "version"}, {.name = "file"}}};
  const gpu::Machine& machine = diagnosis.machine;
  if (!machine.driver_version.empty()) {
    const std::string cuda = machine.cuda_driver_version;
    table.add_row({"NVIDIA driver", machine.driver_version,
                   cuda.empty() ? Cell() : Cell("serves CUDA up to " + cuda)});
  }
  for (const LibraryFound& library : diagnosis.libraries)
    table.add_row({library.name, library.version, library.file});
  return table;
}

model::Table findings_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "findings",
                     .title = "What spoils a measurement here, worst first",
                     .columns = {{.name = "level"},
                                 {.name = "where"},
                                 {.name = "seen"},
                                 {.name = "why"},
                                 {.name = "advice"}}};
  for (const Finding& finding : diagnosis.findings) {
    table.add_row({word(finding.level), finding.where, finding.seen, finding.why,
                   core::join(finding.advice, "\n")});
  }
  return table;
}

model::Table commands_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "commands",
                     .title = "Locks the clocks, and unlocks them",
                     .columns = {{.name = "purpose"}, {.name = "command"}}};
  for (const std::string& command : diagnosis.lock_commands)
    table.add_row({"lock", command});
  for (const std::string& command : diagnosis.unlock_commands)
    table.add_row({"unlock", command});
  return table;
}

// Breaks at spaces; lines after the first start with `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = indent;
  for (std::string word_of_text; words >> word_of_text; column += word_of_text.size()) {
    if (column > indent && column + 1 + word_of_text.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word_of_text;
  }
  return result;
}

std::string finding_text(const Finding& finding, std::size_t width) {
  std::string text = fmt::format("{:<{}}", word(finding.level), kIndent);
  text += wrapped(finding.where + ": " + finding.seen, kIndent, width) + '\n';
  const std::string margin(kIndent, ' ');
  if (!finding.why.empty()) text += margin + wrapped(finding.why, kIndent, width) + '\n';
  for (const std::string& line : finding.advice)
    text += margin + "> " + line + '\n';
  return text;
}

std::string findings_text(const Diagnosis& diagnosis, std::size_t width) {
  std::string text;
  for (const Finding& finding : diagnosis.findings)
    text += finding_text(finding, width);
  return text;
}

std::string counts_text(const Diagnosis& diagnosis) {
  std::map<Level, int> counts;
  for (const Finding& finding : diagnosis.findings)
    ++counts[finding.level];
  const auto counted = [&](Level level, const char* noun) {
    const int count = counts[level];
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  return counted(Level::kProblem, "problem") + ", " + counted(Level::kWarning, "warning") + ", " +
         counted(Level::kNote, "note") + "\n";
}

std::string lines(const std::vector<std::string>& commands) {
  return "  " + core::join(commands, "\n  ") + "\n";
}

std::string commands_text(const Diagnosis& diagnosis, std::size_t width) {
  if (diagnosis.lock_commands.empty()) return {};
  const std::string advice =
      "These lock the highest clocks. Where the findings tell of a power cap under load, a lower "
      "SM "
      "clock is the steadier choice. 'assay collect --lock-clocks SM,MEM' does the same for the "
      "time of its run and always undoes it.";
  return "\nLock the clocks before measuring:\n" + lines(diagnosis.lock_commands) +
         "Undo it afterwards:\n" + lines(diagnosis.unlock_commands) + wrapped(advice, 0, width) +
         "\n";
}

}  // namespace

model::Book doctor_book(const Diagnosis& diagnosis) {
  model::Book book{.title = "What spoils a measurement on this machine"};
  for (model::Table& table :
       std::vector<model::Table>{gpus_table(diagnosis), libraries_table(diagnosis),
                                 findings_table(diagnosis), commands_table(diagnosis)}) {
    if (table.row_count() > 0) book.tables.push_back(std::move(table));
  }
  return book;
}

std::string doctor_text(const Diagnosis& diagnosis, std::size_t width) {
  std::string text;
  for (const model::Table& table : {gpus_table(diagnosis), libraries_table(diagnosis)}) {
    if (table.row_count() > 0) text += report::text_table(table, width, table.row_count()) + "\n";
  }
  return text + findings_text(diagnosis, width) + "\n" + counts_text(diagnosis) +
         commands_text(diagnosis, width);
}

}  // namespace assay::collect
