#include "cli/manual.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "cli/command_tree.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Sample final : public Command {
 public:
  explicit Sample(App& app) {
    app.add_option("FILE", file_, "what to read")->required();
    app.add_option("-n,--num-runs", runs_, "how many runs; --all-runs takes all")
        ->type_name("N,N|M");
  }

  core::Result<Outcome> run() override { return Outcome::kOk; }

 private:
  std::string file_;
  std::optional<int> runs_;
};

const CommandSpec kSample{
    .name = "sample",
    .summary = "take a well-known sample",
    .description = "Reads it's \\ file.\n\n.Then writes rank<N>_*.csv, see 'assay help'.",
    .regression_means = "it is slower",
    .examples = "assay sample -n 2 'a b' | tr '\\n' ' '\n",
    .make = make_command<Sample>};

TEST(Manual, RoffReadsBackAsWritten) {
  const std::string page = manual_roff(manual_page(kSample));
  EXPECT_THAT(page, StartsWith(".TH \"ASSAY\\-SAMPLE\" 1 \"\" \"assay "));
  EXPECT_THAT(page, HasSubstr(".SH NAME\nassay\\-sample \\- take a well-known sample\n"));
  EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS\n\\fBassay sample\\fR [options] \\fIFILE\\fR\n"));
  // The text holds no request at the beginning of a line and no quote or backslash that roff would
  // change.
  EXPECT_THAT(page, HasSubstr("Reads it\\(aqs \\e file.\n.PP\n\\&.Then writes"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-n, \\-\\-num\\-runs\\fR \\fIN,\\:N|\\:M\\fR\n"
                              "how many runs; \\-\\-all\\-runs takes all\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB3\\fR\nit is slower\n"));
  EXPECT_THAT(page,
              HasSubstr("\nassay sample \\-n 2 \\(aqa b\\(aq | tr \\(aq\\en\\(aq \\(aq \\(aq\n"));
  EXPECT_THAT(page, HasSubstr(".SH SEE ALSO\n\\fBassay\\fR(1)\n"));
}

TEST(Manual, MarkdownShowsNamesAsTheyAre) {
  const std::string document = manual_markdown(kSample);
  EXPECT_THAT(document, StartsWith("# Commands of assay\n"));
  EXPECT_THAT(document, HasSubstr("\n- [assay sample](#assay-sample): take a well-known sample\n"));
  EXPECT_THAT(document, HasSubstr("\n## assay sample\n\nTake a well-known sample.\n\n"
                                  "```\nassay sample [options] FILE\n```\n\nReads it's"));
  EXPECT_THAT(document, HasSubstr("rank\\<N>\\_\\*.csv"));
  EXPECT_THAT(document,
              HasSubstr("- `-n, --num-runs N,N|M`: how many runs; --all-runs takes all\n"));
  EXPECT_THAT(document, HasSubstr("- `3`: it is slower\n"));
  EXPECT_THAT(document, Not(HasSubstr("--help`: show")));
}

TEST(Manual, ADocumentHasAllCommandsBelowInOrder) {
  const std::string document = manual_markdown(*find_command("trace"));
  const std::size_t group = document.find("\n## assay trace\n");
  const std::size_t compare = document.find("\n## assay trace compare\n");
  const std::size_t report = document.find("\n## assay trace report\n");
  EXPECT_LT(group, compare);
  EXPECT_LT(compare, report);
  EXPECT_LT(report, document.size());
  EXPECT_EQ(document.find("\n## assay sweep"), std::string::npos);
  EXPECT_EQ(manual_file_name(*find_command("trace compare")), "assay-trace-compare.1");
}

}  // namespace
}  // namespace assay::cli
