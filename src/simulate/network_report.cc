#include "simulate/network_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/counted.h"
#include "report/colors.h"

namespace assay::simulate {
namespace {

constexpr std::size_t kLinksOnAMap = 40;
constexpr std::size_t kTimesOnAMap = 8;  // as many as are apart on a telephone

double to_us(double ns) {
  return ns / 1000;
}

double share_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

// What is known of a link's use, in percent of the most that the file leaves of its rate.
class LinkView {
 public:
  LinkView(const Outcome& outcome, std::uint32_t link)
      : usage_(outcome.transfers()->usage()),
        link_(outcome.transfers()->fabric().links()[link]),
        id_(link),
        length_ns_(static_cast<double>(std::max<std::int64_t>(outcome.longest_ns(), 1))),
        bytes_per_ns_(outcome.transfers()->fabric().unit_bytes_per_ns(link_.nvlink)) {}

  [[nodiscard]] std::string name() const {
    return link_.copies == 1 ? link_.name : fmt::format("{} (x{})", link_.name, link_.copies);
  }

  [[nodiscard]] double gigabytes_per_s() const { return link_.best * bytes_per_ns_; }

  [[nodiscard]] double bytes() const { return usage_.carried_ns(id_) * bytes_per_ns_; }

  [[nodiscard]] double mean_load() const {
    return share_of(usage_.carried_ns(id_), length_ns_ * link_.most_left());
  }

  [[nodiscard]] double full_share() const {
    return share_of(static_cast<double>(usage_.full_ns(id_)), length_ns_);
  }

  [[nodiscard]] double lost_us() const { return to_us(usage_.lost_ns(id_)); }

  // Returns the load in a stretch; the last one ends with the simulation.
  [[nodiscard]] double load(std::size_t bin) const {
    const auto bin_ns = static_cast<double>(usage_.bin_ns());
    const double length = std::min(bin_ns, length_ns_ - static_cast<double>(bin) * bin_ns);
    return length > 0 ? share_of(usage_.mean(id_, bin) * bin_ns, length * link_.most_left()) : 0;
  }

  [[nodiscard]] double highest_load() const {
    double highest = 0;
    for (std::size_t bin = 0; bin < LinkUsage::kBins; ++bin)
      highest = std::max(highest, load(bin));
    return highest;
  }

 private:
  const LinkUsage& usage_;
  const FabricLink& link_;
  std::uint32_t id_;
  double length_ns_;
  double bytes_per_ns_;
};

std::size_t used_bins(const Outcome& outcome) {
  const std::int64_t bin_ns = outcome.transfers()->usage().bin_ns();
  const std::int64_t bins = (outcome.longest_ns() + bin_ns - 1) / bin_ns;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(bins, 1, std::int64_t{LinkUsage::kBins}));
}

model::Column us_column(const char* name, const char* description) {
  return {.name = name, .unit = "us", .better = model::Better::kLower, .description = description};
}

model::Column percent_column(const char* name, const char* description) {
  return {.name = name, .unit = "%", .description = description};
}

// What the messages of some operations did in the network.
struct Passages {
  std::int64_t operations = 0;
  std::int64_t messages = 0;
  double moving_ns = 0;
  double lost_ns = 0;
};

void add_passages(const Record& record,
                  const model::OperationSpan& span,
                  std::uint32_t rank,
                  Passages& sum) {
  for (std::uint32_t i = 0; i < span.num_ops; ++i) {
    const OpId id{rank, span.first_op + i};
    const Passage passage = record.passage(id);
    if (record.op(id).kind != model::OpKind::kSend || passage.transfer_ns < 0) continue;
    ++sum.messages;
    sum.moving_ns += static_cast<double>(record.left_ns(id) - record.moving_since_ns(id));
    sum.lost_ns += static_cast<double>(passage.lost_ns);
  }
}

}  // namespace

std::vector<std::uint32_t> busiest_links(const Outcome& outcome) {
  const LinkUsage& usage = outcome.transfers()->usage();
  const std::vector<FabricLink>& links = outcome.transfers()->fabric().links();
  std::vector<std::uint32_t> busy;
  for (std::uint32_t link = 0; link < links.size(); ++link) {
    if (usage.carried_ns(link) > 0) busy.push_back(link);
  }
  const auto key = [&](std::uint32_t link) {
    return std::tuple(-usage.full_ns(link), -usage.carried_ns(link) / links[link].most_left(),
                      link);
  };
  std::sort(busy.begin(), busy.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return busy;
}

std::vector<LinkLoad> link_loads(const Outcome& outcome, std::size_t most) {
  std::vector<std::uint32_t> links = busiest_links(outcome);
  links.resize(std::min(links.size(), most));
  std::vector<LinkLoad> loads;
  for (const std::uint32_t link : links) {
    const LinkView view(outcome, link);
    LinkLoad& self = loads.emplace_back(LinkLoad{.name = view.name(), .load = {}});
    for (std::size_t bin = 0; bin < used_bins(outcome); ++bin)
      self.load.push_back(view.load(bin));
  }
  return loads;
}

namespace {

std::uint32_t idle_nics(const Outcome& outcome) {
  const LinkUsage& usage = outcome.transfers()->usage();
  const std::uint32_t nics = outcome.transfers()->fabric().num_nics();
  std::uint32_t idle = 0;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    if (usage.carried_ns(nic) == 0 && usage.carried_ns(nics + nic) == 0) ++idle;
  }
  return idle;
}

}  // namespace

model::Table network_table(const Outcome& outcome, const CriticalPath& path) {
  const Transfers::Totals& totals = outcome.transfers()->totals();
  const std::vector<FabricLink>& links = outcome.transfers()->fabric().links();
  std::int64_t count = 0;
  for (const FabricLink& link : links)
    count += link.copies;
  const auto on_path =
      static_cast<double>(path.total_ns[static_cast<std::size_t>(Spent::kContention)]);
  model::Table table{
      .name = "network",
      .title = "What messages lost by sharing links",
      .columns = {
          {.name = "links", .description = "each direction counts"},
          {.name = "messages", .description = "that took links of the network"},
          us_column("in network", "as the first of a connection, of all messages, added up"),
          us_column("lost", "of that, because of messages of other connections"),
          percent_column("share lost", ""),
          us_column("lost on path", "the part of it on the critical path"),
          percent_column("share of finish", "the same, of the time of the last rank")}};
  table.add_row({count, static_cast<std::int64_t>(totals.messages), to_us(totals.moving_ns),
                 to_us(totals.lost_ns), share_of(totals.lost_ns, totals.moving_ns), to_us(on_path),
                 share_of(on_path, static_cast<double>(outcome.longest_ns()))});
  const std::uint32_t num_nics = outcome.transfers()->fabric().num_nics();
  if (const std::uint32_t idle = idle_nics(outcome); idle > 0 && idle < num_nics) {
    table.notes.push_back(fmt::format(
        "{} of {} NICs carry nothing: a rank's messages take the one of its share of the node's "
        "that their operations name.",
        idle, num_nics));
  }
  return table;
}

model::Table busiest_table(const Outcome& outcome, std::size_t most) {
  model::Table table{
      .name = "links",
      .title = "The busiest links",
      .columns = {{.name = "link", .description = "(x8): so many equal ones together"},
                  {.name = "bandwidth", .unit = "GB/s"},
                  {.name = "carried", .unit = "MB"},
                  percent_column("mean load", "of what the network file leaves to messages"),
                  percent_column("highest load", "in one of at most 128 stretches of time"),
                  percent_column("full", "share of the time"),
                  us_column("lost", "by all messages that this link held up, added up")}};
  const std::vector<std::uint32_t> links = busiest_links(outcome);
  for (std::size_t i = 0; i < std::min(most, links.size()); ++i) {
    const LinkView view(outcome, links[i]);
    table.add_row({view.name(), view.gigabytes_per_s(), view.bytes() / 1e6, view.mean_load(),
                   view.highest_load(), view.full_share(), view.lost_us()});
  }
  if (links.size() > most) {
    table.notes.push_back(core::counted(links.size() - most, "more link") + " carried messages.");
  }
  return table;
}

model::Table contention_table(const Outcome& outcome, const model::ScheduleNotes& notes) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::vector<Passages> of_operation(notes.operations.size());
  for (std::uint32_t rank = 0; rank < notes.spans.size(); ++rank) {
    for (const model::OperationSpan& span : notes.spans[rank])
      add_passages(outcome.record(), span, rank, of_operation[span.operation]);
  }
  std::map<Key, Passages> groups;
  for (std::size_t i = 0; i < of_operation.size(); ++i) {
    if (of_operation[i].messages == 0) continue;
    const model::ScheduleOperation& operation = notes.operations[i];
    Passages& group =
        groups[{std::string(name_of(operation.function)), std::string(name_of(operation.algorithm)),
                std::string(name_of(operation.protocol))}];
    ++group.operations;
    group.messages += of_operation[i].messages;
    group.moving_ns += of_operation[i].moving_ns;
    group.lost_ns += of_operation[i].lost_ns;
  }
  std::vector<std::pair<Key, Passages>> rows(groups.begin(), groups.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.lost_ns > b.second.lost_ns;
  });
  model::Table table{
      .name = "contention",
      .title = "What the messages of NCCL's operations lost by sharing links",
      .columns = {
          {.name = "function"},
          {.name = "algorithm"},
          {.name = "protocol"},
          {.name = "count"},
          {.name = "messages"},
          us_column("in network", "as the first of a connection, of all messages, added up"),
          us_column("lost", "of that, because of messages of other connections"),
          percent_column("share lost", "")}};
  for (const auto& [key, row] : rows) {
    table.add_row({std::get<0>(key), std::get<1>(key), std::get<2>(key), row.operations,
                   row.messages, to_us(row.moving_ns), to_us(row.lost_ns),
                   share_of(row.lost_ns, row.moving_ns)});
  }
  return table;
}

model::Table link_table(const Outcome& outcome) {
  model::Table table{.name = "links",
                     .title = "The load of each link over time",
                     .columns = {{.name = "link"},
                                 {.name = "links"},
                                 {.name = "bandwidth_gbps", .unit = "GB/s"},
                                 {.name = "start_us", .unit = "us"},
                                 {.name = "end_us", .unit = "us"},
                                 {.name = "load_percent", .unit = "%"}}};
  const std::vector<FabricLink>& links = outcome.transfers()->fabric().links();
  const auto bin_ns = static_cast<double>(outcome.transfers()->usage().bin_ns());
  const auto length_ns = static_cast<double>(outcome.longest_ns());
  for (std::uint32_t link = 0; link < links.size(); ++link) {
    const LinkView view(outcome, link);
    for (std::size_t bin = 0; bin < used_bins(outcome); ++bin) {
      const double load = view.load(bin);
      if (load <= 0) continue;
      const double start_ns = static_cast<double>(bin) * bin_ns;
      table.add_row({links[link].name, std::int64_t{links[link].copies}, view.gigabytes_per_s(),
                     to_us(start_ns), to_us(std::min(start_ns + bin_ns, length_ns)), load});
    }
  }
  return table;
}

namespace {

// The unit in which a length of time is easy to read.
struct TimeUnit {
  const char* name;
  double ns;
};

TimeUnit unit_of(double length_ns) {
  if (length_ns >= 1e10) return {"s", 1e9};
  return length_ns >= 1e7 ? TimeUnit{"ms", 1e6} : TimeUnit{"μs", 1e3};
}

report::MapChart map_of(const Outcome& outcome) {
  const TimeUnit unit = unit_of(static_cast<double>(outcome.longest_ns()));
  report::MapChart map{.scale = report::MapChart::Scale::kMagnitude,
                       .x_title = fmt::format("time, {}", unit.name),
                       .y_title = "",
                       .unit = "% of the link's rate",
                       .columns = {},
                       .rows = {},
                       .panels = {}};
  const auto bin_ns = static_cast<double>(outcome.transfers()->usage().bin_ns());
  const std::size_t bins = used_bins(outcome);
  const std::size_t apart = (bins + kTimesOnAMap - 1) / kTimesOnAMap;
  std::vector<std::string> notes;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double start = static_cast<double>(bin) * bin_ns / unit.ns;
    map.columns.push_back(bin % apart == 0 ? fmt::format("{:.4g}", start) : std::string());
    notes.push_back(fmt::format("{:.5g} to {:.5g} {}", start, start + bin_ns / unit.ns, unit.name));
  }
  report::MapPanel& panel = map.panels.emplace_back(report::MapPanel{.title = "load"});
  for (const LinkLoad& link : link_loads(outcome, kLinksOnAMap)) {
    map.rows.push_back(link.name);
    panel.values.insert(panel.values.end(), link.load.begin(), link.load.end());
    panel.notes.insert(panel.notes.end(), notes.begin(), notes.end());
  }
  return map;
}

std::string sentence_of(const Outcome& outcome, const CriticalPath& path) {
  const Transfers::Totals& totals = outcome.transfers()->totals();
  const auto on_path =
      static_cast<double>(path.total_ns[static_cast<std::size_t>(Spent::kContention)]);
  const auto finish = static_cast<double>(outcome.longest_ns());
  const TimeUnit unit = unit_of(finish);
  return fmt::format(
      "The last rank ends at {:.5g} {}; {:.3g} % of that is contention on the critical path, and "
      "messages lose {:.3g} % of their time in the network to each other",
      finish / unit.ns, unit.name, share_of(on_path, finish),
      share_of(totals.lost_ns, totals.moving_ns));
}

}  // namespace

report::Page network_page(const Outcome& outcome,
                          const CriticalPath& path,
                          const std::string& title,
                          const std::vector<model::Table>& tables) {
  report::Page page{.title = title, .answer = {.sentence = sentence_of(outcome, path)}};
  if (!busiest_links(outcome).empty()) {
    page.cards.push_back(
        {.id = "load",
         .title = "How busy the busiest links are over time",
         .content = map_of(outcome),
         .notes = {fmt::format("At most {} links, those first that are full for longest. --links "
                               "writes all.",
                               kLinksOnAMap)}});
  }
  for (const model::Table& table : tables) {
    page.cards.push_back(
        {.id = report::card_id(table.name),
         .title = table.title,
         .content = report::TableCard{.table = table, .shown = report::TableCard::Shown::kOpen}});
  }
  page.provenance = {{"network", outcome.transfers()->fabric().name()}};
  return page;
}

}  // namespace assay::simulate
