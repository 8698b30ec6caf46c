#include "library/result.h"

#include <cstddef>

#include "core/locale.h"
#include "core/parallel.h"

namespace assay::library {

void Result::take_book(const model::Book& book) {
  const std::size_t before = tables_.size();
  tables_.resize(before + book.tables.size());
  core::parallel_for(book.tables.size(), 0,
                     [&](std::size_t i) { tables_[before + i] = columns_of(book.tables[i]); });
}

void Result::take(std::string_view message, bool is_warning) {
  const std::scoped_lock lock(mutex_);
  messages_.push_back({std::string(message), is_warning});
}

const Message* Result::message(std::size_t number) const {
  const std::scoped_lock lock(mutex_);
  return number < messages_.size() ? &messages_[number] : nullptr;
}

std::size_t Result::num_messages() const {
  const std::scoped_lock lock(mutex_);
  return messages_.size();
}

void make_result(const assay_call* call, assay_result** result) {
  *result = nullptr;
  *result = new assay_result{.taken = Result(progress_of(call), stop_of(call))};
}

const char* text_of(const Message* message, int* is_warning) {
  if (is_warning != nullptr) *is_warning = message != nullptr && message->is_warning ? 1 : 0;
  return message == nullptr ? nullptr : message->text.c_str();
}

namespace {

// Callers that were built with an older header have a shorter structure.
template <class Member>
bool has(const assay_call* call, Member assay_call::*member) {
  if (call == nullptr) return false;
  const auto* begin = reinterpret_cast<const char*>(call);  // NOLINT: offsets in a C structure
  const auto* end = reinterpret_cast<const char*>(&(call->*member) + 1);  // NOLINT
  return static_cast<std::size_t>(end - begin) <= call->size;
}

}  // namespace

core::Task::Progress progress_of(const assay_call* call) {
  if (!has(call, &assay_call::context) || call->progress == nullptr) return nullptr;
  return [told = call->progress, context = call->context](const std::string& doing,
                                                          std::uint64_t done, std::uint64_t total) {
    const core::InLocale callers(LC_GLOBAL_LOCALE);
    return told(context, doing.c_str(), done, total) == 0;
  };
}

const std::int32_t* stop_of(const assay_call* call) {
  return has(call, &assay_call::stop) ? call->stop : nullptr;
}

}  // namespace assay::library
