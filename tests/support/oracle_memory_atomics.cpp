#include "tests/support/oracle_memory_parts.h"

#include "isa/numeric.h"

#include <algorithm>
#include <bit>
#include <map>

namespace zyfa::tests {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

namespace {

double to_double(u64 bits, u32 bytes) {
  return bytes == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits))) : std::bit_cast<double>(bits);
}

// By the formats' own functions, for the NaN that a sum of NaN becomes is theirs to say.
u64 packed_sum(u64 a, u64 b, const isa::Format& format) {
  u64 sum = 0;
  for (const int shift : {0, 16}) {
    const double exact = static_cast<double>(isa::decode(format, a >> shift & 0xffff)) +
                         static_cast<double>(isa::decode(format, b >> shift & 0xffff));
    sum |= u64{isa::encode(format, static_cast<float>(exact))} << shift;
  }
  return sum;
}

}  // namespace

u64 after_atomic(const std::string& what, u64 memory, u64 data, u64 compare, u32 bytes) {
  const u64 mask = bytes == 4 ? 0xffffffff : ~u64{0};
  const auto is_signed_less = [bytes](u64 x, u64 y) {
    return bytes == 4 ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y)
                      : static_cast<std::int64_t>(x) < static_cast<std::int64_t>(y);
  };
  if (what == "add") return (memory + data) & mask;
  if (what == "sub") return (memory - data) & mask;
  if (what == "inc") return memory >= data ? 0 : memory + 1;
  if (what == "dec") return memory == 0 || memory > data ? data : memory - 1;
  if (what == "smin") return is_signed_less(data, memory) ? data : memory;
  if (what == "smax") return is_signed_less(memory, data) ? data : memory;
  if (what == "umin") return std::min(memory, data);
  if (what == "umax") return std::max(memory, data);
  if (what == "and") return memory & data;
  if (what == "or") return memory | data;
  if (what == "xor") return memory ^ data;
  if (what == "swap") return data;
  if (what == "cmpswap") return memory == compare ? data : memory;
  if (what == "pk_add_f16") return packed_sum(memory, data, isa::f16_format);
  if (what == "pk_add_bf16") return packed_sum(memory, data, isa::bf16_format);
  const double m = to_double(memory, bytes), x = to_double(data, bytes);
  if (what == "fmin") return x < m ? data : memory;
  if (what == "fmax") return x > m ? data : memory;
  if (bytes == 4)
    return std::bit_cast<u32>(static_cast<float>(m + x));  // fadd: double holds enough bits to round twice
  return std::bit_cast<u64>(m + x);
}

AtomicOperation ds_operation(std::string text) {
  AtomicOperation op;
  if (const std::size_t rtn = text.find("rtn_"); rtn != std::string::npos) {
    op.returns = true;
    text.erase(rtn, 4);
  }
  const std::size_t last = text.rfind('_');
  const std::string verb = text.substr(0, last), type = text.substr(last + 1);
  op.bytes = type.ends_with("64") ? 8 : 4;
  static const std::map<std::string, std::string> renamed = {{"wrxchg", "swap"}, {"cmpst", "cmpswap"}};
  op.what = renamed.contains(verb) ? renamed.at(verb) : verb;
  if (verb == "pk_add")
    op.what += "_" + type;
  else if (type[0] == 'f')
    op.what = "f" + verb;
  else if (verb == "min" || verb == "max")
    op.what = (type[0] == 'i' ? "s" : "u") + verb;
  return op;
}

AtomicOperation vmem_operation(std::string text, bool returns) {
  AtomicOperation op{std::move(text), 4, returns};
  if (op.what.starts_with("pk_add")) return op;
  if (op.what.ends_with("_x2")) {
    op.bytes = 8;
    op.what.resize(op.what.size() - 3);
  } else if (op.what.ends_with("_f32") || op.what.ends_with("_f64")) {
    op.bytes = op.what.ends_with("64") ? 8 : 4;
    op.what = "f" + op.what.substr(0, op.what.size() - 4);
  }
  return op;
}

}  // namespace zyfa::tests
