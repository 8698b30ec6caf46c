// The locale of a thread. Numbers are written and read as in C's own one whatever a program that we
// are a library of has set; our own programs set none.
#pragma once

#include <locale.h>

namespace assay::core {

// C's own locale, which is never freed.
locale_t plain_locale();

// While one exists, the C functions that this thread calls work in the locale.
class InLocale {
 public:
  explicit InLocale(locale_t locale) : before_(::uselocale(locale)) {}

  InLocale(const InLocale&) = delete;
  InLocale& operator=(const InLocale&) = delete;

  ~InLocale() { ::uselocale(before_); }

 private:
  locale_t before_;
};

}  // namespace assay::core
