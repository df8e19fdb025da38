#include "runtime_loader/library/kernel_folder.h"

#include "generator/manifest_fields.h"
#include "runtime_loader/library/arguments.h"
#include "runtime_loader/library/failure.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;

bool suits(const zyfa_kernel_traits& kernel, const zyfa_kernel_traits& asked) {
  if (kernel.kind != asked.kind || kernel.head_dim != asked.head_dim) return false;
  if (kernel.kind == ZYFA_QUANTISE) return kernel.hadamard == asked.hadamard;
  return kernel.v_head_dim == asked.v_head_dim && kernel.causal == asked.causal && kernel.lse == asked.lse &&
         kernel.q_type == asked.q_type && kernel.folded == asked.folded &&
         (asked.softmax == ZYFA_SOFTMAX_ANY || kernel.softmax == asked.softmax);
}

std::string describe(const zyfa_kernel_traits& t) {
  if (t.kind == ZYFA_QUANTISE)
    return fmt::format("quantisation of head dim {}{}", t.head_dim, t.hadamard ? ", hadamard" : "");
  constexpr const char* softmaxes[] = {"any", "lean", "exact"};
  return fmt::format("attention of head dims {} and {}, {}causal, {} queries, softmax {}{}{}", t.head_dim, t.v_head_dim,
                     t.causal ? "" : "not ", t.q_type == ZYFA_QUERY_BF16 ? "bf16" : "fp8", softmaxes[t.softmax],
                     t.folded ? ", folded" : "", t.lse ? ", lse" : "");
}

void check(const zyfa_kernel_traits& t) {
  const auto flag = [](const char* name, std::int32_t value) {
    if (value != 0 && value != 1)
      throw Failure(ZYFA_INVALID_ARGUMENT, "traits.{} is {}; 0 and 1 are accepted", name, value);
  };
  if (t.kind != ZYFA_ATTENTION && t.kind != ZYFA_QUANTISE)
    throw Failure(ZYFA_INVALID_ARGUMENT, "traits.kind is {}; ZYFA_ATTENTION and ZYFA_QUANTISE are accepted",
                  static_cast<int>(t.kind));
  if (t.kind == ZYFA_QUANTISE) return flag("hadamard", t.hadamard);
  flag("causal", t.causal);
  flag("lse", t.lse);
  flag("folded", t.folded);
  if (t.q_type != ZYFA_QUERY_FP8 && t.q_type != ZYFA_QUERY_BF16)
    throw Failure(ZYFA_INVALID_ARGUMENT, "traits.q_type is {}; ZYFA_QUERY_FP8 and ZYFA_QUERY_BF16 are accepted",
                  static_cast<int>(t.q_type));
  if (t.softmax != ZYFA_SOFTMAX_ANY && t.softmax != ZYFA_SOFTMAX_LEAN && t.softmax != ZYFA_SOFTMAX_EXACT)
    throw Failure(ZYFA_INVALID_ARGUMENT, "traits.softmax is {}; ZYFA_SOFTMAX_ANY, _LEAN and _EXACT are accepted",
                  static_cast<int>(t.softmax));
}

// None for JSON that is no manifest of ours: of a probe, of another version.
std::optional<zyfa_kernel_traits> traits_in(const fs::path& file) {
  return with_status(ZYFA_BAD_CODE_OBJECT, [&]() -> std::optional<zyfa_kernel_traits> {
    const nlohmann::json json = generator::read_json_file(file);
    if (!json.is_object() || !json.contains("manifest_version") || !has_known_version(json)) return std::nullopt;
    if (generator::manifest_kind(json, file.string()) == "quantise")
      return traits_of(generator::quantise_manifest_from_json(json, file.string()));
    return traits_of(generator::manifest_from_json(json, file.string()));
  });
}

}  // namespace

fs::path find_kernel_file(const fs::path& folder, const zyfa_kernel_traits& traits) {
  check(traits);
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Failure(ZYFA_FILE_NOT_FOUND, "{} is no folder", folder.string());
  std::vector<fs::path> code_objects;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".co" && fs::exists(fs::path(entry.path()).replace_extension(".json")))
      code_objects.push_back(entry.path());
  std::ranges::sort(code_objects);
  std::size_t kernels = 0;
  for (const fs::path& code_object : code_objects) {
    const auto found = traits_in(fs::path(code_object).replace_extension(".json"));
    if (found && suits(*found, traits)) return code_object;
    kernels += found.has_value();
  }
  throw Failure(ZYFA_NO_KERNEL, "none of the {} kernels in {} is for {}; zyfa-gen makes it", kernels, folder.string(),
                describe(traits));
}

}  // namespace zyfa::runtime
