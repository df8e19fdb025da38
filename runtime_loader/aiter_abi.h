// The calling convention of AITER's forward attention code objects for gfx950: arguments, formats, grid. Facts from
// AITER's host code (csrc/cpp_itfs/mha_fwd.cu, csrc/py_itfs_cu/asm_mha_v4_fwd.cu) and its objects (aiter-anatomy.md 3).
#pragma once

#include "generator/decode.h"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace zyfa::runtime {

enum class AiterAbi {
  v3,        // batches of one length
  v3_group,  // sequences packed one after the other, with cumulative lengths
  v4,        // batches of one length; neither causal nor grouped heads nor LSE
};
AiterAbi parse_aiter_abi(std::string_view name);  // aiter-v3, aiter-v3-group, aiter-v4; throws Error naming them

// Every argument has 16 bytes, of which the first 4 or 8 hold it. Strides are bytes.
template <class T>
struct alignas(16) AiterSlot {
  T value{};
};

struct AiterStrides {
  AiterSlot<std::uint32_t> row, head, batch;
};

struct AiterDescaleStrides {
  AiterSlot<std::uint32_t> batch, head;
};

struct AiterKernargs {
  AiterSlot<std::uint64_t> o, q, k, v, lse;
  AiterSlot<float> softmax_scale;
  AiterSlot<std::uint32_t> seqlen_q;
  AiterSlot<std::uint32_t> q_row, q_tile, q_head, q_batch;  // q_tile: of a workgroup's queries
  AiterSlot<std::uint32_t> heads_per_kv_head;
  AiterStrides k_stride;
  AiterSlot<std::uint32_t> tuning;     // order of workgroups and keys; read by the BF16 objects only
  AiterSlot<std::uint32_t> write_lse;  // 0 or 1
  AiterSlot<std::uint32_t> seqlen_k, head_dim, v_head_dim, heads;
  AiterStrides v_stride, o_stride;
  AiterSlot<std::uint64_t> q_lengths, k_lengths;  // group: int32, cumulative, one more than sequences
  AiterSlot<std::uint32_t> lse_head;
  AiterSlot<std::uint64_t> q_starts, k_starts;  // group: where sequences begin; the lengths' array without padding
  AiterSlot<std::uint64_t> q_descale, k_descale, v_descale;
  AiterDescaleStrides q_descale_stride, k_descale_stride, v_descale_stride;
};
static_assert(sizeof(AiterKernargs) == 656);
static_assert(offsetof(AiterKernargs, heads) == 0x140 && offsetof(AiterKernargs, q_descale) == 0x200);

// What the scales of an operand look like in memory.
enum class AiterScale {
  none,
  tensor,   // one float, of which kernels read only the first where AITER's host accepts more
  block,    // E8M0 bytes, one for 32 elements of a row
  channel,  // a float for each head and dimension
};

struct AiterFormat {
  std::string_view name;  // as the symbols spell it
  int qk_bits, v_bits;    // of an element
  AiterScale qk_scale, v_scale;
  bool plain;  // rows of elements in order; false: K or V is packed by tiles in an order that is not rebuilt here
};

struct AiterKernel {
  AiterAbi abi{};
  std::string symbol;
  AiterFormat format;
  int head_dim = 0, v_head_dim = 0;
  bool causal = false;
  std::uint32_t workgroup_size = 0;
  generator::KernelDescriptor descriptor;
  generator::DecodedKernel code;

  std::uint32_t queries_per_workgroup() const { return head_dim == 192 ? 128 : 256; }
};

// Throws Error for a file that is none of AITER's forward attention objects, or is for another of the conventions.
AiterKernel load_aiter_kernel(const std::filesystem::path& code_object, AiterAbi abi);

// The same for bytes in memory; `file` names them in errors.
AiterKernel read_aiter_kernel(std::span<const std::byte> code_object, const std::string& file, AiterAbi abi);

// Workgroups. A causal object runs two query tiles in one workgroup, the first with the last, for equal work.
std::array<std::uint32_t, 3> aiter_grid(const AiterKernel& kernel, int longest_seqlen_q, int heads, int sequences);

}  // namespace zyfa::runtime
