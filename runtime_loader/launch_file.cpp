#include "runtime_loader/launch_file.h"

#include "generator/json_file.h"
#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/kernel.h"
#include "runtime_loader/load_code.h"
#include "runtime_loader/random.h"
#include "runtime_loader/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t most_buffer_bytes = std::uint64_t{1} << 32;
constexpr std::uint32_t most_segment_bytes = 4096;  // HSA: what a dispatch packet's kernarg segment may have and more
constexpr std::size_t pointer_bytes = 8;

// Where in the file one is, for messages and for files beside it.
struct Place {
  const fs::path& file;
  std::string where;

  Place at(std::string_view key) const {
    return {file, where.empty() ? std::string(key) : fmt::format("{}.{}", where, key)};
  }
  Place at(std::size_t index) const { return {file, fmt::format("{}[{}]", where, index)}; }
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    throw Error("{}: {}{}{}", file.string(), where, where.empty() ? "" : " ",
                fmt::format(text, std::forward<Arguments>(arguments)...));
  }
};

void check_keys(const Json& object, const Place& place, std::initializer_list<std::string_view> accepted) {
  if (!object.is_object()) place.fail("is not a JSON object");
  for (const auto& item : object.items())
    if (std::ranges::find(accepted, std::string_view(item.key())) == accepted.end())
      place.fail("has the unknown key '{}'; accepted are {}", item.key(), fmt::join(accepted, ", "));
}

std::uint64_t read_count(const Json& value, const Place& place, std::uint64_t low, std::uint64_t high) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low || value.get<std::uint64_t>() > high)
    place.fail("is {}, not an integer from {} to {}", value.dump(), low, high);
  return value.get<std::uint64_t>();
}

std::string read_text(const Json& value, const Place& place) {
  if (!value.is_string() || value.get<std::string>().empty()) place.fail("is {}, not a name", value.dump());
  return value.get<std::string>();
}

std::array<std::uint32_t, 3> read_axes(const Json& json, std::string_view key, const Place& top, std::uint64_t most) {
  const Place place = top.at(key);
  if (!json.contains(key)) top.fail("'{}' is missing: one to three integers", key);
  const Json& value = json.at(key);
  const Json axes = value.is_number() ? Json::array({value}) : value;
  if (!axes.is_array() || axes.empty() || axes.size() > 3) place.fail("is not one to three integers");
  std::array<std::uint32_t, 3> result{1, 1, 1};
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[i] = static_cast<std::uint32_t>(read_count(axes[i], place, 1, most));
  return result;
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<std::byte> read_integer(const Json& value, const Place& place) {
  constexpr auto low = std::numeric_limits<T>::min();
  constexpr auto high = std::numeric_limits<T>::max();
  const bool fits = value.is_number_unsigned()  ? std::cmp_less_equal(value.get<std::uint64_t>(), high)
                    : value.is_number_integer() ? std::cmp_greater_equal(value.get<std::int64_t>(), low)
                                                : false;
  if (!fits) place.fail("is {}, not an integer from {} to {}", value.dump(), low, high);
  return bytes_of(value.get<T>());
}

template <class T>
std::vector<std::byte> read_real(const Json& value, const Place& place) {
  if (!value.is_number()) place.fail("is {}, not a number", value.dump());
  return bytes_of(value.get<T>());
}

struct ScalarType {
  std::string_view name;
  std::vector<std::byte> (*read)(const Json&, const Place&);
};
constexpr ScalarType scalar_types[] = {{"i8", read_integer<std::int8_t>},   {"u8", read_integer<std::uint8_t>},
                                       {"i16", read_integer<std::int16_t>}, {"u16", read_integer<std::uint16_t>},
                                       {"i32", read_integer<std::int32_t>}, {"u32", read_integer<std::uint32_t>},
                                       {"i64", read_integer<std::int64_t>}, {"u64", read_integer<std::uint64_t>},
                                       {"f32", read_real<float>},           {"f64", read_real<double>}};

std::vector<std::byte> read_scalar(const Json& json, const Place& place) {
  const std::string type = read_text(json.at("type"), place.at("type"));
  const auto* found = std::ranges::find(scalar_types, std::string_view(type), &ScalarType::name);
  if (found == std::end(scalar_types)) {
    std::vector<std::string_view> names;
    for (const ScalarType& t : scalar_types) names.push_back(t.name);
    place.fail("has the type '{}'; accepted are {}", type, fmt::join(names, ", "));
  }
  if (!json.contains("value")) place.fail("has a type but no value");
  return found->read(json.at("value"), place.at("value"));
}

// "00ff 12": bytes in the order of memory.
std::vector<std::byte> read_hex(const Json& value, const Place& place) {
  std::string digits = read_text(value, place);
  std::erase(digits, ' ');
  const auto nibble = [&](char c) {
    const auto at = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
    if (at == std::string_view::npos || (c < '0')) place.fail("is {}, not pairs of hexadecimal digits", value.dump());
    return static_cast<unsigned>(at);
  };
  if (digits.size() % 2 != 0) place.fail("is {}, not pairs of hexadecimal digits", value.dump());
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(nibble(digits[i]) << 4 | nibble(digits[i + 1])));
  return bytes;
}

// Numbers of deviation 1 and mean 0 in the format; `bytes` takes the random bits as they are.
struct Fill {
  std::string_view name;
  std::size_t element_bytes;
  void (*write)(const RandomStream&, std::uint64_t, std::byte*);
};
template <class Code, Code (*encode)(float)>
void write_normal(const RandomStream& random, std::uint64_t i, std::byte* to) {
  const Code code = encode(static_cast<float>(random.gaussian(i)));
  std::memcpy(to, &code, sizeof code);
}
float as_is(float value) { return value; }
std::uint8_t to_e4m3(float value) { return isa::float_to_e4m3(value, isa::Overflow::saturate); }
constexpr Fill fills[] = {
    {"zeros", 1, [](const RandomStream&, std::uint64_t, std::byte* to) { *to = std::byte{0}; }},
    {"random", 1,
     [](const RandomStream& r, std::uint64_t i, std::byte* to) { *to = static_cast<std::byte>(r.bits(i)); }},
    {"random_f32", 4, write_normal<float, as_is>},
    {"random_bf16", 2, write_normal<std::uint16_t, isa::float_to_bf16>},
    {"random_e4m3", 1, write_normal<std::uint8_t, to_e4m3>}};

std::vector<std::byte> read_fill(const Json& json, const Place& place, std::uint64_t stream) {
  const std::uint64_t size = read_count(json.at("bytes"), place.at("bytes"), 1, most_buffer_bytes);
  const std::string name = json.contains("fill") ? read_text(json.at("fill"), place.at("fill")) : "zeros";
  const auto* fill = std::ranges::find(fills, std::string_view(name), &Fill::name);
  if (fill == std::end(fills)) {
    std::vector<std::string_view> names;
    for (const Fill& f : fills) names.push_back(f.name);
    place.fail("has the fill '{}'; accepted are {}", name, fmt::join(names, ", "));
  }
  const std::uint64_t seed =
      json.contains("seed") ? read_count(json.at("seed"), place.at("seed"), 0, ~std::uint64_t{0}) : 1;
  std::vector<std::byte> bytes(size);
  if (name == "zeros") return bytes;
  const RandomStream random(seed, stream);
  for (std::uint64_t i = 0; i < size / fill->element_bytes; ++i)
    fill->write(random, i, bytes.data() + i * fill->element_bytes);
  return bytes;
}

std::vector<std::byte> read_contents(const Json& json, const Place& place, std::size_t stream) {
  const int sources = json.contains("bytes") + json.contains("npy") + json.contains("file");
  if (sources != 1) place.fail("needs one of 'bytes', 'npy' and 'file'");
  if (json.contains("bytes")) return read_fill(json, place, stream);
  const char* key = json.contains("npy") ? "npy" : "file";
  if (json.contains("fill") || json.contains("seed")) place.fail("has a fill for what comes from a file");
  const fs::path path = place.file.parent_path() / read_text(json.at(key), place.at(key));
  return json.contains("npy") ? load_tensor(path.string()).bytes : read_file(path);
}

LaunchArgument read_argument(const Json& json, const Place& place, LaunchFile& launch) {
  check_keys(json, place, {"type", "value", "buffer", "bytes", "fill", "seed", "npy", "file", "plus", "raw", "offset"});
  LaunchArgument argument{.offset = {}, .bytes = {}, .buffer = {}, .where = place.where};
  const int kinds = json.contains("type") + json.contains("buffer") + json.contains("raw");
  if (kinds != 1) place.fail("needs one of 'type' (a number), 'buffer' (a pointer) and 'raw' (bytes)");
  if (json.contains("offset"))
    argument.offset =
        static_cast<std::uint32_t>(read_count(json.at("offset"), place.at("offset"), 0, most_segment_bytes));
  if (json.contains("raw") && !argument.offset) place.fail("has raw bytes, which need an 'offset'");
  if (json.contains("raw")) argument.bytes = read_hex(json.at("raw"), place.at("raw"));
  if (json.contains("type")) argument.bytes = read_scalar(json, place);
  if (!json.contains("buffer")) return argument;
  const std::string name = read_text(json.at("buffer"), place.at("buffer"));
  const auto known = std::ranges::find(launch.buffers, name, &LaunchBuffer::name);
  const bool is_new = known == launch.buffers.end();
  argument.buffer = static_cast<std::size_t>(known - launch.buffers.begin());
  argument.bytes.resize(pointer_bytes);
  if (is_new) {
    launch.buffers.push_back({name, read_contents(json, place, launch.buffers.size())});
  } else if (json.contains("bytes") || json.contains("npy") || json.contains("file")) {
    place.fail("says again what is in the buffer '{}'", name);
  }
  if (json.contains("plus"))
    argument.plus = read_count(json.at("plus"), place.at("plus"), 0, launch.buffers[*argument.buffer].bytes.size());
  return argument;
}

std::size_t aligned(std::size_t offset, std::size_t to) { return (offset + to - 1) / to * to; }

// The arguments side by side; pointers are 0 as yet. Each gets its offset.
std::vector<std::byte> make_segment(LaunchFile& launch, const generator::KernelImage& image, const fs::path& file) {
  std::vector<std::byte> segment(image.descriptor.kernarg_bytes);
  std::vector<const LaunchArgument*> owner(segment.size());
  std::size_t next = 0;
  for (LaunchArgument& argument : launch.arguments) {
    const Place place{file, argument.where};
    const std::size_t at = argument.offset ? *argument.offset : aligned(next, argument.bytes.size());
    next = at + argument.bytes.size();
    argument.offset = static_cast<std::uint32_t>(at);
    if (next > segment.size())
      place.fail("ends at byte {}; kernel {} takes {} bytes of arguments", next, image.symbol, segment.size());
    for (std::size_t i = at; i < next; ++i) {
      if (owner[i]) place.fail("overlaps {} at byte {}", owner[i]->where, i);
      owner[i] = &argument;
    }
    std::ranges::copy(argument.bytes, segment.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const generator::KernelArgument& argument : image.arguments) {
    if (argument.kind.starts_with("hidden_")) {
      write_hidden_argument(segment, argument, launch.shape);
      continue;
    }
    for (std::size_t i = argument.offset; i < argument.offset + argument.size; ++i)
      if (i >= owner.size() || !owner[i])
        Place{file, "kernargs"}.fail("does not give {}'s argument of {} bytes at offset {} ({}{}{})", image.symbol,
                                     argument.size, argument.offset, argument.name, argument.name.empty() ? "" : ", ",
                                     argument.kind);
  }
  return segment;
}

std::uint64_t product(const std::array<std::uint32_t, 3>& axes) { return std::uint64_t{axes[0]} * axes[1] * axes[2]; }

}  // namespace

LaunchFile load_launch(const fs::path& file) {
  const Json json = generator::read_json_file(file);
  const Place top{file, ""};
  check_keys(json, top, {"symbol", "grid", "block", "dynamic_lds_bytes", "memory_model", "kernargs"});
  constexpr std::uint64_t most_workgroups = 0x7fffffff, most_items = 1024;
  LaunchFile launch;
  if (json.contains("symbol")) launch.symbol = read_text(json.at("symbol"), top.at("symbol"));
  launch.shape.grid = read_axes(json, "grid", top, most_workgroups);
  launch.shape.block = read_axes(json, "block", top, most_items);
  if (product(launch.shape.block) > most_items)
    top.at("block").fail("has {} work-items; a workgroup has at most {}", product(launch.shape.block), most_items);
  if (json.contains("dynamic_lds_bytes"))
    launch.shape.dynamic_lds_bytes = static_cast<std::uint32_t>(
        read_count(json.at("dynamic_lds_bytes"), top.at("dynamic_lds_bytes"), 0, isa::Machine{}.lds_bytes));
  if (json.contains("memory_model")) {
    const std::string model = read_text(json.at("memory_model"), top.at("memory_model"));
    if (model != "hardware" && model != "architecture")
      top.fail("'memory_model' is '{}'; accepted are hardware, architecture", model);
    if (model == "architecture") launch.memory_model = emulator::MemoryModel::architecture;
  }
  if (!json.contains("kernargs")) return launch;
  const Json& arguments = json.at("kernargs");
  const Place place = top.at("kernargs");
  if (!arguments.is_array()) place.fail("is not a list");
  for (std::size_t i = 0; i < arguments.size(); ++i)
    launch.arguments.push_back(read_argument(arguments[i], place.at(i), launch));
  return launch;
}

std::uint64_t LaunchedKernel::workgroups() const { return product(launch.shape.grid); }

std::uint64_t LaunchedKernel::buffer_bytes() const {
  std::uint64_t all = 0;
  for (const LaunchBuffer& buffer : launch.buffers) all += buffer.bytes.size();
  return all;
}

LaunchedKernel load_launched_kernel(const fs::path& code_object, const fs::path& file) {
  LaunchedKernel kernel;
  kernel.object = generator::read_code_object(read_file(code_object), code_object.string());
  kernel.launch = load_launch(file);
  kernel.image = generator::find_kernel(kernel.object, kernel.launch.symbol, code_object.string());
  kernel.code = generator::decode(kernel.object, kernel.image);
  const LaunchShape& shape = kernel.launch.shape;
  const Place top{file, ""};
  const std::uint64_t lds = std::uint64_t{kernel.image.descriptor.group_segment_bytes} + shape.dynamic_lds_bytes;
  if (lds > static_cast<std::uint64_t>(isa::Machine{}.lds_bytes))
    top.fail("asks for {} bytes of LDS with the kernel's own {}; a compute unit has {}", lds,
             kernel.image.descriptor.group_segment_bytes, isa::Machine{}.lds_bytes);
  if (kernel.image.max_workgroup_size > 0 && product(shape.block) > kernel.image.max_workgroup_size)
    top.at("block").fail("has {} work-items; kernel {} takes at most {}", product(shape.block), kernel.image.symbol,
                         kernel.image.max_workgroup_size);
  kernel.segment = make_segment(kernel.launch, kernel.image, file);
  return kernel;
}

emulator::Result run_launch(const LaunchedKernel& kernel, const Runner& runner) {
  std::vector<LaunchBuffer> buffers = kernel.launch.buffers;
  std::vector<std::byte> segment = kernel.segment;
  emulator::GlobalMemory memory;
  std::vector<std::uint64_t> addresses;
  for (LaunchBuffer& buffer : buffers) addresses.push_back(memory.place(buffer.name, buffer.bytes));
  for (const LaunchArgument& argument : kernel.launch.arguments) {
    if (!argument.buffer) continue;
    const std::uint64_t address = addresses[*argument.buffer] + argument.plus;
    std::memcpy(segment.data() + *argument.offset, &address, sizeof address);
  }
  const LoadedCode loaded(kernel.object, memory);
  emulator::Launch launch = initial_state(kernel.image.descriptor);
  launch.entry = kernel.code.entry;
  launch.code_address = code_address(kernel.object);
  launch.grid = kernel.launch.shape.grid;
  launch.workgroup_size = kernel.launch.shape.block;
  launch.lds_bytes += kernel.launch.shape.dynamic_lds_bytes;
  launch.memory_model = kernel.launch.memory_model;
  launch.unaligned_access = true;  // the HSA's mode
  if (!segment.empty()) launch.kernarg_address = memory.place_read_only("kernel arguments", segment);
  const std::vector<std::byte> packet = dispatch_packet(kernel.launch.shape);
  launch.dispatch_address = memory.place_read_only("dispatch packet", packet);
  return runner(kernel.code.program, launch, memory);
}

}  // namespace zyfa::runtime
