#include "trace/collectives/columns.h"

#include <algorithm>
#include <string>

namespace assay::trace::collectives {
namespace {

constexpr std::size_t kMostListed = 4;

model::Cell whole(std::int64_t value, bool as_real) {
  if (value < 0) return {};
  if (as_real) return static_cast<double>(value);
  return value;
}

// Returns the public tool's name for a missing group: "Unknown_Group", or "all" when no event has a
// group and no rank communicates on more than one stream.
std::string missing_group_name(const Study& study) {
  if (!study.is_compat()) return "";
  for (const Group& group : study.catalog().groups()) {
    if (group.name != 0) return "Unknown_Group";
  }
  for (const RankEvents& rank : study.recording.ranks) {
    const bool one_stream =
        std::all_of(rank.events.begin(), rank.events.end(),
                    [&](const Event& event) { return event.stream == rank.events.front().stream; });
    if (!one_stream) return "Unknown_Group";
  }
  return "all";
}

}  // namespace

Cells::Cells(const Study& study) : study_(&study), missing_group_name_(missing_group_name(study)) {
  if (!study.is_compat()) return;
  for (MetadataId id = 0; id < study.catalog().size(); ++id) {
    const Metadata& metadata = study.catalog()[id];
    real_group_size_ = real_group_size_ || metadata.group_size < 0;
    real_in_elements_ = real_in_elements_ || metadata.in_elements < 0;
    real_out_elements_ = real_out_elements_ || metadata.out_elements < 0;
  }
}

model::Cell Cells::text(model::TextId id) const {
  if (id == 0) return {};
  return std::string(study_->catalog().text(id));
}

model::Cell Cells::group_name(const Metadata& metadata) const {
  if (metadata.group_name != 0) return text(metadata.group_name);
  if (missing_group_name_.empty()) return {};
  return missing_group_name_;
}

model::Cell Cells::group_size(const Metadata& metadata) const {
  return whole(metadata.group_size, real_group_size_);
}

model::Cell Cells::in_elements(const Metadata& metadata) const {
  return whole(metadata.in_elements, real_in_elements_);
}

model::Cell Cells::out_elements(const Metadata& metadata) const {
  return whole(metadata.out_elements, real_out_elements_);
}

model::Cell Cells::elements(std::int64_t count) const {
  return whole(count, real_in_elements_);
}

model::Cell Cells::node_span(const Metadata& metadata) const {
  return std::string(label(study_->catalog().group(metadata).span));
}

std::string Cells::id(const Metadata& metadata, std::uint32_t number) const {
  return model::text(group_name(metadata)) + "_" + std::to_string(number);
}

model::Cell launch_cell(std::vector<std::uint32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (!values.empty() && values.front() == 0) values.erase(values.begin());
  if (values.empty()) return {};
  if (values.size() == 1) return static_cast<std::int64_t>(values.front());
  if (values.size() > kMostListed)
    return std::to_string(values.front()) + ".." + std::to_string(values.back());
  std::string list;
  for (const std::uint32_t value : values)
    list += (list.empty() ? "" : "|") + std::to_string(value);
  return list;
}

}  // namespace assay::trace::collectives
