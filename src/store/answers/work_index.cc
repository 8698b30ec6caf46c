#include "store/answers/work_index.h"

#include <charconv>

namespace assay::store {
namespace {

std::vector<model::PerfField> exact_fields(const WorkRows& rows, std::size_t family) {
  std::vector<model::PerfField> fields;
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    const std::string& text = rows.exact[i].values[rows.codes_of(family)[i]];
    fields.push_back({.column = rows.exact[i].name, .value = value_of_text(text)});
  }
  return fields;
}

}  // namespace

core::Result<WorkIndex> WorkIndex::make(const std::string& table,
                                        const Frame& frame,
                                        RooflineBinder binder) {
  return WorkIndex(ASSAY_TRY(make_work_rows(table, frame)), std::move(binder));
}

WorkIndex::WorkIndex(WorkRows rows, RooflineBinder binder)
    : rows_(std::make_unique<const WorkRows>(std::move(rows))),
      binder_(std::move(binder)),
      families_(rows_->num_families()) {}

Family WorkIndex::own_family(std::size_t number) const {
  Roofline roofline = binder_ ? binder_(exact_fields(*rows_, number), rows_->sizes) : nullptr;
  return Family(*rows_, number, std::move(roofline));
}

const Family& WorkIndex::family(std::size_t number) const {
  std::unique_ptr<Family>& made = families_[number];
  if (!made) made = std::make_unique<Family>(own_family(number));
  return *made;
}

}  // namespace assay::store
