#include "runtime_loader/npy_header.h"

#include <charconv>
#include <optional>

#include "isa/error.h"

namespace zyfa::runtime {
namespace {

struct Descr {
  std::string_view text;
  ElementType type;
  std::size_t file_element_bytes;
};

// ml_dtypes arrays reach a .npy as '<V2' (bfloat16) and as '|V1', '<V1' or '<f1' (float8), depending on its
// version.
// clang-format off
constexpr Descr descrs[] = {
    {"<f4",           ElementType::f32,    4},
    {"<f8",           ElementType::f32,    8},
    {"<f2",           ElementType::f16,    2},
    {"<V2",           ElementType::bf16,   2},
    {"|V2",           ElementType::bf16,   2},
    {"bfloat16",      ElementType::bf16,   2},
    {"|u1",           ElementType::e4m3fn, 1},
    {"|V1",           ElementType::e4m3fn, 1},
    {"<V1",           ElementType::e4m3fn, 1},
    {"<f1",           ElementType::e4m3fn, 1},
    {"float8_e4m3fn", ElementType::e4m3fn, 1},
};
// clang-format on

// Reads just as much of Python's literals as numpy.lib.format writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted("a key");
      expect(':');
      read_value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) fail("text follows the dictionary");
    if (!descr_ || !order_ || !shape_) fail("'descr', 'fortran_order' and 'shape' are not all there");
    return {descr_->type, descr_->file_element_bytes, *shape_};
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw Error("{}: bad .npy header: {}", path_, what); }

  void skip_blanks() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at);
  }

  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}' expected", wanted));
  }

  std::string_view quoted(std::string_view what) {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) fail(fmt::format("{} in quotes expected", what));
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void read_value(std::string_view key) {
    if (key == "descr" && !descr_) {
      read_descr();
    } else if (key == "fortran_order" && !order_) {
      read_order();
    } else if (key == "shape" && !shape_) {
      read_shape();
    } else {
      fail(fmt::format("key '{}' is unknown or comes twice", key));
    }
  }

  void read_descr() {
    const std::string_view text = quoted("'descr' of a plain type");
    for (const Descr& descr : descrs) {
      if (descr.text == text) descr_ = &descr;
    }
    if (!descr_) {
      throw Error("{}: element type '{}'; read are <f4, <f8, <f2, V2 (bfloat16) and |u1 (e4m3fn bytes)", path_, text);
    }
  }

  void read_order() {
    skip_blanks();
    if (rest_.starts_with("True")) throw Error("{}: Fortran order; C order (batch, seq, heads, dim) is read", path_);
    if (!rest_.starts_with("False")) fail("'fortran_order' is neither True nor False");
    rest_.remove_prefix(5);
    order_ = true;
  }

  void read_shape() {
    expect('(');
    shape_.emplace();
    while (!accept(')')) {
      skip_blanks();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc{} || extent < 0) fail("'shape' is no tuple of extents");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape_->push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view rest_;
  const std::string& path_;
  const Descr* descr_ = nullptr;
  bool order_ = false;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) {
  NpyHeader header = HeaderParser(text, path).parse();
  try {
    element_count(header.shape);
  } catch (const Error& error) {
    throw Error("{}: {}", path, error.what());
  }
  return header;
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  constexpr std::size_t prefix_bytes = 10;  // magic, version, length
  std::string extents;
  for (const std::int64_t extent : shape) extents += std::to_string(extent) + ",";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
  text.append(63 - (prefix_bytes + text.size()) % 64, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace zyfa::runtime
