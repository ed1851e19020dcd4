// Deliberate faults, for builds that prove the bit suite would find them (CMake: QKV_FAULT), and a
// switch that damages exp at run time (QKV_BREAKABLE, for `qkv verify --break exp`). An ordinary
// build has none of it.
#ifndef QKV_SIMD_FAULTS_H_
#define QKV_SIMD_FAULTS_H_

// Values of QKV_FAULT_CODE.
#define QKV_FAULT_NONE 0
#define QKV_FAULT_MERGE_ORDER 1  // spans merge left to right, not as a tree
#define QKV_FAULT_SHORT_BLOCK 2  // blocks of 31 keys
#define QKV_FAULT_MUL_ADD 3      // multiply and add, rounded twice, for fma in the sums of values
#define QKV_FAULT_EXP_ULP 4      // exp one ulp off
#define QKV_FAULT_RECIPROCAL 5   // multiply by 1 / l for the division by l
#define QKV_FAULT_MASK_BY_ADDING 6  // masked keys are added with weight 0, not left out

#ifndef QKV_FAULT_CODE
#define QKV_FAULT_CODE QKV_FAULT_NONE
#endif

namespace qkv::faults {

#ifdef QKV_BREAKABLE
extern bool g_break_exp;  // one ulp too large, as long as it is set
#endif

}  // namespace qkv::faults

#endif  // QKV_SIMD_FAULTS_H_
