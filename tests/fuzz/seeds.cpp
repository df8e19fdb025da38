#include "tests/fuzz/seeds.h"

#include "generator/assemble.h"
#include "generator/generate.h"
#include "generator/link.h"
#include "generator/machine_file.h"
#include "isa/text.h"
#include "runtime_loader/npy_header.h"
#include "tests/support/aiter_objects.h"
#include "tests/support/machine_code.h"
#include "tests/support/random_inst.h"

#include <algorithm>

namespace zyfa::fuzz {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// One instruction of every row that needs no code object around it and no hardware register but MODE, in listings of 32
// that end where they should. They stay short because a mutated program that is longer only runs slower.
std::vector<std::string> listings_of_every_row() {
  constexpr int rows_per_listing = 32;
  tests::Rng rng(1);
  std::vector<std::string> listings;
  for (int op = 0; op < static_cast<int>(isa::Op::count); ++op) {
    if (op % rows_per_listing == 0) listings.emplace_back();
    const isa::Kind kind = isa::desc(static_cast<isa::Op>(op)).kind;
    if (isa::uses_pc(kind) || isa::names_hardware_register(kind)) continue;
    listings.back() += isa::print(tests::random_inst(static_cast<isa::Op>(op), rng)) + "\n";
  }
  for (std::string& listing : listings) listing += "s_endpgm\n";
  return listings;
}

// Loads, LDS, a matrix product, a loop and a store: what a kernel does, in as few bytes as possible.
constexpr std::string_view small_body = R"(s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
s_movk_i32 s8, 0x3
s_waitcnt vmcnt(0)
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b128 v[4:7], v1 offset:16
v_cvt_pk_fp8_f32 v3, v2, v2
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], 0
s_nop 15
v_accvgpr_read_b32 v8, a0
again:
s_sub_u32 s8, s8, 1
s_cmp_lg_u32 s8, 0
v_mov_b32_dpp v9, v8 row_shr:1 row_mask:0xf bank_mask:0xf
s_cbranch_scc1 again
global_store_dword v1, v8, s[6:7]
s_endpgm
)";

std::string small_kernel(std::string_view name, int line) {
  std::string body(small_body);
  for (std::size_t at = 0; (at = body.find("again", at)) != body.npos; at += name.size() + 5) body.insert(at, name);
  return fmt::format(R"(.text
.globl {0}
.p2align 8
.type {0},@function
{0}:
.loc 1 {2} 0
{1}.size {0}, .-{0}
.rodata
.p2align 6
.amdhsa_kernel {0}
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_kernarg_size 16
  .amdhsa_next_free_vgpr 20
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
)",
                     name, body, line);
}

std::string small_metadata(std::string_view name) {
  return fmt::format(R"(  - .name: {0}
    .symbol: {0}.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 20
    .agpr_count: 4
    .max_flat_workgroup_size: 128
    .args:
      - {{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
)",
                     name);
}

Bytes small_code_object(int version, int dwarf_version) {
  std::string text =
      fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version {}\n", version);
  // A file 0 makes LLVM write the line table of DWARF 5.
  if (dwarf_version == 5) text += ".file 0 \"kernels\" \"small.s\"\n";
  text += ".file 1 \"kernels/small.s\"\n" + small_kernel("small", 1) + small_kernel("other", 30);
  text += ".amdgpu_metadata\namdhsa.version: [1, 2]\namdhsa.kernels:\n" + small_metadata("small") +
          small_metadata("other") + ".end_amdgpu_metadata\n";
  return generator::link(generator::assemble(text, "small.s"));
}

Bytes npy(std::string_view descr, std::vector<std::int64_t> shape, std::size_t data_bytes) {
  Bytes file = bytes_of(runtime::npy_header(descr, shape));
  file.resize(file.size() + data_bytes, std::byte{0x3c});
  return file;
}

Bytes safetensors(std::string_view header, std::size_t data_bytes) {
  Bytes file(8);
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<std::byte>(header.size() >> 8 * i);
  const Bytes text = bytes_of(header);
  file.insert(file.end(), text.begin(), text.end());
  file.resize(file.size() + data_bytes, std::byte{0x3c});
  return file;
}

}  // namespace

std::vector<Bytes> code_seeds() {
  std::vector<Bytes> seeds{tests::machine_code(small_body)};
  for (const std::string& listing : listings_of_every_row()) seeds.push_back(tests::machine_code(listing));
  return seeds;
}

std::vector<Bytes> code_object_seeds() {
  std::vector<Bytes> seeds;
  for (const int version : {4, 5, 6}) seeds.push_back(small_code_object(version, 4));
  seeds.push_back(small_code_object(5, 5));
  for (const char* symbol : {"fmha_fwd_hd128_mxfp8_gfx950E", "fmha_fwd_hd192_hd128_bf16_causal_groupE"})
    seeds.push_back(tests::aiter_stub(symbol));
  seeds.push_back(generator::generate({}, isa::Machine{}).code_object);
  return seeds;
}

std::vector<Bytes> text_seeds() {
  std::vector<Bytes> seeds{bytes_of(small_body)};
  for (const std::string& listing : listings_of_every_row()) seeds.push_back(bytes_of(listing));
  return seeds;
}

std::vector<Bytes> json_seeds() {
  const generator::GeneratedKernel kernel = generator::generate({}, isa::Machine{});
  return {bytes_of(kernel.manifest.dump(1)),
          bytes_of(generator::generate_quantise({}, isa::Machine{}).manifest.dump(1)),
          bytes_of(generator::to_json(isa::Machine{}).dump()),
          bytes_of(generator::to_json(generator::AttentionConfig{}).dump()),
          bytes_of(R"({"head_dim": 64, "causal": true /* comments are read */})"),
          bytes_of(R"({"lds_bytes": 163840, "xdl_write_to_read": [5, 8, 12, 20]})")};
}

std::vector<Bytes> tensor_seeds() {
  return {npy("<f4", {2, 3}, 24),
          npy("<f8", {3}, 24),
          npy("<f2", {1, 2, 2}, 8),
          npy("|u1", {4}, 4),
          npy("<V2", {}, 2),
          safetensors(R"({"q":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]}})", 8),
          safetensors(R"({"__metadata__":{"format":"pt"},"v":{"dtype":"BF16","shape":[3],"data_offsets":[2,8]}})", 8)};
}

}  // namespace zyfa::fuzz
