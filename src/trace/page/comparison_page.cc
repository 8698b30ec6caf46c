#include "trace/page/comparison_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "trace/attribution/resolution.h"
#include "trace/compare/answer.h"
#include "trace/compare/change.h"
#include "trace/compare/rows.h"
#include "trace/page/cards.h"

namespace assay::trace {
namespace {

constexpr const char* kChoice = "Setting";
constexpr std::size_t kMostReasons = 5;

// Adds the lines of the sheet `Answer` to where they belong; the others stay in that sheet.
void add_answer_lines(report::PageAnswer& answer, const model::Book& book) {
  const model::Table* table = book.find("Answer");
  if (table == nullptr || table->columns.size() < 2) return;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    const std::string question = model::text(table->at(row, 0));
    const std::string text = model::text(table->at(row, 1));
    if (row == 0) answer.sentence = text;
    if (question == kWhyQuestion && answer.why.empty()) answer.why.push_back({text, "Answer"});
    if (question == kNextQuestion) answer.next.push_back({text});
  }
}

// What is missing makes any answer doubtful. Comparisons with one baseline may miss the same.
void add_missing(report::PageAnswer& answer, const model::Book& book, const std::string& prefix) {
  const model::Table* table = book.find("Answer");
  if (table == nullptr || table->columns.size() < 2) return;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    if (model::text(table->at(row, 0)) != kMissingQuestion) continue;
    std::string text = model::text(table->at(row, 1));
    const bool is_told =
        std::any_of(answer.warnings.begin(), answer.warnings.end(),
                    [&text](const report::PageLine& line) { return line.text == text; });
    if (!is_told) answer.warnings.push_back({std::move(text), table_card_id(prefix, "Answer")});
  }
}

std::string share_text(double change, double total) {
  constexpr double kWhole = 100;
  const double percent = attribution::rounded_beside(kWhole * change / total, kWhole);
  if (std::isnan(percent)) return "";
  constexpr double kThreeDigits = 999.5;
  return std::fabs(percent) < kThreeDigits ? fmt::format(" ({:.3g} % of the change)", percent)
                                           : fmt::format(" ({:.0f} % of the change)", percent);
}

// The largest parts of the attribution say why, where there is one.
void add_reasons(report::PageAnswer& answer,
                 const ComparisonEvidence& evidence,
                 const std::string& prefix) {
  const std::string about = prefix.empty() ? "" : prefix + ", ";
  const auto chart = attribution_chart(evidence, prefix);
  if (!chart || chart->parts.empty()) return;
  std::vector<report::WaterfallPart> parts = chart->parts;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::fabs(a.value) > std::fabs(b.value);
  });
  const double largest = std::fabs(parts.front().value);
  if (parts.size() > kMostReasons) parts.resize(kMostReasons);
  std::erase_if(answer.why, [](const report::PageLine& line) { return line.card == "Answer"; });
  for (const report::WaterfallPart& part : parts) {
    answer.why.push_back({fmt::format("{}{}: {:+.3g} ms{}{}", about, part.name,
                                      attribution::rounded_beside(part.value, largest),
                                      share_text(part.value, chart->to.value - chart->from.value),
                                      part.note.empty() ? "" : ": " + part.note),
                          part.card});
  }
}

// What may be the cause instead of the setting is what a reader must see; the rest is counted.
void add_warnings(report::PageAnswer& answer, const model::Warnings& warnings) {
  for (const model::Warning& warning : warnings.all()) {
    const bool touches = warning.reason.starts_with("measured with");
    (touches ? answer.warnings : answer.other_warnings).push_back({warning.sentence()});
  }
}

report::RankingFigure ranking_of(const ComparisonEvidence& evidence, const Headline& headline) {
  const double percent = headline.change_percent;
  const auto ms = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{:.3g}", value);
  };
  report::RankingFigure figure{
      .title = {},
      .subtitle = {},
      .axis = fmt::format("time of a step against {} (%): left is slower, right is faster",
                          evidence.baseline.label),
      .tolerance = model::kTolerancePercent,
      .headings = {"step (ms)", "verdict"},
      .items = {}};
  figure.items.push_back({.name = evidence.baseline.label,
                          .value = 0,
                          .low = std::nan(""),
                          .high = std::nan(""),
                          .texts = {ms(headline.baseline_ms), "reference"}});
  figure.items.push_back({.name = evidence.test.label,
                          .value = percent,
                          .low = headline.change_percent_low,
                          .high = headline.change_percent_high,
                          .verdict = model::verdict_of(model::Cell(headline.verdict)),
                          .texts = {ms(headline.test_ms), headline.verdict}});
  if (percent > 0) std::swap(figure.items[0], figure.items[1]);
  return figure;
}

std::string ranking_title(const ComparisonEvidence& evidence, const Headline& headline) {
  if (std::isnan(headline.change_percent)) return "Time of a step";
  return fmt::format("{} takes {} ms for a step, {} {} ms", evidence.test.label,
                     three_digits(headline.test_ms), evidence.baseline.label,
                     three_digits(headline.baseline_ms));
}

void append(std::vector<report::PageCard>& to, std::vector<report::PageCard> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void add_condition(std::vector<report::PageCard>& cards, const std::string& value) {
  for (report::PageCard& card : cards)
    card.when.emplace_back(kChoice, value);
}

std::vector<report::PageCard> opening_tables(const model::Book& book) {
  using Shown = report::TableCard::Shown;
  std::vector<report::PageCard> cards;
  for (const model::Table& table : book.tables) {
    cards.push_back(
        {.id = table_card_id("", table.name),
         .title = table.name + ": " + (table.style.opens_with_text ? "all settings" : table.title),
         .content = report::TableCard{.table = table,
                                      .shown = cards.empty() ? Shown::kOpen : Shown::kClosed}});
    if (!table.style.opens_with_text) cards.back().notes = table.notes;
  }
  return cards;
}

}  // namespace

report::Page comparison_page(const ComparisonEvidence& evidence,
                             const std::optional<Headline>& headline) {
  report::Page page{.title = evidence.test.label + " against " + evidence.baseline.label,
                    .answer = {}};
  add_answer_lines(page.answer, evidence.report);
  if (page.answer.sentence.empty()) page.answer.sentence = page.title;
  add_reasons(page.answer, evidence, "");
  add_missing(page.answer, evidence.report, "");
  add_warnings(page.answer, evidence.warnings);
  if (headline) {
    page.answer.verdict = headline->verdict;
    page.cards.push_back({.id = "ranking",
                          .title = ranking_title(evidence, *headline),
                          .content = ranking_of(evidence, *headline)});
  }
  append(page.cards, chart_cards(evidence, ""));
  append(page.cards, table_cards(evidence, ""));
  page.provenance = evidence.provenance;
  return page;
}

report::Page comparisons_page(const PageOpening& opening,
                              std::span<const ComparisonEvidence> comparisons) {
  report::Page page{
      .title = opening.title, .answer = opening.answer, .provenance = opening.provenance};
  report::PageChoice choice{.name = kChoice, .values = {}, .first = 0};
  if (opening.ranking) {
    page.cards.push_back({.id = "ranking",
                          .title = opening.ranking->title,
                          .content = *opening.ranking,
                          .notes = {opening.ranking->subtitle}});
  }
  append(page.cards, all_runs_cards(opening.settings, opening.curves, opening.criterion));
  if (auto chart = settings_chart(comparisons)) {
    page.cards.push_back({.id = "settings",
                          .title = "What a step consists of with each setting",
                          .content = std::move(*chart)});
  }
  std::vector<report::PageCard> tables;
  if (opening.tables != nullptr) tables = opening_tables(*opening.tables);
  for (const ComparisonEvidence& evidence : comparisons) {
    const std::string& name = evidence.test.label;
    choice.values.push_back(name);
    add_missing(page.answer, evidence.report, name);
    if (name == opening.first) {
      choice.first = choice.values.size() - 1;
      if (opening.differs) add_reasons(page.answer, evidence, name);
    }
    std::vector<report::PageCard> charts = chart_cards(evidence, name);
    std::vector<report::PageCard> own_tables = table_cards(evidence, name);
    add_condition(charts, name);
    add_condition(own_tables, name);
    append(page.cards, std::move(charts));
    append(tables, std::move(own_tables));
  }
  page.choices = {std::move(choice)};
  append(page.cards, std::move(tables));
  return page;
}

}  // namespace assay::trace
