// What one does with fuzz targets by hand: write their corpus, run findings again, run the seeded driver for longer.

#include "generator/generate.h"
#include "isa/isa.h"
#include "runtime_loader/kernel.h"
#include "tests/fuzz/campaign.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <set>

using namespace zyfa;

namespace {

namespace fs = std::filesystem;

// DIR/<target>/<number>, and DIR/text.dict with the words of the table for libFuzzer's -dict.
void write_corpus(const fs::path& directory) {
  for (const fuzz::Target& target : fuzz::targets()) {
    fs::create_directories(directory / target.name);
    std::size_t number = 0;
    for (const fuzz::Bytes& seed : target.seeds())
      generator::write_file(directory / target.name / fmt::format("{:03}", number++), seed);
  }
  std::set<std::string> words;
  for (int op = 0; op < static_cast<int>(isa::Op::count); ++op) {
    const isa::Desc& row = isa::desc(static_cast<isa::Op>(op));
    for (const std::string_view suffix : {"", "_e32", "_e64", "_dpp", "_sdwa"})
      if (isa::has_short_form(row.kind) != suffix.empty()) words.insert(fmt::format("\"{}{} \"\n", row.name, suffix));
  }
  std::string dictionary;
  for (const std::string& word : words) dictionary += word;
  generator::write_file(directory / "text.dict", std::as_bytes(std::span(dictionary)));
}

void replay(const fuzz::Target& target, const std::vector<std::string>& files) {
  constexpr const char* names[] = {"refused", "trapped", "accepted"};
  for (const std::string& file : files)
    fmt::print("{}: {}\n", file, names[static_cast<int>(target.take(runtime::read_file(file)))]);
}

// True if nothing was found. The file named `keep` holds the input that is running.
bool drive(const fuzz::Target& target, std::uint64_t seed, std::uint64_t inputs, const std::string& keep) {
  const auto before = [&](std::span<const std::byte> input) {
    if (!keep.empty()) generator::write_file(keep, input);
  };
  const fuzz::Campaign campaign = fuzz::run_campaign(target, target.seeds(), seed, inputs, before);
  fmt::print("{} inputs: {} refused, {} trapped, {} accepted, {} findings\n", inputs, campaign.refused,
             campaign.trapped, campaign.accepted, campaign.findings.size());
  for (const fuzz::CampaignFinding& finding : campaign.findings) {
    const std::string file = fmt::format("finding_{}_{}_{}", target.name, seed, finding.number);
    generator::write_file(file, finding.input);
    fmt::print("{}: {}\n", file, finding.what);
  }
  return campaign.findings.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Fuzz targets by hand; docs/testing.md");
  app.require_subcommand(1);
  std::string directory, target, keep;
  std::vector<std::string> files;
  std::uint64_t seed = 1, inputs = 1000;
  CLI::App* corpus = app.add_subcommand("corpus", "Write the seeds of every target");
  corpus->add_option("directory", directory)->required();
  CLI::App* run = app.add_subcommand("run", "Run files through a target");
  run->add_option("target", target)->required();
  run->add_option("files", files)->required();
  CLI::App* mutations = app.add_subcommand("mutate", "Run mutations of the seeds through a target");
  mutations->add_option("target", target)->required();
  mutations->add_option("--seed", seed);
  mutations->add_option("--inputs", inputs);
  mutations->add_option("--keep", keep, "File that always holds the input that is running");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*corpus) write_corpus(directory);
    if (*run) replay(fuzz::find_target(target), files);
    if (*mutations) return drive(fuzz::find_target(target), seed, inputs, keep) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}
