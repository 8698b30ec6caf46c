#include "report/page.h"

#include <fmt/core.h>

#include <cctype>

#include "core/output_file.h"
#include "core/text.h"
#include "report/packed_text.h"
#include "report/page_json.h"
#include "report/page_program.h"
#include "report/xlsx_text.h"

namespace assay::report {
namespace {

// Makes a text safe between tags and in an attribute with quotes.
std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : xml_text(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// Writes the hyphens of negative numbers as minus signs. It is not for texts with commands, which
// are copied.
std::string prose_html(std::string_view text) {
  std::string prose;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    const bool is_negative = text[i] == '-' && begins && i + 1 < text.size() &&
                             std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (is_negative) {
      prose += "\u2212";
    } else {
      prose += text[i];
    }
  }
  return html_text(prose);
}

using TextHtml = std::string (*)(std::string_view text);

std::string line_html(const PageLine& line, TextHtml text_html) {
  if (line.card.empty()) return text_html(line.text);
  return fmt::format("{} <a href=\"#card={}\">rows</a>", text_html(line.text),
                     html_text(card_id(line.card)));
}

std::string list_html(const std::vector<PageLine>& lines, TextHtml text_html = html_text) {
  std::string list = "<ul>\n";
  for (const PageLine& line : lines)
    list += "<li>" + line_html(line, text_html) + "</li>\n";
  return list + "</ul>\n";
}

std::string part_html(const char* heading,
                      const std::vector<PageLine>& lines,
                      TextHtml text_html = html_text) {
  if (lines.empty()) return "";
  return fmt::format("<h3>{}</h3>\n{}", heading, list_html(lines, text_html));
}

std::string warnings_html(const PageAnswer& answer) {
  std::string html;
  if (!answer.warnings.empty()) {
    html += "<div class=\"warnings\">\n" +
            part_html("What could make this wrong", answer.warnings) + "</div>\n";
  }
  if (!answer.other_warnings.empty()) {
    html += fmt::format("<details><summary>{} more {}</summary>\n{}</details>\n",
                        answer.other_warnings.size(),
                        answer.other_warnings.size() == 1 ? "warning" : "warnings",
                        list_html(answer.other_warnings));
  }
  return html;
}

std::string answer_html(const PageAnswer& answer) {
  std::string html = "<section id=\"answer\">\n<h1>" + prose_html(answer.sentence) + "</h1>\n";
  if (!answer.compared.empty())
    html += "<p class=\"note\">" + prose_html(answer.compared) + "</p>\n";
  html += part_html("Why", answer.why, prose_html) + part_html("What next", answer.next);
  return html + warnings_html(answer) + "</section>\n";
}

// Returns the first word of a verdict in small letters, which the styles know.
std::string mark_of(std::string_view verdict) {
  std::string mark;
  for (const char c : verdict) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    mark += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return mark;
}

std::string bar_html(const Page& page) {
  const std::string& verdict = page.answer.verdict;
  const std::string badge =
      verdict.empty()
          ? ""
          : fmt::format("<span class=\"verdict{}\">{}</span>: ", html_text(mark_of(verdict)),
                        html_text(verdict));
  return fmt::format("<header id=\"bar\"><div><span class=\"short\">{}{}</span></div></header>\n",
                     badge, html_text(page.title));
}

std::string provenance_html(const Page& page) {
  if (page.provenance.empty()) return "";
  std::string rows;
  for (const auto& [name, value] : page.provenance) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_text(name),
                        html_text(value));
  }
  return "<footer><details><summary>Where this comes from</summary>\n<table class=\"origin\">" +
         rows + "</table>\n</details></footer>\n";
}

std::string packed_element(const std::string& id, const std::string& packed) {
  return fmt::format("<script type=\"text/plain\" id=\"{}\">{}</script>\n", id, packed);
}

std::string data_html(const Page& page) {
  std::string html = packed_element("data", packed_text(page_json(page)));
  std::size_t tables = 0;
  for (const PageCard& card : page.cards) {
    if (const auto* table = std::get_if<TableCard>(&card.content))
      html += packed_element(fmt::format("t{}", tables++), packed_text(table_json(table->table)));
  }
  return html + packed_element("program", std::string(kPageProgram));
}

// Nothing is ever fetched: the browser itself forbids it.
constexpr std::string_view kPageHead =
    R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">
)";

constexpr std::string_view kSections =
    R"(<section id="charts"></section>
<section id="tables" class="sheets"><h3>Tables</h3></section>
<section id="raw" class="sheets"><h3>The data behind them</h3></section>
<noscript><p>Charts and tables need JavaScript, which is off. The answer above does not.</p></noscript>
<p id="too-old" hidden>This browser is too old for the charts and tables: it cannot unpack them.</p>
</main>
)";

// Unpacks the program and runs it.
constexpr std::string_view kStart =
    R"(<script>
(async () => {
  if (typeof DecompressionStream === 'undefined') {
    document.getElementById('too-old').hidden = false;
    return;
  }
  const bytes = Uint8Array.from(atob(document.getElementById('program').textContent), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const script = document.createElement('script');
  script.textContent = await new Response(stream).text();
  document.body.append(script);
})();
</script>
</body>
</html>
)";

}  // namespace

std::string card_id(std::string_view text) {
  std::string id;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || core::is_digit(c) ||
                          c == '_' || c == '-' || c == '.';
    id += is_plain ? c : '_';
  }
  return id;
}

bool has_pages() {
  return !kPageProgram.empty();
}

core::Result<std::string> page_html(const Page& page) {
  if (!has_pages()) {
    return core::Error{
        "this assay was built without HTML pages; build it with npm installed, and without "
        "-DASSAY_PAGE=OFF"};
  }
  std::string html(kPageHead);
  html += "<title>" + html_text(page.title) + "</title>\n<style>";
  html += kPageStyles;
  html += "</style>\n</head>\n<body>\n" + bar_html(page) + "<main>\n" + answer_html(page.answer);
  html += kSections;
  html += provenance_html(page) + data_html(page);
  html += kStart;
  return html;
}

core::Status write_page(const Page& page, const std::filesystem::path& path) {
  const std::string html = ASSAY_TRY(page_html(page));
  return core::write_file(path, html);
}

}  // namespace assay::report
