// A product through every matrix builtin that clang has for gfx950 against a plain triple loop: small integers, which
// every format holds and whose sums are exact in any order, so that the bits must agree.
#include "generator/assemble.h"
#include "generator/decode.h"
#include "isa/error.h"
#include "isa/hazards.h"
#include "isa/text.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <utility>

namespace zyfa::tests {
namespace {

enum class Element { f16, bf16, fp8, bf8, fp6, bf6, fp4, i8, f32, f64 };

// Codes of 1 and 2; the sign is the highest bit of a code, or in i8 its two's complement.
struct ElementCodes {
  int bits;
  std::uint64_t one, two;
};
ElementCodes codes_of(Element element) {
  switch (element) {
    case Element::f16:
      return {16, 0x3c00, 0x4000};
    case Element::bf16:
      return {16, 0x3f80, 0x4000};
    case Element::fp8:
      return {8, 0x38, 0x40};
    case Element::bf8:
      return {8, 0x3c, 0x40};
    case Element::fp6:
      return {6, 0x08, 0x10};
    case Element::bf6:
      return {6, 0x0c, 0x10};
    case Element::fp4:
      return {4, 0x2, 0x4};
    case Element::i8:
      return {8, 1, 2};
    case Element::f32:
      return {32, 0x3f800000, 0x40000000};
    case Element::f64:
      return {64, 0x3ff0000000000000, 0x4000000000000000};
  }
  return {};
}

std::uint64_t code_of(Element element, int value) {
  const ElementCodes codes = codes_of(element);
  if (value == 0) return 0;
  if (element == Element::i8) return static_cast<std::uint8_t>(value);
  const std::uint64_t sign = value < 0 ? std::uint64_t{1} << (codes.bits - 1) : 0;
  return sign | (value == 1 || value == -1 ? codes.one : codes.two);
}

std::vector<std::uint32_t> packed(Element element, const std::vector<int>& values) {
  const auto bits = static_cast<std::size_t>(codes_of(element).bits);
  std::vector<std::uint32_t> words((values.size() * bits + 31) / 32);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t bit = 0; bit < bits; ++bit)
      words[(i * bits + bit) / 32] |= static_cast<std::uint32_t>(code_of(element, values[i]) >> bit & 1)
                                      << (i * bits + bit) % 32;
  return words;
}

struct Product {
  const char* name;
  Element a, b;
  bool is_integer, is_double;
  int m, k, blocks = 1;
  int cbsz = 0, abid = 0, blgp = 0;
};

struct Problem {
  std::vector<int> a, b, c;  // a and b: rows (columns) of 2 K, c: rows of M; blocks one after the other
};

std::vector<int> small_integers(std::mt19937& random, int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int& value : values) value = static_cast<int>(random() % 5) - 2;
  return values;
}

Problem random_problem(const Product& p, std::mt19937& random) {
  const int elements = p.blocks * p.m * 2 * p.k;
  return {small_integers(random, elements), small_integers(random, elements),
          small_integers(random, p.blocks * p.m * p.m)};
}

// The block and column whose B the instruction takes (blgp): the 64 lanes hold the columns of all blocks, once for each
// group of k, and move by 16 at a time.
int moved_column(const Product& p, int block, int column, int k) {
  if (p.blgp == 0 || p.is_double) return block * p.m + column;
  const int columns = p.blocks * p.m, per_group = p.k * columns / 64;
  const int lane = k / per_group * columns + block * p.m + column;
  const int from[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                          {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
  return 16 * from[p.blgp][lane / 16] + lane % 16;
}

std::vector<std::int64_t> multiply(const Product& p, const Problem& problem) {
  std::vector<std::int64_t> d(problem.c.begin(), problem.c.end());
  const auto sign = [&](int operand) { return p.is_double && (p.blgp >> operand & 1) ? -1 : 1; };
  for (int step = 0; step < 2; ++step)
    for (int block = 0; block < p.blocks; ++block)
      for (int row = 0; row < p.m; ++row)
        for (int column = 0; column < p.m; ++column) {
          std::int64_t& sum = d[static_cast<std::size_t>((block * p.m + row) * p.m + column)];
          sum *= sign(2);
          for (int k = 0; k < p.k; ++k) {
            const int a_block = (block >> p.cbsz << p.cbsz) + p.abid;
            const int a_at = (a_block * p.m + row) * 2 * p.k + step * p.k + k;
            // Lane and column coincide where k is not divided among lane groups; FP32 16x16x4 has one k a group.
            const int moved = moved_column(p, block, column, k);
            const int columns = p.blocks * p.m, per_group = p.k * columns / 64;
            const int b_k = moved / columns * per_group + k % per_group;
            const int b_row = p.blgp == 0 || p.is_double ? moved : moved % columns;
            const int b_at = b_row * 2 * p.k + step * p.k + (p.blgp == 0 || p.is_double ? k : b_k);
            sum += sign(0) * sign(1) * problem.a[static_cast<std::size_t>(a_at)] *
                   problem.b[static_cast<std::size_t>(b_at)];
          }
        }
  return d;
}

std::vector<std::uint32_t> accumulator_words(const Product& p, const std::vector<std::int64_t>& values) {
  std::vector<std::uint32_t> words;
  for (const std::int64_t value : values) {
    if (p.is_double) {
      const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
      words.insert(words.end(), {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)});
    } else {
      words.push_back(p.is_integer ? static_cast<std::uint32_t>(value)
                                   : std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
  }
  return words;
}

// d, a, b, c, then what else the kernel takes.
KernelArguments arguments_of(const Product& p, const Problem& problem, const std::vector<std::uint32_t>& a) {
  const std::vector<std::uint32_t> c = accumulator_words(p, {problem.c.begin(), problem.c.end()});
  KernelArguments arguments;
  arguments.add(std::vector<std::uint32_t>(c.size()));
  arguments.add(a);
  arguments.add(packed(p.b, problem.b));
  arguments.add(c);
  return arguments;
}

constexpr Grid one_wave{.workgroups = 1, .workgroup_size = 64};

std::string run_dense(const ClangKernels& kernels, const Product& p, std::mt19937& random) {
  const Problem problem = random_problem(p, random);
  KernelArguments arguments = arguments_of(p, problem, packed(p.a, problem.a));
  if (std::string wrong = kernels.launch(p.name, one_wave, arguments); !wrong.empty()) return wrong;
  return bit_difference(p.name, accumulator_words(p, multiply(p, problem)), arguments.contents(0));
}

// Of each 4 k of A two are kept, at random; they are all that the kernel gets of A.
std::string run_sparse(const ClangKernels& kernels, const Product& p, std::mt19937& random) {
  Problem problem = random_problem(p, random);
  std::vector<int> kept;
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(p.m * 2 * p.k / 8));
  for (std::size_t four = 0; four < problem.a.size() / 4; ++four) {
    const std::uint32_t first = random() % 4, second = (first + 1 + random() % 3) % 4;
    for (std::uint32_t i = 0; i < 4; ++i)
      if (i != first && i != second) problem.a[4 * four + i] = 0;
    kept.insert(kept.end(), {problem.a[4 * four + first], problem.a[4 * four + second]});
    indices[four / 2] |= static_cast<std::uint8_t>((first | second << 2) << 4 * (four % 2));
  }
  KernelArguments arguments = arguments_of(p, problem, packed(p.a, kept));
  arguments.add(indices);
  if (std::string wrong = kernels.launch(p.name, one_wave, arguments); !wrong.empty()) return wrong;
  return bit_difference(p.name, accumulator_words(p, multiply(p, problem)), arguments.contents(0));
}

// Scales of 1, 2 and 4 for each row and 32 k.
std::string run_scaled(const ClangKernels& kernels, const Product& p, std::mt19937& random) {
  Problem problem = random_problem(p, random);
  KernelArguments arguments = arguments_of(p, problem, packed(p.a, problem.a));
  for (std::vector<int>* matrix : {&problem.a, &problem.b}) {
    std::vector<std::uint8_t> scales(matrix->size() / 32);
    for (std::uint8_t& scale : scales) scale = static_cast<std::uint8_t>(127 + random() % 3);
    arguments.add(scales);
    for (std::size_t i = 0; i < matrix->size(); ++i) (*matrix)[i] <<= scales[i / 32] - 127;
  }
  if (std::string wrong = kernels.launch(p.name, one_wave, arguments); !wrong.empty()) return wrong;
  return bit_difference(p.name, accumulator_words(p, multiply(p, problem)), arguments.contents(0));
}

constexpr bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// clang-format off
const Product dense[] = {
#define DENSE(kernel, builtin, FA, FB, FC, ea, eb, M, K, blocks, cbsz, abid, blgp) \
  {#kernel, Element::ea, Element::eb, starts_with(#FC, "int"), starts_with(#FC, "double"), M, K, blocks, cbsz, abid, blgp},
#define SPARSE(...)
#define FORMATS(...)
#include "tests/differential/kernels/matrix_rows.h"
};
const Product sparse[] = {
#define DENSE(...)
#define SPARSE(kernel, builtin, FA, FB, FC, ea, eb, M, K, abid) {#kernel, Element::ea, Element::eb, starts_with(#FC, "int"), false, M, K},
#define FORMATS(...)
#include "tests/differential/kernels/matrix_rows.h"
};
const Product scaled[] = {
#define DENSE(...)
#define SPARSE(...)
#define FORMATS(kernel, builtin, FC, ea, eb, M, K, byte_a, byte_b) {#kernel, Element::ea, Element::eb, false, false, M, K},
#include "tests/differential/kernels/matrix_rows.h"
};
// clang-format on

// What is wrong with the wait states of a kernel without branches: LLVM puts in as many as it knows each instruction to
// need, by passes that it has for itself, and our rules must ask for the same.
std::string wait_state_difference(const ClangKernels& kernels, const Product& p) {
  isa::Machine machine;
  machine.clause_break = 0;  // LLVM forgets what a long row of loads began with
  isa::Program program;
  std::vector<int> idle_before(1);
  for (const isa::Inst& inst :
       generator::decode(kernels.object(), generator::find_kernel(kernels.object(), p.name, "matrix.c")).program.code) {
    if (inst.op == isa::Op::s_nop) {
      idle_before.back() += isa::wait_states(inst);
    } else {
      program.code.push_back(inst);
      idle_before.push_back(0);
    }
  }
  const isa::Flow flow(program);
  int all = 0;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    std::vector<int> without = idle_before;
    const int theirs = std::exchange(without[i], 0);
    const int ours = isa::missing_wait_states(program, flow, without, i, machine);
    if (ours != theirs)
      return fmt::format("{}: {} wait states instead of LLVM's {} before `{}`", p.name, ours, theirs,
                         isa::print(program.code[i]));
    all += theirs;
  }
  return all > 0 ? "" : fmt::format("{}: no wait states", p.name);
}

}  // namespace

TEST_CASE("products through every matrix builtin of clang", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("matrix.c");
  std::mt19937 random(1);
  for (const Product& p : dense) CHECK(run_dense(kernels, p, random) == "");
  for (const Product& p : sparse) CHECK(run_sparse(kernels, p, random) == "");
  for (const Product& p : scaled) CHECK(run_scaled(kernels, p, random) == "");
}

TEST_CASE("clang's wait states after matrix instructions are those of our rules", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("matrix.c");
  for (const auto& products : std::initializer_list<std::span<const Product>>{dense, sparse, scaled})
    for (const Product& p : products) CHECK(wait_state_difference(kernels, p) == "");
}

TEST_CASE("a wrong product through a builtin is noticed") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  ClangKernels kernels("matrix.c");
  std::mt19937 random(2);
  SECTION("lanes of B rearranged on the host alone") {
    Product p = dense[0];
    REQUIRE(run_dense(kernels, p, random) == "");
    p.blgp = 1;
    CHECK(run_dense(kernels, p, random) != "");
  }
  SECTION("another set of index bits") {
    const auto is_small = [](const Product& p) { return std::string_view(p.name) == "sparse_f16_16x16x32"; };
    const Product& p = *std::find_if(std::begin(sparse), std::end(sparse), is_small);
    REQUIRE(run_sparse(kernels, p, random) == "");
    // abid, bits 14..11 of the first dword (CDNA4 ISA, VOP3P-MAI), goes from 3 to 2.
    const generator::KernelImage& image = generator::find_kernel(kernels.object(), p.name, "matrix.c");
    const auto code = std::span(kernels.code()).subspan(image.code_offset, image.code_bytes);
    int changed = 0;
    for (const generator::DisassembledLine& line : generator::disassemble(code))
      if (line.text.starts_with("v_smfmac") && ++changed) code[line.offset + 1] ^= std::byte{0x08};
    REQUIRE(changed == 2);
    CHECK(run_sparse(kernels, p, random) != "");
  }
}

}  // namespace zyfa::tests
