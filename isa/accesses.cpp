// Which registers an instruction touches: its operands in their roles, and what the text does not show.

#include "isa/kinds.h"

namespace zyfa::isa {
namespace {

void add_implicit(const Inst& inst, const Desc& d, std::vector<Access>& list) {
  const auto touch = [&list](S<2> r, bool write) { list.push_back({OperandKind::sgpr, r.first, 2, write, -1}); };
  if (is_vector_alu_kind(d.kind) || is_matrix_kind(d.kind) || is_lds_kind(d.kind) || is_vmem_kind(d.kind))
    touch(exec, false);
  if (d.kind == Kind::SAVEEXEC) {
    touch(exec, false);
    touch(exec, true);
  }
  if (d.kind == Kind::CMPX) touch(exec, true);
  if (d.kind == Kind::DIV_FMAS) touch(vcc, false);
  if (inst.op == Op::s_cbranch_vccz || inst.op == Op::s_cbranch_vccnz) touch(vcc, false);
  if (inst.op == Op::s_cbranch_execz || inst.op == Op::s_cbranch_execnz) touch(exec, false);
  const bool sets_index = d.kind >= Kind::INDEX_ON && d.kind <= Kind::INDEX;
  if (sets_index && d.kind != Kind::INDEX_OFF) list.push_back({OperandKind::sgpr, m0.first, 1, true, -1});
  if (names_hardware_register(d.kind))
    list.push_back({OperandKind::sgpr, static_cast<std::uint16_t>(first_hardware_register + hardware_field(inst).id), 1,
                    d.kind != Kind::GET_REG, -1});
  if (is_lds_dma(inst) || d.kind == Kind::DS_COUNT) list.push_back({OperandKind::sgpr, m0.first, 1, false, -1});
}

}  // namespace

std::vector<Access> accesses(const Inst& inst) {
  std::vector<Access> list;
  const Desc& d = desc(inst.op);
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    const Role role = arg(inst, i).role;
    if (!operand.is_register() || role == Role::none) continue;
    const auto first = static_cast<std::uint16_t>(operand.value);
    const auto index = static_cast<std::int8_t>(i);
    if (role != Role::write) list.push_back({operand.kind, first, operand.count, false, index});
    if (role == Role::read) continue;
    // A compare-and-swap of a buffer has twice as much data as it returns.
    const int written = d.kind == Kind::BUFFER_ATOMIC ? d.memory_bytes / 4 : operand.count;
    list.push_back({operand.kind, first, static_cast<std::uint16_t>(written), true, index});
  }
  if (inst.mods.dst_unused == DstUnused::preserve && inst.mods.dst_sel != Modifiers::whole_dword)
    list.push_back({inst.args[0].kind, static_cast<std::uint16_t>(inst.args[0].value), 1, false, 0});
  add_implicit(inst, d, list);
  return list;
}

}  // namespace zyfa::isa
