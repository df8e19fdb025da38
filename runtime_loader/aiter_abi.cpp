#include "runtime_loader/aiter_abi.h"

#include "isa/error.h"
#include "runtime_loader/kernel.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace zyfa::runtime {
namespace {

using enum AiterScale;

// hsa/gfx950/fmha_v4_fwd/fmha_v4_fwd.csv, and the two of v3.
constexpr std::array<AiterFormat, 9> formats = {{
    {"bf16", 16, 16, none, none, true},
    {"fp8", 8, 8, tensor, tensor, true},
    {"mxfp8", 8, 8, block, tensor, true},
    {"i8fp8", 8, 8, tensor, tensor, true},
    {"f8f6", 8, 6, tensor, block, false},
    {"mxfp6", 6, 8, block, channel, false},
    {"f6f4", 6, 4, block, block, false},
    {"mxfp4", 4, 8, block, channel, false},
    {"f4f4", 4, 4, block, block, false},
}};

// Of the objects' code, as (of queries and keys, of values). Those of v4 have the first only.
constexpr std::array<std::array<int, 2>, 3> known_head_dims = {{{128, 128}, {192, 128}, {256, 256}}};

// Takes "hd<number>_" off the front.
std::optional<int> take_head_dim(std::string_view& text) {
  if (!text.starts_with("hd")) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '_') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  return value;
}

// The symbol ends in fmha_fwd_hd<D>[_hd<Dv>]_<format>[_causal][_group][_gfx950]E.
struct Name {
  int head_dim, v_head_dim;
  AiterFormat format;
  bool causal, group;
};

std::optional<Name> parse_symbol(std::string_view symbol) {
  constexpr std::string_view start = "fmha_fwd_";
  const std::size_t at = symbol.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  symbol.remove_prefix(at + start.size());
  const auto head_dim = take_head_dim(symbol);
  if (!head_dim) return std::nullopt;
  const int v_head_dim = take_head_dim(symbol).value_or(*head_dim);
  const std::string_view format = symbol.substr(0, symbol.find_first_of("_E"));
  for (const AiterFormat& known : formats)
    if (known.name == format)
      return Name{*head_dim, v_head_dim, known, symbol.find("_causal") != std::string_view::npos,
                  symbol.find("_group") != std::string_view::npos};
  return std::nullopt;
}

}  // namespace

AiterAbi parse_aiter_abi(std::string_view name) {
  if (name == "aiter-v3") return AiterAbi::v3;
  if (name == "aiter-v3-group") return AiterAbi::v3_group;
  if (name == "aiter-v4") return AiterAbi::v4;
  throw Error("abi '{}' is not known; accepted: aiter-v3, aiter-v3-group, aiter-v4", name);
}

AiterKernel load_aiter_kernel(const std::filesystem::path& code_object, AiterAbi abi) {
  return read_aiter_kernel(read_file(code_object), code_object.string(), abi);
}

AiterKernel read_aiter_kernel(std::span<const std::byte> code_object, const std::string& file, AiterAbi abi) {
  const generator::CodeObject object = generator::read_code_object(code_object, file);
  const generator::KernelImage& image = generator::find_kernel(object, {}, file);
  const auto name = parse_symbol(image.symbol);
  if (!name) throw Error("{}: symbol {} is no forward attention of AITER's", file, image.symbol);
  const auto known = std::span(known_head_dims).first(abi == AiterAbi::v4 ? 1 : known_head_dims.size());
  if (std::ranges::find(known, std::array{name->head_dim, name->v_head_dim}) == known.end())
    throw Error("{}: symbol {} has head dims {} and {}; {}", file, image.symbol, name->head_dim, name->v_head_dim,
                abi == AiterAbi::v4 ? "objects of aiter-v4 have 128"
                                    : "AITER's objects have 128, 192 with 128 of values, or 256");
  if (name->causal && abi == AiterAbi::v4) throw Error("{}: aiter-v4 has no causal objects", file);
  if (name->group != (abi == AiterAbi::v3_group))
    throw Error("{} is {} for groups of sequences; aiter-v3-group is for those that are", file,
                name->group ? "an object" : "no object");
  // The BF16 objects of v3 end at lse_head.
  if (image.descriptor.kernarg_bytes > sizeof(AiterKernargs))
    throw Error("{} takes {} bytes of arguments, AITER's objects take {} at most", file, image.descriptor.kernarg_bytes,
                sizeof(AiterKernargs));
  AiterKernel kernel{.abi = abi,
                     .symbol = image.symbol,
                     .format = name->format,
                     .head_dim = name->head_dim,
                     .v_head_dim = name->v_head_dim,
                     .causal = name->causal,
                     .workgroup_size = image.max_workgroup_size,
                     .descriptor = image.descriptor,
                     .code = generator::decode(object, image)};
  return kernel;
}

std::array<std::uint32_t, 3> aiter_grid(const AiterKernel& kernel, int longest_seqlen_q, int heads, int sequences) {
  const std::uint32_t per_workgroup = kernel.queries_per_workgroup();
  std::uint32_t tiles = (static_cast<std::uint32_t>(longest_seqlen_q) + per_workgroup - 1) / per_workgroup;
  if (kernel.causal) tiles = (tiles + 1) / 2;
  const auto y = static_cast<std::uint32_t>(heads), z = static_cast<std::uint32_t>(sequences);
  if (kernel.abi == AiterAbi::v3_group) return {y, z, tiles};
  return {tiles, y, z};
}

}  // namespace zyfa::runtime
