#include <fmt/core.h>

#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "doctor/doctor.h"
#include "report/book.h"

namespace assay::doctor {
namespace {

using model::Cell;

constexpr std::size_t kIndent = 9;  // the width of "warning  "

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
                                 {.name = "bus id"},
                                 {.name = "SM clock", .unit = "MHz"},
                                 {.name = "highest SM clock", .unit = "MHz"},
                                 {.name = "memory clock", .unit = "MHz"},
                                 {.name = "highest memory clock", .unit = "MHz"},
                                 {.name = "temperature", .unit = "C"},
                                 {.name = "power", .unit = "W"},
                                 {.name = "power limit", .unit = "W"}}};
  for (const gpu::Device& gpu : diagnosis.machine.devices) {
    table.add_row({std::int64_t{gpu.index}, gpu.name, gpu.bus_id, cell(gpu.sm.now_mhz),
                   cell(gpu.sm.max_mhz), cell(gpu.memory.now_mhz), cell(gpu.memory.max_mhz),
                   cell(gpu.temperature_celsius), cell(gpu.power_watts),
                   cell(gpu.power_limit_watts)});
  }
  return table;
}

template <class Number>
std::string of_most(std::optional<Number> now, std::optional<Number> most) {
  return model::text(cell(now)) + "/" + model::text(cell(most));
}

// The same table for 80 columns.
model::Table narrow_gpus_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "gpus",
                     .title = "GPUs as nvidia-smi counts them, values of now/at most",
                     .columns = {{.name = "GPU"},
                                 {.name = "model"},
                                 {.name = "bus id"},
                                 {.name = "SM", .unit = "MHz"},
                                 {.name = "memory", .unit = "MHz"},
                                 {.name = "power", .unit = "W"},
                                 {.name = "heat", .unit = "C"}}};
  constexpr std::string_view kUsualDomain = "00000000:";
  for (const gpu::Device& gpu : diagnosis.machine.devices) {
    const bool usual = gpu.bus_id.starts_with(kUsualDomain);
    table.add_row({std::int64_t{gpu.index}, gpu.name,
                   usual ? gpu.bus_id.substr(kUsualDomain.size()) : gpu.bus_id,
                   of_most(gpu.sm.now_mhz, gpu.sm.max_mhz),
                   of_most(gpu.memory.now_mhz, gpu.memory.max_mhz),
                   of_most(gpu.power_watts, gpu.power_limit_watts), cell(gpu.temperature_celsius)});
  }
  return table;
}

model::Table libraries_table(const Diagnosis& diagnosis) {
  model::Table table{.name = "libraries",
                     .title = "Libraries as our workers find them now",
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
                                 {.name = "hint"},
                                 {.name = "commands"}}};
  for (const Finding& finding : diagnosis.findings) {
    table.add_row({word(finding.level), finding.where, finding.seen, finding.why, finding.hint,
                   core::join(finding.commands, "\n")});
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
  for (const std::string& sentence : {finding.why, finding.hint}) {
    if (!sentence.empty()) text += margin + wrapped(sentence, kIndent, width) + '\n';
  }
  for (const std::string& command : finding.commands)
    text += margin + "$ " + command + '\n';
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

std::string findings_csv(const Diagnosis& diagnosis) {
  return report::csv(findings_table(diagnosis));
}

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
  for (const model::Table& table : {narrow_gpus_table(diagnosis), libraries_table(diagnosis)}) {
    if (table.row_count() > 0) text += report::text_table(table, width, table.row_count()) + "\n";
  }
  return text + findings_text(diagnosis, width) + "\n" + counts_text(diagnosis) +
         commands_text(diagnosis, width);
}

}  // namespace assay::doctor
