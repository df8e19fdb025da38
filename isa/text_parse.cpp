// Text to instructions: whatever print gives and LLVM's disassembler gives, back to the one canonical value.

#include "isa/isa.h"
#include "isa/text.h"
#include "isa/text_control.h"
#include "isa/text_tables.h"
#include "isa/text_words.h"

#include <charconv>
#include <functional>

namespace zyfa::isa {
namespace {

// The index of the instruction that a label names, if there is such a label.
using FindLabel = std::function<std::optional<std::uint32_t>(std::string_view)>;

constexpr std::string_view blank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string_view without_comment(std::string_view line) {
  return trimmed(line.substr(0, std::min(line.find("//"), line.find(';'))));
}

std::optional<Operand> to_real(std::string_view text) {
  if (text.find('.') == std::string_view::npos) return std::nullopt;
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Operand::constant(value);
}

std::optional<Operand> to_register(std::string_view text) {
  for (const SpecialRegister& special : special_registers)
    if (special.name == text) return Operand(OperandKind::sgpr, special.first, special.count);
  struct File {
    std::string_view name;
    OperandKind kind;
    std::uint32_t base, size;
  };
  constexpr File files[] = {{"ttmp", OperandKind::sgpr, first_trap_register, trap_registers},
                            {"v", OperandKind::vgpr, 0, 256},
                            {"a", OperandKind::agpr, 0, 256},
                            {"s", OperandKind::sgpr, 0, allocatable_scalar_registers}};
  for (const File& file : files) {
    std::string_view rest = text;
    if (!take_prefix(rest, file.name)) continue;
    if (!take_brackets(rest, "[", "]")) {
      if (const auto only = to_number_below(rest, file.size)) return Operand(file.kind, file.base + *only, 1);
      continue;
    }
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const auto first = to_number_below(rest.substr(0, colon), file.size);
    const auto last = colon < rest.size() ? to_number_below(rest.substr(colon + 1), file.size) : first;
    if (first && last && *first <= *last && *last - *first < 32)
      return Operand(file.kind, file.base + *first, static_cast<int>(*last - *first + 1));
  }
  return std::nullopt;
}

std::optional<Operand> to_unmodified(std::string_view text) {
  if (const auto number = to_number(text); number && *number >= INT32_MIN)
    return Operand::constant(static_cast<std::uint32_t>(*number));
  if (const auto real = to_real(text)) return real;
  return to_register(text);
}

std::optional<Operand> to_operand(std::string_view text) {
  if (text == "off") return Operand{};
  if (const auto operand = to_unmodified(text)) return operand;
  const bool neg = take_brackets(text, "neg(", ")") || take_prefix(text, "-");
  const bool abs = take_brackets(text, "|", "|");
  auto operand = to_unmodified(text);
  if (!operand || !(neg || abs)) return std::nullopt;
  operand->neg = neg;
  operand->abs = abs;
  return operand;
}

// Where the row fixes what a number is: offsets and immediates are literals whatever their value, counts
// never are.
std::optional<Operand> to_argument(std::string_view text, const Desc& d, int index, const FindLabel& find_label) {
  const auto number = to_number(text);
  const auto bits = static_cast<std::uint32_t>(number.value_or(0));
  const auto integer = [](std::optional<std::uint32_t> value) {
    return value ? std::optional(Operand(OperandKind::integer, *value)) : std::nullopt;
  };
  switch (d.kind) {
    case Kind::GET_REG:
    case Kind::SET_REG:
    case Kind::SET_REG_LITERAL:
      if (index == hardware_field_argument(d.kind)) return integer(parse_hardware_field(text));
      break;
    case Kind::INDEX_ON:
      if (index == 1) return integer(parse_indexed_operands(text));
      break;
    case Kind::INDEX_OPERANDS:
      return integer(parse_indexed_operands(text));
    case Kind::SMEM_LOAD:
    case Kind::SMEM_BUFFER_LOAD:
      if (index == 2 && number) return Operand(OperandKind::literal, bits);
      break;
    case Kind::VOP2_MK:
      if (index == 2 && number) return Operand(OperandKind::literal, bits);
      break;
    case Kind::VOP2_AK:
      if (index == 3 && number) return Operand(OperandKind::literal, bits);
      break;
    case Kind::SOPK:
    case Kind::SOPK_COMPARE:
      if (index == 1 && number) return Operand(OperandKind::literal, bits & 0xffff);
      break;
    case Kind::SOPP_COUNT:
      if (number) return Operand(OperandKind::integer, bits);
      return std::nullopt;
    case Kind::BRANCH:
      if (number) return Operand(OperandKind::integer, bits);
      if (const auto target = find_label(text)) return Operand(OperandKind::label, *target);
      return std::nullopt;
    default:
      break;
  }
  // The pattern of an inline float is one in 32 bits alone; wider and narrower types read other bits from a literal.
  const Type type = d.args[static_cast<std::size_t>(index)].type;
  const bool is_narrow = is_16_bits(type), is_wide = type == Type::u64 || type == Type::i64 || type == Type::f64;
  if (number && (is_narrow || is_wide)) {
    const bool is_inline = *number >= -16 && *number <= 64;
    return Operand(is_inline ? OperandKind::integer : OperandKind::literal, bits);
  }
  // LLVM's note that a literal could have been an inline constant, which is what it is here.
  if (!is_narrow && !is_wide) take_brackets(text, "lit(", ")");
  return to_operand(text);
}

// An operand ends at a comma, a modifier at a blank; both outside brackets.
std::string_view take_word(std::string_view& rest, bool ends_at_comma) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth <= 0 && (blank.find(c) != std::string_view::npos || (ends_at_comma && c == ','))) break;
  }
  const std::string_view word = rest.substr(0, end);
  rest = trimmed(rest.substr(end));
  return word;
}

// The mnemonic with its suffix: sets op and form.
void read_mnemonic(std::string_view mnemonic, std::string_view line, Inst& inst) {
  std::string_view name = mnemonic;
  for (std::size_t i = 1; i < form_suffixes.size(); ++i) {
    if (!mnemonic.ends_with(form_suffixes[i])) continue;
    inst.form = static_cast<Form>(i);
    name.remove_suffix(form_suffixes[i].size());
  }
  const auto op = find_op(name);
  if (!op) throw Error("{} is not in the table: `{}`", mnemonic, line);
  inst.op = *op;
  const bool choice = has_short_form(desc(*op).kind);
  if (choice && inst.form == Form::natural)
    throw Error("{} needs a suffix, _e32, _e64, _dpp or _sdwa: `{}`", mnemonic, line);
  if (!choice && inst.form != Form::natural) throw Error("{} has one encoding and takes no suffix: `{}`", name, line);
}

std::vector<std::string_view> take_operands(std::string_view& rest) {
  std::vector<std::string_view> words;
  while (!rest.empty()) {
    words.push_back(take_word(rest, true));
    if (!take_prefix(rest, ",")) break;
    rest = trimmed(rest);
  }
  return words;
}

// op_sel_hi is stored only where it says something that the row doesn't.
void make_canonical(Inst& inst) {
  Inst unmodified = inst;
  unmodified.mods.op_sel_hi = Modifiers::row_default;
  if (op_sel_hi(unmodified) == op_sel_hi(inst)) inst = unmodified;
}

Inst parse_line(std::string_view original, const FindLabel& find_label) {
  const std::string_view line = trimmed(original);
  std::string_view rest = without_comment(line);
  Inst inst;
  read_mnemonic(take_word(rest, false), line, inst);
  const Desc& d = desc(inst.op);
  int expected = 0;
  while (expected < max_args && d.args[static_cast<std::size_t>(expected)].role != Role::none) ++expected;
  const auto words = expected ? take_operands(rest) : std::vector<std::string_view>{};
  while (!rest.empty())
    if (const std::string_view word = take_word(rest, false); !read_modifier(word, inst))
      throw Error("modifier {} of {} is not understood: `{}`", word, d.name, line);
  const int first = first_argument(inst);
  if (static_cast<int>(words.size()) != expected - first)
    throw Error("{} takes {} operands, not {}: `{}`", d.name, expected - first, words.size(), line);
  for (int i = first; i < expected; ++i) {
    std::string_view word = words[static_cast<std::size_t>(i - first)];
    if (inst.form == Form::sdwa && take_brackets(word, "sext(", ")"))
      inst.mods.sext |= static_cast<std::uint8_t>(1 << (i - first_source(d.kind)));
    const auto operand = to_argument(word, d, i, find_label);
    if (!operand) throw Error("operand {} of {} is not understood: `{}`", word, d.name, line);
    inst.args[static_cast<std::size_t>(i)] = *operand;
  }
  make_canonical(inst);
  return inst;
}

std::optional<std::uint32_t> unnamed_label(std::string_view name) {
  if (!take_prefix(name, "L")) return std::nullopt;
  return to_number_below(name, std::int64_t{1} << 32);
}

struct Lines {
  std::vector<std::string_view> code;
  std::map<std::string_view, std::uint32_t> labels;
};

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end)), content = without_comment(line);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty()) continue;
    if (!content.ends_with(':')) {
      lines.code.push_back(line);
      continue;
    }
    const auto here = static_cast<std::uint32_t>(lines.code.size());
    if (!lines.labels.emplace(content.substr(0, content.size() - 1), here).second)
      throw Error("the label stands twice: `{}`", line);
  }
  return lines;
}

}  // namespace

Inst parse(std::string_view line) { return parse_line(line, unnamed_label); }

Program parse_program(std::string_view text) {
  const Lines lines = split(text);
  const FindLabel find_label = [&lines](std::string_view name) -> std::optional<std::uint32_t> {
    const auto found = lines.labels.find(name);
    if (found == lines.labels.end()) return std::nullopt;
    return found->second;
  };
  Program program;
  for (const std::string_view line : lines.code) program.code.push_back(parse_line(line, find_label));
  for (const auto& [name, index] : lines.labels)
    if (unnamed_label(name) != index) program.labels.emplace(index, name);
  return program;
}

}  // namespace zyfa::isa
