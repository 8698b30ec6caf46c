#include "sweep/library_version.h"

#include <algorithm>
#include <cctype>

namespace assay::sweep {
namespace {

// NCCL 2.4 to 2.29 holds "NCCL version 2.28.3+cuda13.0", and older RCCL "RCCL version
// 2.11.4+hip5.0". RCCL since ROCm 6 holds "RCCL version : 2.22.3" and a separate "HEAD:eef7b29".
constexpr std::string_view kVersion = "CCL version ";
constexpr std::size_t kLeastHashDigits = 7;
constexpr std::size_t kMostHashDigits = 40;

bool is_version_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_hex(char c) {
  return is_version_digit(c) || (c >= 'a' && c <= 'f');
}

bool is_branch(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._/-").find(c) != std::string_view::npos;
}

bool is_version(char c) {
  return is_branch(c) || c == '+' || c == ':';
}

std::string_view leading(std::string_view text, bool (*belongs)(char)) {
  const auto end = std::find_if_not(text.begin(), text.end(), belongs);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Returns the text BRANCH:HASH around the colon at position `colon`, if zero bytes enclose exactly
// that text, and otherwise "".
std::string_view commit_at(std::string_view piece, std::size_t colon) {
  const std::string_view hash = leading(piece.substr(colon + 1), is_hex);
  std::size_t end = colon + 1 + hash.size();
  if (end < piece.size() && piece[end] == '+') ++end;  // built from a changed tree
  std::size_t start = colon;
  while (start > 0 && is_branch(piece[start - 1]))
    --start;
  const bool apart = start > 0 && piece[start - 1] == '\0' && end < piece.size() &&
                     piece[end] == '\0' && start < colon;
  if (!apart || hash.size() < kLeastHashDigits || hash.size() > kMostHashDigits) return {};
  return piece.substr(start, end - start);
}

std::string find_commit(std::string_view piece) {
  for (auto colon = piece.find(':'); colon != std::string_view::npos;
       colon = piece.find(':', colon + 1)) {
    const std::string_view commit = commit_at(piece, colon);
    if (!commit.empty()) return std::string(commit);
  }
  return {};
}

}  // namespace

VersionSearch::VersionSearch(std::string_view name)
    : rccl_(name.find("rccl") != std::string_view::npos) {}

// Keeps the longest of several versions, because it is the most precise: NCCL holds both
// "2.28.3+cuda13.0" and "2.28.3".
void VersionSearch::add_version(std::string_view piece, std::size_t at) {
  std::string_view rest = piece.substr(at + kVersion.size());
  if (rest.starts_with(": ")) rest.remove_prefix(2);
  const std::string_view version = leading(rest, is_version);
  if (version.empty() || !is_version_digit(version[0]) ||
      version.find('.') == std::string_view::npos) {
    return;
  }
  if (version.size() > version_.size()) version_ = version;
}

void VersionSearch::add(std::string_view piece) {
  const char first = rccl_ ? 'R' : 'N';
  for (auto at = piece.find(kVersion); at != std::string_view::npos;
       at = piece.find(kVersion, at + 1)) {
    if (at > 0 && piece[at - 1] == first) add_version(piece, at);
  }
  if (rccl_ && commit_.empty()) commit_ = find_commit(piece);
}

std::string VersionSearch::version() const {
  const bool complete =
      version_.empty() || commit_.empty() || version_.find(':') != std::string::npos;
  return complete ? version_ : version_ + "-" + commit_;
}

std::string version_in_name(std::string_view name) {
  const auto suffix = name.find(".so.");
  if (suffix == std::string_view::npos) return {};
  const std::string_view version = name.substr(suffix + 4);
  const bool full = version.find('.') != std::string_view::npos &&
                    std::all_of(version.begin(), version.end(),
                                [](char c) { return is_version_digit(c) || c == '.'; });
  return full ? std::string(version) : std::string();
}

}  // namespace assay::sweep
