#include "store/answers/packed_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::string_view kMagic = "assay tables 1\n\n";  // 16 bytes
constexpr std::size_t kAlignment = 8;

class Packer {
 public:
  explicit Packer(std::string& bytes) : bytes_(bytes) {}

  void number(std::uint64_t value) { raw(&value, sizeof(value)); }

  void text(std::string_view text) {
    number(text.size());
    raw(text.data(), text.size());
    align();
  }

  template <class T>
  void array(std::span<const T> values) {
    number(values.size());
    raw(values.data(), values.size_bytes());
    align();
  }

 private:
  void raw(const void* from, std::size_t size) {
    bytes_.append(static_cast<const char*>(from), size);
  }

  void align() { bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment); }

  std::string& bytes_;
};

// Reads what Packer wrote. The block is the program's own, so that only its end is checked.
class Unpacker {
 public:
  Unpacker(std::string_view bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (!has(sizeof(value))) return 0;
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }

  std::string text() {
    const std::uint64_t size = number();
    if (!has(size)) return {};
    std::string text(bytes_.substr(at_, size));
    skip(size);
    return text;
  }

  template <class T>
  std::span<const T> array() {
    const std::uint64_t count = number();
    if (!has(count * sizeof(T))) return {};
    const void* first = bytes_.data() + at_;
    skip(count * sizeof(T));
    return {static_cast<const T*>(first), count};
  }

  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  bool has(std::uint64_t size) {
    is_whole_ = is_whole_ && size <= bytes_.size() && at_ <= bytes_.size() - size;
    return is_whole_;
  }

  void skip(std::uint64_t size) { at_ += (size + kAlignment - 1) / kAlignment * kAlignment; }

  std::string_view bytes_;
  std::uint64_t at_;
  bool is_whole_ = true;
};

void pack(const WorkRows& rows, Packer& packer) {
  packer.number(rows.exact.size());
  for (const ExactColumn& column : rows.exact) {
    packer.text(column.name);
    packer.number(static_cast<std::uint64_t>(column.kind));
    packer.number(column.values.size());
    for (const std::string& value : column.values)
      packer.text(value);
  }
  packer.number(rows.sizes.size());
  for (const std::string& size : rows.sizes)
    packer.text(size);
  packer.array(rows.codes);
  packer.array(rows.begins);
  packer.array(rows.values);
  packer.array(rows.latencies);
  packer.array(rows.intervals);
  packer.array(rows.watts);
  packer.array(rows.throttled);
}

void pack(const TablePower& power, Packer& packer) {
  packer.text(power.device);
  packer.number(power.samples.size());
  for (const PowerSample& sample : power.samples) {
    packer.text(sample.op_name);
    const PowerErrors others = sample.errors_of_other_types.value_or(PowerErrors{});
    const std::array<double, 5> judged = {sample.limit_watts, sample.errors.median,
                                          sample.errors.p90, others.median, others.p90};
    packer.number(sample.errors_of_other_types ? 1 : 0);
    packer.array(std::span<const double>(judged));
    std::vector<double> numbers;
    for (const PoweredRow& row : sample.rows)
      numbers.insert(numbers.end(),
                     {row.load.memory, row.load.compute, row.load.milliseconds, row.watts});
    packer.array(std::span<const double>(numbers));
    for (const PoweredRow& row : sample.rows)
      packer.text(row.load.type);
  }
}

PowerSample unpack_sample(Unpacker& unpacker) {
  PowerSample sample{.op_name = unpacker.text(), .rows = {}};
  const bool has_others = unpacker.number() == 1;
  const auto judged = unpacker.array<double>();
  const auto numbers = unpacker.array<double>();
  constexpr std::size_t kJudged = 5;
  if (judged.size() != kJudged) return sample;
  sample.limit_watts = judged[0];
  sample.errors = {.median = judged[1], .p90 = judged[2]};
  if (has_others) sample.errors_of_other_types = {.median = judged[3], .p90 = judged[4]};
  constexpr std::size_t kOfRow = 4;
  for (std::size_t at = 0; at + kOfRow <= numbers.size(); at += kOfRow)
    sample.rows.push_back({.load = {.memory = numbers[at],
                                    .compute = numbers[at + 1],
                                    .milliseconds = numbers[at + 2],
                                    .type = unpacker.text()},
                           .watts = numbers[at + 3]});
  return sample;
}

std::shared_ptr<const TablePower> unpack_power(Unpacker& unpacker) {
  auto power = std::make_shared<TablePower>();
  power->device = unpacker.text();
  const std::uint64_t count = unpacker.number();
  for (std::uint64_t i = 0; i < count && unpacker.is_whole(); ++i)
    power->samples.push_back(unpack_sample(unpacker));
  if (power->samples.empty()) return nullptr;
  return power;
}

}  // namespace

std::string pack_tables(const std::string& origin, const std::vector<MappedTable>& tables) {
  std::string blocks;
  std::vector<std::uint64_t> offsets;
  for (const MappedTable& table : tables) {
    offsets.push_back(blocks.size());
    Packer packer(blocks);
    pack(table.rows, packer);
    packer.array(std::span(&table.spreads, 1));
    pack(table.power, packer);
  }
  const auto head = [&](std::uint64_t size_of_head) {
    std::string bytes(kMagic);
    Packer packer(bytes);
    packer.text(origin);
    packer.number(tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
      packer.text(tables[i].rows.table);
      packer.number(size_of_head + offsets[i]);
    }
    return bytes;
  };
  return head(head(0).size()) + blocks;
}

core::Result<PackedTables> PackedTables::open(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return core::Error{"these are no packed tables"};
  PackedTables packed;
  packed.bytes_ = bytes;
  Unpacker unpacker(bytes, kMagic.size());
  packed.origin_ = unpacker.text();
  const std::uint64_t count = unpacker.number();
  for (std::uint64_t i = 0; i < count && unpacker.is_whole(); ++i) {
    std::string name = unpacker.text();
    packed.entries_.push_back({std::move(name), unpacker.number()});
  }
  if (!unpacker.is_whole()) return core::Error{"the packed tables are cut off"};
  return packed;
}

std::vector<std::string> PackedTables::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    names.push_back(entry.name);
  return names;
}

core::Result<WorkRows> PackedTables::table(const std::string& name) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& known) { return known.name == name; });
  if (entry == entries_.end()) {
    const std::vector<std::string> all = names();
    const std::string near = core::nearest(name, all);
    return core::Error{fmt::format(
        "no table {}; {}", name,
        near.empty() ? "it has " + core::join(all, ", ") : "did you mean '" + near + "'?")};
  }
  Unpacker unpacker(bytes_, entry->offset);
  WorkRows rows;
  rows.table = name;
  rows.exact.resize(unpacker.number());
  for (ExactColumn& column : rows.exact) {
    column.name = unpacker.text();
    column.kind = static_cast<ValueKind>(unpacker.number());
    column.values.resize(unpacker.number());
    for (std::string& value : column.values)
      value = unpacker.text();
  }
  rows.sizes.resize(unpacker.number());
  for (std::string& size : rows.sizes)
    size = unpacker.text();
  rows.codes = unpacker.array<std::uint32_t>();
  rows.begins = unpacker.array<std::uint64_t>();
  rows.values = unpacker.array<double>();
  rows.latencies = unpacker.array<double>();
  rows.intervals = unpacker.array<RowInterval>();
  rows.watts = unpacker.array<double>();
  rows.throttled = unpacker.array<std::uint8_t>();
  const auto spreads = unpacker.array<Spreads>();
  rows.power = unpack_power(unpacker);
  if (!unpacker.is_whole()) return core::Error{"the packed tables are cut off"};
  rows.spreads = spreads.data();
  rows.work = work_of_rows(name, rows.sizes, rows.values);
  return rows;
}

}  // namespace assay::store
