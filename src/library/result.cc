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

// Callers that were built with the first header have no more than these members.
bool is_whole(const assay_call* call) {
  return call == nullptr || call->size >= offsetof(assay_call, stop) + sizeof(call->stop);
}

core::Task::Progress progress_of(const assay_call* call) {
  if (call == nullptr || !is_whole(call) || call->progress == nullptr) return nullptr;
  return [told = call->progress, context = call->context](const std::string& doing,
                                                          std::uint64_t done, std::uint64_t total) {
    const core::InLocale callers(LC_GLOBAL_LOCALE);
    return told(context, doing.c_str(), done, total) == 0;
  };
}

const std::int32_t* stop_of(const assay_call* call) {
  return call != nullptr && is_whole(call) ? call->stop : nullptr;
}

}  // namespace assay::library
