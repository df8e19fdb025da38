// Damaged code objects through the whole way in: reading, decoding, running. Whatever comes, the end is an Error or a
// Trap. Seeded, so that a failure can be run again.

#include "generator/assemble.h"
#include "generator/decode.h"
#include "generator/generate.h"
#include "isa/emulator/emulator.h"
#include "isa/text.h"
#include "tests/support/catch.h"

#include <random>

using namespace zyfa;

namespace {

using Rng = std::mt19937_64;

struct Outcome {
  int refused = 0, trapped = 0, ended = 0;
};

// Reads, decodes and runs one workgroup on an empty memory, for at most a few thousand instructions per wave.
void take(std::span<const std::byte> file, Outcome& outcome) {
  try {
    const generator::CodeObject object = generator::read_code_object(file, "damaged.co");
    const generator::KernelImage& image = generator::find_kernel(object, "", "damaged.co");
    const generator::DecodedKernel kernel = generator::decode(object, image);
    emulator::Launch launch;
    launch.workgroup_size = {512, 1, 1};
    launch.lds_bytes = std::min(image.descriptor.group_segment_bytes, 163840u);
    emulator::Options options;
    options.threads = 1;
    options.max_instructions = 2000;
    const emulator::GlobalMemory memory;
    const auto result = emulator::run(kernel.program, launch, memory, options);
    ++(result.trap ? outcome.trapped : outcome.ended);
  } catch (const Error& error) {
    REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
    ++outcome.refused;
  }
}

}  // namespace

TEST_CASE("a code object with flipped bytes is refused, traps or ends", "[quick]") {
  const auto kernel = generator::generate({}, isa::Machine{});
  Outcome outcome;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    std::vector<std::byte> file = kernel.code_object;
    for (int flips = 1 + static_cast<int>(rng() % 4); flips > 0; --flips)
      file[rng() % file.size()] = static_cast<std::byte>(rng());
    take(file, outcome);
  }
  CHECK(outcome.refused + outcome.trapped + outcome.ended == 150);
  CHECK(outcome.refused > 0);  // the damage reaches the decoder
  CHECK(outcome.trapped > 0);  // and the emulator: an empty memory ends every intact kernel in a trap
}

TEST_CASE("random dwords as code are refused, trap or end", "[quick]") {
  const auto kernel = generator::generate({}, isa::Machine{});
  const generator::CodeObject object = generator::read_code_object(kernel.code_object, "whole.co");
  const auto code =
      std::search(kernel.code_object.begin(), kernel.code_object.end(), object.code.begin(), object.code.begin() + 64) -
      kernel.code_object.begin();
  Outcome outcome;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    std::vector<std::byte> file = kernel.code_object;
    for (std::size_t i = 0; i < object.code.size(); ++i)
      file[static_cast<std::size_t>(code) + i] = static_cast<std::byte>(rng());
    take(file, outcome);
  }
  CHECK(outcome.refused == 50);  // that many random instructions never all lie in the table
}

TEST_CASE("damaged instruction text parses or is refused in one line", "[quick]") {
  const auto kernel = generator::generate({}, isa::Machine{});
  int parsed = 0, refused = 0;
  Rng rng(1);
  for (const isa::Inst& inst : kernel.body.program.code) {
    std::string text = isa::print(inst);
    for (int edits = 1 + static_cast<int>(rng() % 3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = rng() % text.size();
      if (rng() % 2)
        text[at] = static_cast<char>(32 + rng() % 95);
      else
        text.erase(at, 1 + rng() % 4);
    }
    CAPTURE(text);
    try {
      isa::parse(text);
      ++parsed;
    } catch (const Error& error) {
      REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
      ++refused;
    }
  }
  CHECK(parsed > 0);
  CHECK(refused > 0);
}
