// .npy and safetensors files made byte by byte, so that reader and writer are not only held against each
// other.
#include "runtime_loader/tensor_file.h"

#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "isa/error.h"
#include "tests/support/catch.h"

using namespace zyfa;
using namespace zyfa::runtime;
namespace fs = std::filesystem;

namespace {

// A directory that is empty at first and gone at the end.
class TestDirectory {
 public:
  explicit TestDirectory(const std::string& name) : path_(fs::temp_directory_path() / ("zyfa_" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TestDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return file(name);
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(path_), fs::directory_iterator()); }

 private:
  fs::path path_;
};

// Files written meanwhile cannot grow beyond `bytes`, as on a full disk. Nothing may be printed meanwhile.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    std::array<char, sizeof(T)> word;
    std::memcpy(word.data(), &value, sizeof value);
    bytes.append(word.data(), word.size());
  }
  return bytes;
}

std::string npy(int major, const std::string& dictionary, const std::string& data) {
  const std::string header = dictionary + "\n";
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  const int length_bytes = major == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy(1, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

std::string safetensors(const std::string& json, const std::string& data) {
  return raw<std::uint64_t>({json.size()}) + json + data;
}

// "" where the file loads.
std::string error_of(const std::string& path, const std::string& name = "") {
  try {
    load_tensor(path, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The load fails, and one line names the file and the defect.
void check_refused(const std::string& path, const std::string& defect) {
  const std::string text = error_of(path);
  CAPTURE(path, text, defect);
  CHECK(text.find(path.substr(0, path.rfind(':'))) != text.npos);
  CHECK(text.find(defect) != text.npos);
  CHECK(text.find('\n') == text.npos);
}

using Shape = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("npy: every accepted element type", "[quick][tensor]") {
  const TestDirectory directory("npy_types");
  const auto load = [&](const std::string& descr, const std::string& data) {
    return load_tensor(directory.write("a.npy", npy_of(descr, "(2, 1)", data)));
  };
  const Tensor f32 = load("<f4", raw<float>({1.5F, -3e-40F}));
  CHECK(f32.type == ElementType::f32);
  CHECK(f32.shape == Shape{2, 1});
  CHECK(to_floats(f32) == std::vector<float>{1.5F, -3e-40F});

  const Tensor f64 = load("<f8", raw<double>({0.1, -2.0}));
  CHECK(f64.type == ElementType::f32);
  CHECK(to_floats(f64) == std::vector<float>{0.1F, -2.0F});

  const Tensor f16 = load("<f2", raw<std::uint16_t>({0x3c00, 0xc500}));
  CHECK(f16.type == ElementType::f16);
  CHECK(to_floats(f16) == std::vector<float>{1.0F, -5.0F});

  for (const char* descr : {"<V2", "|V2", "bfloat16"}) {
    const Tensor bf16 = load(descr, raw<std::uint16_t>({0x3f80, 0xc0a0}));
    CHECK(bf16.type == ElementType::bf16);
    CHECK(to_floats(bf16) == std::vector<float>{1.0F, -5.0F});
  }
  for (const char* descr : {"|u1", "|V1", "<V1", "<f1", "float8_e4m3fn"}) {
    const Tensor fp8 = load(descr, raw<std::uint8_t>({0x7e, 0xb8}));
    CHECK(fp8.type == ElementType::e4m3fn);
    CHECK(to_floats(fp8) == std::vector<float>{448.0F, -1.0F});
  }
}

TEST_CASE("npy: versions, shapes and spellings of the header", "[quick][tensor]") {
  const TestDirectory directory("npy_headers");
  const std::string data = raw<float>({1, 2, 3, 4, 5, 6});
  for (const int major : {1, 2, 3}) {
    const std::string path = directory.write(
        "v.npy", npy(major, "{\"shape\":(2,3) , \"fortran_order\":False,\"descr\":\"<f4\"}     ", data));
    CHECK(load_tensor(path).shape == Shape{2, 3});
  }
  CHECK(load_tensor(directory.write("one.npy", npy_of("<f4", "(6,)", data))).shape == Shape{6});
  CHECK(load_tensor(directory.write("none.npy", npy_of("<f4", "(0, 5)", ""))).shape == Shape{0, 5});
  const Tensor scalar = load_tensor(directory.write("scalar.npy", npy_of("<f4", "()", raw<float>({7}))));
  CHECK(scalar.shape.empty());
  CHECK(to_floats(scalar) == std::vector<float>{7});
}

TEST_CASE("npy: malformed files are refused by name and defect", "[quick][tensor]") {
  const TestDirectory directory("npy_malformed");
  const std::string two = raw<float>({1, 2});
  const auto refused = [&](const std::string& bytes, const std::string& defect) {
    check_refused(directory.write("bad.npy", bytes), defect);
  };
  check_refused(directory.file("missing.npy"), "no such file");
  fs::create_directory(directory.file("folder.npy"));
  check_refused(directory.file("folder.npy"), "not a regular file");
  refused("", "truncated");
  refused("\x93NUM", "truncated");
  refused("PK\x03\x04 no numbers here", "magic");
  refused(npy(4, "{}", ""), "version 4");
  refused(npy_of("<f4", "(2,)", two).substr(0, 9), "truncated");
  refused(npy_of("<f4", "(2,)", two).substr(0, 40), "truncated");
  refused(npy_of("<f4", "(2,)", two.substr(1)), "needs 8 bytes of data, 7 follow");
  refused(npy_of("<f4", "(2,)", two + "x"), "needs 8 bytes of data, 9 follow");
  refused(npy_of(">f4", "(2,)", two), "element type '>f4'");
  refused(npy_of("<u2", "(4,)", two), "element type '<u2'");
  refused(npy_of("<i4", "(2,)", two), "element type '<i4'");
  refused(npy_of("<f4", "(2,", two), "'shape'");
  refused(npy_of("<f4", "(-2,)", two), "'shape'");
  refused(npy_of("<f4", "(2.0,)", two), "')' expected");
  refused(npy_of("<f4", "2", two), "'(' expected");
  refused(npy_of("<f4", "(99999999999999999999,)", two), "'shape'");
  refused(npy_of("<f4", "(4294967296, 4294967296, 4294967296)", two), "2^48");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", two), "Fortran order");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': maybe, 'shape': (2,), }", two), "neither True nor False");
  refused(npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", two), "plain type");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': False, }", two), "not all there");
  refused(npy(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", two), "comes twice");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} {}", two), "text follows");
  refused(npy(1, "{'descr", two), "in quotes expected");
  refused(npy(1, "", two), "'{' expected");
}

TEST_CASE("npy: damage ends in Error or in a tensor, never otherwise", "[quick][tensor]") {
  const TestDirectory directory("npy_damage");
  const std::string good = npy_of("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}));
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::string path = directory.write("cut.npy", good.substr(0, length));
    REQUIRE_THROWS_AS(load_tensor(path), Error);
  }
  int refused = 0;
  for (std::size_t at = 0; at < good.size() - 24; ++at) {
    for (const char damage : {'\0', '\xff', '9', '\''}) {
      std::string bad = good;
      bad[at] = damage;
      if (!error_of(directory.write("damaged.npy", bad)).empty()) ++refused;
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("safetensors: the only tensor, a named one, every type", "[quick][tensor]") {
  const TestDirectory directory("safetensors");
  const std::string one = R"({"__metadata__":{"format":"pt"},"q":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})";
  const std::string only = directory.write("one.safetensors", safetensors(one, raw<std::uint16_t>({0x3f80, 0x4000})));
  CHECK(load_tensor(only).type == ElementType::bf16);
  CHECK(to_floats(load_tensor(only)) == std::vector<float>{1, 2});
  CHECK(to_floats(load_tensor(only + ":q")) == std::vector<float>{1, 2});

  const std::string json = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},)"
                           R"("c":{"dtype":"F8_E4M3","shape":[2,1],"data_offsets":[8,10]},)"
                           R"("d.k":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[10,12]},)"
                           R"("e":{"dtype":"I64","shape":[0],"data_offsets":[12,12]}})";
  const std::string data =
      raw<float>({0.25F}) + raw<std::uint16_t>({0x3c00, 0x4000}) + raw<std::uint8_t>({0x38, 0xfe, 0x3c, 0x7b});
  const std::string many = directory.write("many.safetensors", safetensors(json, data));
  CHECK(to_floats(load_tensor(many, "a")) == std::vector<float>{0.25F});
  CHECK(to_floats(load_tensor(many + ":b")) == std::vector<float>{1, 2});
  CHECK(load_tensor(many + ":c").shape == Shape{2, 1});
  CHECK(to_floats(load_tensor(many + ":c")) == std::vector<float>{1, -448});
  CHECK(to_floats(load_tensor(many + ":d.k")) == std::vector<float>{1, 57344});
  check_refused(many, "has 5 tensors");
  check_refused(many + ":z", "no tensor 'z'; it has: a, b, c, d.k, e");
  check_refused(many + ":e", "dtype I64");
  check_refused(many + ":", "no tensor name");
}

TEST_CASE("safetensors: malformed files are refused by name and defect", "[quick][tensor]") {
  const TestDirectory directory("safetensors_malformed");
  const auto refused = [&](const std::string& bytes, const std::string& defect) {
    check_refused(directory.write("bad.safetensors", bytes), defect);
  };
  const auto entry_refused = [&](const std::string& entry, const std::string& defect) {
    refused(safetensors("{\"q\":" + entry + "}", raw<float>({1, 2})), defect);
  };
  refused("", "truncated");
  refused("1234567", "truncated");
  refused(raw<std::uint64_t>({~std::uint64_t{0}}) + "{}", "does not fit");
  refused(raw<std::uint64_t>({3}) + "{}", "does not fit");
  refused(safetensors("{\"q\":", ""), "no JSON object");
  refused(safetensors("[]", ""), "no JSON object");
  refused(safetensors("{}", ""), "has 0 tensors");
  refused(safetensors(std::string(100'000, '['), ""), "nests JSON values more than 64 deep");
  entry_refused("[]", "no JSON object");
  entry_refused(R"({"shape":[2],"data_offsets":[0,8]})", "'dtype'");
  entry_refused(R"({"dtype":"F32","data_offsets":[0,8]})", "'shape'");
  entry_refused(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "'shape' holds -2");
  entry_refused(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "'shape' holds 2.0");
  entry_refused(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})", "63 bits");
  entry_refused(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})", "2^48");
  entry_refused(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "[begin, end]");
  entry_refused(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "[begin, end]");
  entry_refused(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "does not fill the 8 bytes");
  entry_refused(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", "ends at 12, the file has 8");
}

TEST_CASE("load_tensor: other names are refused", "[quick][tensor]") {
  check_refused("model.bin", "not a tensor file");
  CHECK(error_of("a.npy", "q").find("no tensor names") != std::string::npos);
}

TEST_CASE("save_npy: bytes as NumPy writes them, and a round trip", "[quick][tensor]") {
  const TestDirectory directory("npy_save");
  const std::string path = directory.file("o.npy");
  const Tensor tensor = tensor_of(std::vector<float>{1, -2, 0.5F, 3e38F, 1e-45F, 0}, {1, 2, 3});
  save_npy(path, tensor);
  const std::string bytes = read_file(path);
  // As numpy.save of the same array: version 1.0, 118 ('v') bytes of header, data from byte 128 on.
  REQUIRE(bytes.size() == 128 + 24);
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\0v\0", 10));
  CHECK(bytes.substr(10, 50) == "{'descr': '<f4', 'fortran_order': False, 'shape': ");
  CHECK(bytes[127] == '\n');
  CHECK(bytes.substr(128) == raw<float>({1, -2, 0.5F, 3e38F, 1e-45F, 0}));
  const Tensor back = load_tensor(path);
  CHECK(back.shape == tensor.shape);
  CHECK(back.bytes == tensor.bytes);

  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1, 1}}) {
    save_npy(path, tensor_of(std::vector<float>{4}, shape));
    CHECK(load_tensor(path).shape == shape);
  }
  save_npy(path, tensor_of({}, {2, 0}));
  CHECK(load_tensor(path).shape == Shape{2, 0});

  const std::vector<std::uint16_t> codes{0x3fc0, 0x8000};
  Tensor halves{ElementType::bf16, {2}, std::vector<std::byte>(4)};
  std::memcpy(halves.bytes.data(), codes.data(), 4);
  save_npy(path, halves);
  CHECK(load_tensor(path).type == ElementType::f32);
  CHECK(to_floats(load_tensor(path)) == std::vector<float>{1.5F, -0.0F});
  halves.type = ElementType::f16;
  save_npy(path, halves);
  CHECK(load_tensor(path).type == ElementType::f16);
  CHECK(load_tensor(path).bytes == halves.bytes);
  CHECK(directory.entries() == 1);
}

TEST_CASE("save_npy: a failure leaves no half-written file, a link stays a link", "[quick][tensor]") {
  const TestDirectory directory("npy_save_failure");
  const Tensor tensor = tensor_of(std::vector<float>{1, 2}, {2});
  REQUIRE_THROWS_AS(save_npy(directory.file("absent/o.npy"), tensor), Error);
  fs::create_directory(directory.file("folder"));
  REQUIRE_THROWS_AS(save_npy(directory.file("folder"), tensor), Error);
  CHECK(directory.entries() == 1);

  // The part file cannot be opened, because a directory has its name.
  const std::string path = directory.write("kept.npy", "previous content");
  fs::create_directory(directory.file("kept.npy.part"));
  REQUIRE_THROWS_AS(save_npy(path, tensor), Error);
  CHECK(read_file(path) == "previous content");
  CHECK(fs::remove(directory.file("kept.npy.part")));

  bool failed = false;
  {
    const FileSizeLimit limit(100);
    try {
      save_npy(path, tensor);
    } catch (const Error&) {
      failed = true;
    }
  }
  CHECK(failed);
  CHECK(read_file(path) == "previous content");
  CHECK(!fs::exists(directory.file("kept.npy.part")));

  Tensor wrong = tensor;
  wrong.shape = {3};
  REQUIRE_THROWS_AS(save_npy(path, wrong), Error);
  CHECK(read_file(path) == "previous content");

  fs::create_symlink(path, directory.file("link.npy"));
  save_npy(directory.file("link.npy"), tensor);
  CHECK(fs::is_symlink(directory.file("link.npy")));
  CHECK(load_tensor(path).bytes == tensor.bytes);
  CHECK(directory.entries() == 3);
}

TEST_CASE("save_npy: a device is written to, not replaced", "[quick][tensor]") {
  const Tensor tensor = tensor_of(std::vector<float>{1, 2}, {2});
  save_npy("/dev/null", tensor);
  CHECK(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full")) REQUIRE_THROWS_AS(save_npy("/dev/full", tensor), Error);
}

TEST_CASE("tensor: counts, texts and refusals", "[quick][tensor]") {
  CHECK(element_count(Shape{2, 3, 4}) == 24);
  CHECK(element_count(Shape{}) == 1);
  CHECK(element_count(Shape{std::int64_t{1} << 40, 0}) == 0);
  REQUIRE_THROWS_AS(element_count(Shape{1 << 30, 1 << 30}), Error);
  REQUIRE_THROWS_AS(element_count(Shape{0, -1}), Error);
  CHECK(shape_text(Shape{1, 512, 2}) == "[1, 512, 2]");
  CHECK(shape_text(Shape{}) == "[]");
  REQUIRE_THROWS_AS(tensor_of(std::vector<float>{1, 2, 3}, {2, 2}), Error);
  CHECK(element_bytes(ElementType::bf16) == 2);
  CHECK(std::string(to_string(ElementType::e5m2)) == "e5m2");
}
