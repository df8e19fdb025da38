// The HTML page in a browser: it draws, it zooms, and it shows the numbers of zyfa-sim --json.
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/refused.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <regex>

using namespace zyfa;
using nlohmann::json;

namespace {

ProcessResult program(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(ZYFA_BINARY_DIR) + "/" + name);
  return run_process(arguments);
}

bool has_browser() {
  try {
    return run_process({"chromium", "--version"}).exit_code == 0;
  } catch (const Error&) {
    return false;
  }
}

// The document as scripts have made it.
std::string rendered(const std::string& page, const TemporaryDirectory& profile) {
  const ProcessResult result =
      run_process({"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--user-data-dir=" + profile.file("profile"), "--dump-dom", "file://" + page + "#self-check"});
  REQUIRE(result.exit_code == 0);
  return result.out;
}

std::string text_of(const std::string& file) {
  const auto bytes = runtime::read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

double value_at(const json& report, const std::string& key) {
  const json* at = &report;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');)
    at = at->is_array() ? &at->at(std::stoul(part)) : &at->at(part);
  return at->get<double>();
}

struct Shown {
  std::size_t numbers = 0;
  std::vector<std::string> wrong;  // what the report has otherwise
};

// Every number that the document says is one of the report's, against the report.
Shown compare(const std::string& document, const json& report) {
  Shown shown;
  const auto check = [&shown](const std::string& what, std::string text, double value) {
    ++shown.numbers;
    std::erase(text, ',');
    const std::size_t point = text.find('.');
    const std::size_t end = text.find_first_not_of("-0123456789.");
    const double last_digit =
        point == std::string::npos ? 1 : std::pow(10.0, -static_cast<double>(std::min(end, text.size()) - point - 1));
    if (text.find('%') != std::string::npos) value *= 100;
    if (text.empty() || std::abs(std::stod(text) - value) > 0.5001 * last_digit)
      shown.wrong.push_back(what + ": " + text);
  };
  const std::regex number(R"re(data-key="([^"]+)"[^>]*>([^<]*)<)re");
  for (std::sregex_iterator at(document.begin(), document.end(), number), end; at != end; ++at)
    check((*at)[1], (*at)[2], value_at(report, (*at)[1]));
  std::map<std::string, double> lines;
  for (const json& instruction : report.at("instructions"))
    for (const auto& [reason, clk] : instruction.at("stalls").items())
      lines[instruction.at("source")] += clk.get<double>();
  const std::regex line(R"re(data-line="([^"]+)"[^>]*>([^<]*)<)re");
  for (std::sregex_iterator at(document.begin(), document.end(), line), end; at != end; ++at) {
    check((*at)[1], (*at)[2], lines[(*at)[1]]);
    lines.erase((*at)[1]);
  }
  for (const auto& [source, clk] : lines)
    if (clk > 0) shown.wrong.push_back(source + " is missing");
  return shown;
}

double width(const json& range) { return range.at(1).get<double>() - range.at(0).get<double>(); }

}  // namespace

TEST_CASE("The page of a dump draws, zooms and tells the report's numbers", "[dumps][page]") {
  if (!has_browser()) {
    WARN("chromium is not installed: the page was not opened (scripts/install-dependencies installs it)");
    return;
  }
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--out", directory.path().string()}).exit_code == 0);
  const std::string stem = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950");
  const ProcessResult run = program(
      "zyfa-sim", {stem + ".co", "--seqlen", "2048", "--json", "--dump", "page", "--out", directory.path().string()});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report.at("dumps") == json{stem + ".html"});
  const std::string page = text_of(stem + ".html");
  for (const char* outside : {"http://", "https://", "@import", "src=", "url("}) {
    CAPTURE(outside);
    CHECK(page.find(outside) == std::string::npos);
  }

  const std::string document = rendered(stem + ".html", directory);
  const Shown shown = compare(document, report);
  CAPTURE(shown.wrong);
  CHECK(shown.numbers > 60);
  CHECK(shown.wrong.empty());

  const std::regex result(R"re(id="self-check">([^<]*)<)re");
  std::smatch found;
  REQUIRE(std::regex_search(document, found, result));
  const json checked = json::parse(found[1].str());
  CAPTURE(checked.dump());
  CHECK(checked.at("segments") > 100);
  CHECK(width(checked.at("zoomed")) == Approx(width(checked.at("whole")) / 2).epsilon(0.01));
  CHECK(width(checked.at("wheeled")) == Approx(width(checked.at("zoomed")) * 0.7).epsilon(0.01));
  CHECK(width(checked.at("moved")) == width(checked.at("wheeled")));
  CHECK(checked.at("moved").at(0) > checked.at("wheeled").at(0));
  CHECK(width(checked.at("closest")) == 40);
  CHECK(width(checked.at("out")) == 80);
  CHECK(checked.at("fit") == checked.at("whole"));
  CHECK(checked.at("hover").get<std::string>().find("schedules/") != std::string::npos);
  CHECK(checked.at("lastSimd").at(0) == "wave 3");

  // Another number in the page is found.
  std::string tampered = page;
  const std::size_t key = tampered.find("\"matrix_busy\":");
  REQUIRE(key != std::string::npos);
  const std::size_t first = key + std::string("\"matrix_busy\":").size();
  tampered.replace(first, tampered.find(',', first) - first, "0.9876");
  std::ofstream(directory.file("tampered.html"), std::ios::binary) << tampered;
  const Shown caught = compare(rendered(directory.file("tampered.html"), directory), report);
  CHECK(caught.wrong == std::vector<std::string>{"loop.matrix_busy: 98.8 %"});
}

TEST_CASE("zyfa-gen --dump-schedule writes the kernel and its dumps", "[dumps][commands]") {
  const TemporaryDirectory directory;
  const ProcessResult run =
      program("zyfa-gen", {"--head-dim", "128", "--dump-schedule", "--json", "--out", directory.path().string()});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_code == 0);
  const json dumps = json::parse(run.out).at("dumps");
  CHECK(dumps.size() == 4);
  for (const json& dump : dumps) CHECK(std::filesystem::exists(dump.get<std::string>()));
}

TEST_CASE("zyfa-sim refuses dumps in one line", "[quick][dumps][commands]") {
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--out", directory.path().string()}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950.co");
  struct Refused {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const Refused& refused :
       {Refused{{"--dump", "pages"}, "timeline, trace, viewer, page, all"},
        Refused{{"--dump", "page", "--dump-clk", "9:3"}, "empty"},
        Refused{{"--dump", "page", "--out", kernel}, "cannot create directory"},
        Refused{{"--dump", "page", "--machine", "nominal", "--machine", "optimistic"}, "one machine"},
        Refused{{"--dump", "page", "--sensitivity"}, "--sensitivity"}, Refused{{"--out", "x"}, "--dump"},
        Refused{{"--dump-clk", "1:2"}, "--dump"}}) {
    CAPTURE(refused.message);
    std::vector<std::string> arguments{kernel, "--seqlen", "256"};
    arguments.insert(arguments.end(), refused.arguments.begin(), refused.arguments.end());
    check_refused(program("zyfa-sim", arguments), {refused.message});
  }
}
