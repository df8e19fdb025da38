// Groups of row kinds that share rules.
#pragma once

#include "isa/isa.h"

namespace zyfa::isa {

constexpr bool is_literal_fma(Kind k) { return k == Kind::VOP2_MK || k == Kind::VOP2_AK; }
constexpr bool is_vector_alu_kind(Kind k) { return k >= Kind::VOP1 && k <= Kind::PK_MOVE; }
constexpr bool is_matrix_kind(Kind k) { return k >= Kind::MFMA && k <= Kind::F8F6F4_SCALED; }
constexpr bool is_lds_kind(Kind k) { return k >= Kind::DS_READ && k <= Kind::DS_SWIZZLE; }
constexpr bool is_smem_load(Kind k) { return k == Kind::SMEM_LOAD || k == Kind::SMEM_BUFFER_LOAD; }
constexpr bool is_vmem_kind(Kind k) { return k >= Kind::BUFFER_LOAD && k <= Kind::SCRATCH_STORE; }
constexpr bool is_scalar_kind(Kind k) { return k <= Kind::SMEM_CACHE; }
constexpr bool is_buffer_kind(Kind k) { return k >= Kind::BUFFER_LOAD && k <= Kind::BUFFER_ATOMIC; }
constexpr bool is_global_kind(Kind k) { return k >= Kind::GLOBAL_LOAD && k <= Kind::GLOBAL_ATOMIC; }
constexpr bool is_flat_kind(Kind k) { return k >= Kind::FLAT_LOAD && k <= Kind::FLAT_ATOMIC; }
constexpr bool is_scratch_kind(Kind k) { return k == Kind::SCRATCH_LOAD || k == Kind::SCRATCH_STORE; }

// Where VOP2_MK and VOP2_AK have their literal.
constexpr int literal_argument(Kind k) { return k == Kind::VOP2_MK ? 2 : 3; }

}  // namespace zyfa::isa
