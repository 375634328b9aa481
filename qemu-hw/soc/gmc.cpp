// SPDX-License-Identifier: MIT
// Hub registers, page-table walk and fault reporting.
#include "qemu-hw/soc/gmc.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "common/bits.h"
#include "facts/register_fields.h"

namespace lyra {

const HubFacts kGfxHub = {regs::kGfxHub, regs::Owner::GfxHub, ih_client::kUtcl2, false, kCpc};
const HubFacts kMmHub = {regs::kMmHub, regs::Owner::MmHub, ih_client::kVmc, true, kMp0};

namespace {

constexpr size_t kTlbEntries = 4096, kKnownRanges = 256;
/// Entries of a table of which a range is made at most.
constexpr uint64_t kRangeEntries = 512;
/// Of what Strict::tlb keeps; a guest that has more loses all of it.
constexpr size_t kMaxKept = size_t{1} << 20;
constexpr uint64_t kFaultRepeatNs = 1'000'000;
/// Bits of the second data dword. @source Linux 6.12 gmc_v9_0_process_interrupt()
constexpr uint32_t kWriteFault = 0x20, kRetryFault = 0x80;
/// PERMISSION_FAULTS: the page is not valid, or has not the right that the access needs. The interrupt's ring id repeats them
/// from bit 3 on. @source Linux 6.12 Documentation/gpu/amdgpu/debugging.rst; logs of chips: ROCm/amdgpu issues 150 and 172
/// (read 0x3, ring 24; write 0x5, ring 40), of a fetch (GFX11) 0xb, ring 88
constexpr uint8_t kNotValid = 1, kNoRead = 2, kNoWrite = 4, kNoExecute = 8;
constexpr unsigned kRingPermissions = 3;

/// Pages that are asked for at a time; past it all are asked for anew.
constexpr size_t kMaxRetried = 4096;

namespace context = field::VM_CONTEXT_CNTL;

uint64_t tag_of(uint32_t vmid, uint64_t va) { return ((va >> 12) & 0xfffffffffull) | (uint64_t{vmid} << 52); }
/// Rights without which an access fails.
uint8_t needs(Access access) {
    switch (access) {
        case Access::Read:
        case Access::Scalar: return kNoRead;
        case Access::Write: return kNoWrite;
        case Access::Atomic: return kNoRead | kNoWrite;
        case Access::Execute: return kNoRead | kNoExecute;
    }
    return 0xff;
}
constexpr uint8_t kAllRights = kNoRead | kNoWrite | kNoExecute;
bool stores(Access access) { return access == Access::Write || access == Access::Atomic; }
size_t slot_of(uint32_t vmid, uint64_t va) {
    const uint64_t page = va >> 12;
    return (page ^ (page >> 12) ^ (vmid * 0x9e5u)) & (kTlbEntries - 1);
}

size_t range_slot_of(uint32_t vmid, uint64_t va) { return (va >> 16 ^ va >> 24 ^ vmid * 0x25u) & (kKnownRanges - 1); }

}  // namespace

Hub::Hub(Env& env, RegisterFile& registers, BusMemory& bus, const HubFacts& facts, RaiseInterrupt raise, PasidOf pasid,
         RetryWanted retry_wanted)
    : env_(env), registers_(registers), bus_(bus), facts_(facts), at_(facts.at), raise_(std::move(raise)),
      pasid_(std::move(pasid)), retry_wanted_(std::move(retry_wanted)), tlb_(kTlbEntries), ranges_(kKnownRanges) {
    bus.on_change([this](BusMemory::Change what) { what == BusMemory::Change::Turn ? turn_began() : translations_changed(); });
    registers.attach(facts.owner, *this);
}

uint32_t Hub::read(uint32_t dw) {
    // The semaphore is always free for whoever asks: one driver instance, and it serialises by itself.
    if (dw >= at_.VM_INVALIDATE_ENG_SEM && dw < at_.VM_INVALIDATE_ENG_SEM + kInvalidateEngines) return 1;
    if (dw >= at_.VM_INVALIDATE_ENG_ACK && dw < at_.VM_INVALIDATE_ENG_ACK + kInvalidateEngines &&
        env_.now_ns() < ack_ns_[dw - at_.VM_INVALIDATE_ENG_ACK])
        return 0;
    return registers_.stored(dw);
}

void Hub::write(uint32_t dw, uint32_t value) {
    if (dw == at_.VM_L2_PROTECTION_FAULT_CNTL) {
        using Clear = field::VM_L2_PROTECTION_FAULT_CNTL::CLEAR_PROTECTION_FAULT_STATUS_ADDR;
        if (Clear::get(value)) {
            registers_.store(at_.VM_L2_PROTECTION_FAULT_STATUS, 0);
            last_fault_tag_ = ~uint64_t{0};
        }
        registers_.store(dw, Clear::set(value, 0));
        return;
    }
    registers_.store(dw, value);
    if (dw < at_.VM_INVALIDATE_ENG_REQ || dw >= at_.VM_INVALIDATE_ENG_REQ + kInvalidateEngines) return;
    const uint32_t engine = dw - at_.VM_INVALIDATE_ENG_REQ;
    namespace request = field::VM_INVALIDATE_ENG_REQ;
    const uint32_t mask = request::PER_VMID_INVALIDATE_REQ::get(value);
    // @source Linux 6.12 gmc_v9_0.c gmc_v9_0_get_invalidate_req()
    if (request::FLUSH_TYPE::get(value) == kHeavyweightFlush && heavyweight_) heavyweight_();
    invalidate(mask);
    registers_.store(at_.VM_INVALIDATE_ENG_ACK + engine, mask);
    if (env_.clock.on()) ack_ns_[engine] = env_.clock.ns() + env_.timing.tlb_invalidate_ns;
}

void Hub::set_page_table_base(uint32_t vmid, uint64_t base) {
    registers_.store(at_.VM_CONTEXT_PAGE_TABLE_BASE_ADDR + vmid * 2, lo32(base));
    registers_.store(at_.VM_CONTEXT_PAGE_TABLE_BASE_ADDR + vmid * 2 + 1, hi32(base));
    invalidate(1u << vmid);
}

void Hub::invalidate(uint32_t vmid_mask) {
    env_.stats.add(Stat::tlb_invalidations);
    emit<event::tlb_invalidate>(env_.tracer, env_.now_ns(), facts_.mmhub, vmid_mask);
    for (TlbEntry& entry : tlb_)
        if (entry.tag != ~uint64_t{0} && bit(vmid_mask, static_cast<unsigned>(entry.tag >> 52))) entry = TlbEntry{};
    for (KnownRange& range : ranges_)
        if (bit(vmid_mask, range.vmid)) range = {};
    const auto named = [&](const auto& kept) { return bit(vmid_mask, static_cast<unsigned>(kept.first >> 52) & 0xf); };
    std::erase_if(kept_, named);
    std::erase_if(directories_, named);
    last_fault_tag_ = ~uint64_t{0};
    retried_ns_.clear();
    translations_changed();
}

void Hub::drop_translations() {
    tlb_.assign(kTlbEntries, TlbEntry{});
    ranges_.assign(kKnownRanges, KnownRange{});
}

void Hub::reset() {
    drop_translations();
    kept_.clear();
    directories_.clear();
    ack_ns_ = {};
    last_fault_tag_ = ~uint64_t{0};
    retried_ns_.clear();
    translations_changed();
}

void Hub::PageInfo::visit(StateVisitor& v) {
    v("address", address, PteBits::kPageAddress);
    v("system", system);
    v("prt", prt);
    v("rights", rights, kAllRights);
    v("cached", cached);
}

void Hub::visit(StateVisitor& v) {
    v.map("kept", kept_, kMaxKept);
    v.map("directories", directories_, kMaxKept);
    v("ack_ns", ack_ns_);
    v("last_fault_tag", last_fault_tag_);
    v("last_fault_ns", last_fault_ns_);
    v.map("retried_ns", retried_ns_, kMaxRetried);
    if (!v.loads()) return;
    drop_translations();
    translations_changed();
}

Result<Hub::PageInfo> Hub::translate(uint32_t vmid, uint64_t va) {
    const uint64_t upper = va >> 47;
    if (upper != 0 && upper != 0x1ffff && vmid != 0) return Fault::AddressNotCanonical;
    env_.stats.add(Stat::tlb_walks);
    return vmid == 0 ? translate_vmid0(va & 0xffffffffffffull) : walk(vmid, va & 0xffffffffffffull);
}

// VMID 0 sees, in this order: the frame buffer window, the AGP window, the GART.
Result<Hub::PageInfo> Hub::translate_vmid0(uint64_t mc_address) {
    const uint64_t page = mc_address & ~(kPageBytes - 1);
    const uint64_t fb_base = uint64_t{field::MC_VM_FB_LOCATION_BASE::FB_BASE::get(reg32(at_.MC_VM_FB_LOCATION_BASE))} << 24;
    const uint64_t fb_top =
        (uint64_t{field::MC_VM_FB_LOCATION_TOP::FB_TOP::get(reg32(at_.MC_VM_FB_LOCATION_TOP))} << 24) | 0xffffff;
    if (page >= fb_base && page <= fb_top) return PageInfo{page - fb_base, false, false, kAllRights};
    const uint64_t agp_bot = uint64_t{field::MC_VM_AGP_BOT::AGP_BOT::get(reg32(at_.MC_VM_AGP_BOT))} << 24;
    const uint64_t agp_top = (uint64_t{field::MC_VM_AGP_TOP::AGP_TOP::get(reg32(at_.MC_VM_AGP_TOP))} << 24) | 0xffffff;
    if (reg32(at_.MC_VM_AGP_TOP) != 0 && agp_bot <= agp_top && page >= agp_bot && page <= agp_top) {
        const uint64_t agp_base = uint64_t{field::MC_VM_AGP_BASE::AGP_BASE::get(reg32(at_.MC_VM_AGP_BASE))} << 24;
        return PageInfo{page - agp_bot + agp_base, true, false, kAllRights};
    }
    return walk(0, mc_address);
}

Result<uint64_t> Hub::read_entry(uint64_t table, bool system, uint64_t index) {
    const uint64_t address = table + index * 8;
    uint64_t entry = 0;
    if (system) {
        if (bus_.read(address, &entry, 8) != Fault::None) return Fault::PageWalk;
        return entry;
    }
    if (address > bus_.vram_bytes() - 8) return Fault::PageWalk;
    std::memcpy(&entry, bus_.vram(address, 8), 8);
    return entry;
}

Result<Hub::PageInfo> Hub::leaf(uint64_t entry, uint64_t va, unsigned page_shift) {
    if ((entry & PteBits::kNoRetry) == PteBits::kNoRetry) return Fault::PageNotPresent;
    const uint64_t offset = va & ((uint64_t{1} << page_shift) - 1) & ~(kPageBytes - 1);
    PageInfo info;
    // Added, not merged: the driver makes large leaves of contiguous pages that are aligned in virtual addresses only.
    info.address = ((entry & PteBits::kPageAddress) + offset) & PteBits::kPageAddress;
    info.system = entry & PteBits::kSystem;
    info.cached = (entry >> PteBits::kMtypeShift & 3) != PteBits::kUncached;
    info.rights = static_cast<uint8_t>((entry & PteBits::kRead ? kNoRead : 0) | (entry & PteBits::kWrite ? kNoWrite : 0) |
                                       (entry & PteBits::kExecute ? kNoExecute : 0));
    if (entry & PteBits::kValid) return info;
    if (entry & PteBits::kPrt) {
        info.prt = true;
        info.rights = kAllRights;
        return info;
    }
    return Fault::PageRetry;
}

/// With Strict::tlb an entry that points to a table is remembered: a driver that lets it point elsewhere has to invalidate.
/// @param level  of the directory, 1 is just above the tables
Result<uint64_t> Hub::read_directory(uint32_t vmid, unsigned level, uint64_t va, uint64_t table, bool system, uint64_t index) {
    if (!env_.strict.tlb) return read_entry(table, system, index);
    const uint64_t key = uint64_t{vmid} << 52 | uint64_t{level} << 56 | va >> 12;
    if (const auto found = directories_.find(key); found != directories_.end()) return found->second;
    Result<uint64_t> entry = read_entry(table, system, index);
    const bool points_on = entry && (*entry & PteBits::kValid) && !(*entry & PteBits::kPdeIsPte);
    if (points_on && directories_.size() < kMaxKept) directories_.emplace(key, *entry);
    return entry;
}

// DEPTH directories over one table of 9 + BLOCK_SIZE address bits; a directory entry may itself be a leaf ("P" bit). The entry
// that points to the table says how many pages each of its entries stands for, and in a translate-further table an entry may
// point on.
Result<Hub::Leaf> Hub::walk_to_leaf(uint32_t vmid, uint64_t va) {
    const uint32_t cntl = reg32(at_.VM_CONTEXT_CNTL + vmid);
    if (!context::ENABLE_CONTEXT::get(cntl)) return Fault::PageNotPresent;
    const uint64_t start = reg64(at_.VM_CONTEXT_PAGE_TABLE_START_ADDR + vmid * 2),
                   end = reg64(at_.VM_CONTEXT_PAGE_TABLE_END_ADDR + vmid * 2);
    const uint64_t pfn = va >> 12;
    if (pfn < start || pfn > end) return Fault::PageNotPresent;
    const unsigned depth = context::PAGE_TABLE_DEPTH::get(cntl);
    const unsigned block_bits = 9 + context::PAGE_TABLE_BLOCK_SIZE::get(cntl);
    const uint64_t base = reg64(at_.VM_CONTEXT_PAGE_TABLE_BASE_ADDR + vmid * 2);
    uint64_t table = base & PteBits::kTableAddress;
    bool system = base & PteBits::kSystem;
    if (depth == 0) {
        Result<uint64_t> entry = read_entry(table, system, pfn - start);
        if (!entry) return entry.fault();
        return Leaf{*entry, table, pfn - start, system, 12};
    }
    unsigned fragment = 0;
    // Address bits below each directory level: the last table covers block_bits pages.
    for (unsigned level = depth; level > 0; --level) {
        const unsigned shift = 12 + block_bits + 9 * (level - 1);
        const uint64_t index = level == depth ? (va - (start << 12)) >> shift : (va >> shift) & 0x1ff;
        Result<uint64_t> entry = read_directory(vmid, level, va >> shift << shift, table, system, index);
        if (!entry) return entry.fault();
        if (*entry & PteBits::kPdeIsPte) return Leaf{*entry, table, index, system, shift};
        if (!(*entry & PteBits::kValid)) return Leaf{*entry & PteBits::kPrt, table, index, system, 12};
        table = *entry & PteBits::kTableAddress;
        system = *entry & PteBits::kSystem;
        fragment = std::min(static_cast<unsigned>(*entry >> PteBits::kBlockFragmentShift), block_bits);
    }
    const uint64_t index = ((va >> 12) & ((uint64_t{1} << block_bits) - 1)) >> fragment;
    Result<uint64_t> entry = read_entry(table, system, index);
    if (!entry) return entry.fault();
    if (*entry & PteBits::kTranslateFurther) {
        const uint64_t next = *entry & PteBits::kTableAddress, last_index = (va >> 12) & 0x1ff;
        const bool next_system = *entry & PteBits::kSystem;
        Result<uint64_t> last = read_entry(next, next_system, last_index);
        if (!last) return last.fault();
        return Leaf{*last, next, last_index, next_system, 12};
    }
    return Leaf{*entry, table, index, system, 12 + fragment};
}

Result<Hub::PageInfo> Hub::walk(uint32_t vmid, uint64_t va) {
    const Result<Leaf> at = walk_to_leaf(vmid, va);
    if (!at) return at.fault();
    return leaf(at->entry, va, at->shift);
}

/// The page with what continues it: the rest of its leaf, and leaves beside it in its table that differ in the address only.
/// Tables are read as they are now; a driver that changes what a valid entry says has to invalidate anyway.
HostRange Hub::around(uint32_t vmid, uint64_t va, const TlbEntry& page) {
    const uint64_t first = va & ~(kPageBytes - 1), address = page.info.address;
    const HostRange alone{first, kPageBytes, page.host};
    const uint64_t walked = first & 0xffffffffffff;
    const Result<Leaf> at = walk_to_leaf(vmid, walked);
    if (!at) return alone;
    const Result<PageInfo> now = leaf(at->entry, walked, at->shift);
    if (!now || now->address != address || now->system != page.info.system || now->rights != page.info.rights) return alone;

    const uint64_t pfn = walked >> 12, start = reg64(at_.VM_CONTEXT_PAGE_TABLE_START_ADDR + vmid * 2),
                   end = reg64(at_.VM_CONTEXT_PAGE_TABLE_END_ADDR + vmid * 2);
    const uint64_t leaf_bytes = uint64_t{1} << at->shift, in_leaf = walked & (leaf_bytes - 1);
    if (((start << 12) & (leaf_bytes - 1)) != 0) return alone;  // entries of the root count from there, the leaf does not
    const uint64_t window = at->table + at->index / kRangeEntries * kRangeEntries * 8, bytes = kRangeEntries * 8;
    const uint8_t* entries = nullptr;
    if (leaf_bytes < kMaxRangeBytes && at->system) entries = bus_.host(window, bytes, false);
    if (leaf_bytes < kMaxRangeBytes && !at->system && window <= bus_.vram_bytes() - bytes) entries = bus_.vram(window, bytes);
    uint64_t low = at->index % kRangeEntries, high = low;  // entries of the range, high is the last one
    const auto continues = [&](uint64_t index) {
        uint64_t entry = 0;
        std::memcpy(&entry, entries + index * 8, 8);
        const uint64_t expected = at->entry + (index - at->index % kRangeEntries) * leaf_bytes;
        return ((entry ^ expected) & ~PteBits::kFragment) == 0;
    };
    while (entries && low > 0 && continues(low - 1)) --low;
    while (entries && high + 1 < kRangeEntries && continues(high + 1)) ++high;

    uint64_t back = in_leaf + (at->index % kRangeEntries - low) * leaf_bytes;
    uint64_t forth = leaf_bytes - in_leaf + (high - at->index % kRangeEntries) * leaf_bytes;
    back = std::min({back, first % kMaxRangeBytes, (pfn - start) << 12, address});
    forth = std::min({forth, kMaxRangeBytes - first % kMaxRangeBytes, (std::min(end - pfn, kMaxRangeBytes) + 1) << 12});
    if (!page.info.system) {
        forth = std::min(forth, (bus_.vram_bytes() - address) & ~(kPageBytes - 1));
    } else if (bus_.host(address - back, back + forth, page.info.rights & kNoWrite) != page.host - back) {
        return alone;
    }
    return {first - back, back + forth, page.host - back};
}

uint8_t* Hub::host_of(const PageInfo& info) {
    if (info.prt) return nullptr;
    if (info.system) return bus_.host(info.address, kPageBytes, info.rights & kNoWrite);
    if (info.address > bus_.vram_bytes() - kPageBytes) return nullptr;
    return bus_.vram(info.address, kPageBytes);
}

const Hub::TlbEntry* Hub::look_up(uint32_t vmid, uint64_t va, Fault& fault) {
    if (tlb_bus_generation_ != bus_.generation()) {
        tlb_bus_generation_ = bus_.generation();
        drop_translations();  // for their host addresses
    }
    const uint64_t tag = tag_of(vmid, va);
    TlbEntry& entry = tlb_[slot_of(vmid, va)];
    if (entry.tag == tag) {
        if (entry.turn != bus_.turn() && entry.host) {
            bus_.touch(entry.host);
            entry.turn = bus_.turn();
        }
        // Bits 63:48 are not part of the tag; a hit must still be canonical.
        const uint64_t upper = va >> 47;
        if (upper == 0 || upper == 0x1ffff || vmid == 0) return &entry;
        fault = Fault::AddressNotCanonical;
        return nullptr;
    }
    const auto kept = kept_.find(tag);
    Result<PageInfo> info = kept == kept_.end() ? translate(vmid, va) : kept->second;
    if (!info) {
        fault = info.fault();
        return nullptr;
    }
    if (env_.strict.tlb && kept == kept_.end()) {
        if (kept_.size() >= kMaxKept) kept_.clear();
        kept_.emplace(tag, *info);
    }
    entry = TlbEntry{tag, host_of(*info), bus_.turn(), *info};
    return &entry;
}

bool Hub::cached(uint32_t vmid, uint64_t va) {
    Fault fault = Fault::None;
    const TlbEntry* entry = look_up(vmid & 0xf, va, fault);
    return entry && entry->info.cached;
}

uint8_t* Hub::page(uint32_t vmid, uint64_t va, Access access) {
    Fault fault = Fault::None;
    const TlbEntry* entry = look_up(vmid & 0xf, va, fault);
    if (!entry || !entry->host || (needs(access) & ~entry->info.rights) != 0) return nullptr;
    return entry->host + (va & (kPageBytes - 1));
}

HostRange Hub::range(uint32_t vmid, uint64_t va, Access access) {
    vmid &= 0xf;
    Fault fault = Fault::None;
    const TlbEntry* page = look_up(vmid, va, fault);
    if (!page || !page->host || (needs(access) & ~page->info.rights) != 0) return {};
    const uint64_t first = va & ~(kPageBytes - 1);
    // In virtual time a guest may read how many walks there were, and a recording, whose memory is watched, has to have as
    // many.
    if (vmid != 0 && !bus_.watched() && !env_.strict.tlb && !env_.clock.on()) {
        KnownRange& known = ranges_[range_slot_of(vmid, va)];
        const bool hit = known.vmid == vmid && first - known.is.start < known.is.size;
        if (!hit) known = {around(vmid, va, *page), vmid, page->info.rights};
        if ((needs(access) & ~known.rights) == 0) return known.is;
    }
    return {first, kPageBytes, page->host};
}

bool Hub::retries(uint32_t vmid, const HubClient& client) const {
    const uint32_t cntl = reg32(at_.VM_CONTEXT_CNTL + vmid);
    return client.retries && context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT::get(cntl) && retry_wanted_(vmid);
}

/// The translation of an access that its page allows. @return nullptr, with the fault, which is raised
const Hub::TlbEntry* Hub::look_up(uint32_t vmid, uint64_t va, Access access, const HubClient& client, Fault& fault) {
    const TlbEntry* entry = look_up(vmid, va, fault);
    uint32_t denied = needs(access);
    if (entry) {
        denied &= ~uint32_t{entry->info.rights};
        if (denied == 0) return entry;
        fault = Fault::PagePermission;
    } else {
        denied |= kNotValid;
    }
    fault = raise_fault(vmid, va, access, fault, denied, client);
    return nullptr;
}

Fault Hub::check(uint32_t vmid, uint64_t va, Access access, const HubClient& client) {
    Fault fault = Fault::None;
    look_up(vmid & 0xf, va, access, client, fault);
    return fault;
}

Fault Hub::copy(uint32_t vmid, uint64_t va, uint8_t* data, size_t size, Access access, const HubClient& client) {
    const bool write = access == Access::Write;
    Fault fault = Fault::None;
    const TlbEntry* entry = look_up(vmid, va, access, client, fault);
    if (!entry) {
        if (!write) std::memset(data, 0, size);
        return fault;
    }
    const uint64_t offset = va & (kPageBytes - 1);
    if (entry->host) {
        if (write)
            std::memcpy(entry->host + offset, data, size);
        else
            std::memcpy(data, entry->host + offset, size);
        return Fault::None;
    }
    if (entry->info.prt) {
        if (!write) std::memset(data, 0, size);
        return Fault::None;
    }
    if (entry->info.system) {
        const uint64_t bus = entry->info.address + offset;
        return write ? bus_.write(bus, data, size) : bus_.read(bus, data, size);
    }
    if (!write) std::memset(data, 0xff, size);
    report(env_, Fault::VramAddress,
           fmt::format("{} of {} bytes at VRAM offset {:#x}", write ? "write" : "read", size, entry->info.address + offset));
    return Fault::VramAddress;
}

Fault Hub::read(uint32_t vmid, uint64_t va, void* data, size_t size) { return read(vmid, va, data, size, facts_.client); }

Fault Hub::write(uint32_t vmid, uint64_t va, const void* data, size_t size) {
    return write(vmid, va, data, size, facts_.client);
}

Fault Hub::read(uint32_t vmid, uint64_t va, void* data, size_t size, const HubClient& client) {
    auto* bytes = static_cast<uint8_t*>(data);
    while (size) {
        const size_t part = std::min<size_t>(size, kPageBytes - (va & (kPageBytes - 1)));
        if (const Fault fault = copy(vmid & 0xf, va, bytes, part, Access::Read, client); fault != Fault::None) {
            std::memset(bytes, 0, size);
            return fault;
        }
        va += part, bytes += part, size -= part;
    }
    return Fault::None;
}

Fault Hub::write(uint32_t vmid, uint64_t va, const void* data, size_t size, const HubClient& client) {
    auto* bytes = const_cast<uint8_t*>(static_cast<const uint8_t*>(data));
    while (size) {
        const size_t part = std::min<size_t>(size, kPageBytes - (va & (kPageBytes - 1)));
        if (const Fault fault = copy(vmid & 0xf, va, bytes, part, Access::Write, client); fault != Fault::None) return fault;
        va += part, bytes += part, size -= part;
    }
    return Fault::None;
}

// Hardware without retry reports a fault per access; a wave that touches one bad page 64 times would bury the interrupt ring,
// so repeats of the same page are merged for a millisecond, as long as nothing was cleared or invalidated.
/// @param denied  PERMISSION_FAULTS @return what the client is told
Fault Hub::raise_fault(uint32_t vmid, uint64_t va, Access access, Fault fault, uint32_t denied, const HubClient& client) {
    const bool retry = (fault == Fault::PageRetry || fault == Fault::PagePermission) && retries(vmid, client);
    if (fault == Fault::PageRetry && !retry) fault = Fault::PageNotPresent;
    const bool write = stores(access);
    const uint64_t now = env_.now_ns();
    if (retry) {
        if (retried_lately(vmid, va)) return Fault::PageRetry;
        env_.stats.add(Stat::retry_faults);
    } else {
        report(
            env_, fault,
            fmt::format("{} of {:#x} in VMID {} ({})", write ? "write" : "read", va, vmid, facts_.mmhub ? "MMHUB" : "GFXHUB"));
        // No page could have this address: who asks refuses it before translation.
        if (fault == Fault::AddressNotCanonical) return fault;
    }
    latch(vmid, va, access, fault, denied, client);
    if (!retry) {
        const uint64_t tag = tag_of(vmid, va);
        if (tag == last_fault_tag_ && now - last_fault_ns_ < kFaultRepeatNs) return fault;
        last_fault_tag_ = tag;
        last_fault_ns_ = now;
        env_.stats.add(Stat::vm_faults);
    }
    emit<event::vm_fault>(env_.tracer, now, facts_.mmhub, vmid, va, write);
    Interrupt interrupt;
    interrupt.client = facts_.ih_client;
    interrupt.source = 0;
    // A retry fault has ring id 0 in logs of chips. @source github.com/freebsd/drm-kmod issue 78
    interrupt.ring_id = retry ? uint8_t{0} : static_cast<uint8_t>(denied << kRingPermissions);
    interrupt.vmid = static_cast<uint8_t>(vmid);
    interrupt.mmhub = facts_.mmhub;
    interrupt.pasid = pasid_(vmid, facts_.mmhub);
    interrupt.data[0] = lo32(va >> 12);
    interrupt.data[1] = (hi32(va >> 12) & 0xf) | (write ? kWriteFault : 0) | (retry ? kRetryFault : 0);
    raise_(interrupt);
    return retry ? Fault::PageRetry : fault;
}

/// Hardware asks as long as the page is missing, for every access that waits; here once a millisecond for each page, which is
/// more often than KFD looks (2 ms between two faults of a range, svm_range_restore_pages()).
bool Hub::retried_lately(uint32_t vmid, uint64_t va) {
    const uint64_t now = env_.now_ns();
    if (retried_ns_.size() >= kMaxRetried) retried_ns_.clear();
    const auto [entry, first] = retried_ns_.try_emplace(tag_of(vmid, va), now);
    if (!first && now - entry->second < kFaultRepeatNs) return true;
    entry->second = now;
    return false;
}

/// The first fault since the driver cleared the status keeps it; it learns only that there were more.
void Hub::latch(uint32_t vmid, uint64_t va, Access access, Fault fault, uint32_t denied, const HubClient& client) {
    namespace status = field::VM_L2_PROTECTION_FAULT_STATUS;
    if (const uint32_t before = registers_.stored(at_.VM_L2_PROTECTION_FAULT_STATUS); before != 0) {
        registers_.store(at_.VM_L2_PROTECTION_FAULT_STATUS, status::MORE_FAULTS::set(before, 1u));
        return;
    }
    const uint32_t id = access == Access::Execute  ? client.fetch_id
                        : access == Access::Scalar ? client.scalar_id
                        : stores(access)           ? client.write_id
                                                   : client.read_id;
    // Which number a walk has that leaves memory is not public.
    const uint32_t value = status::WALKER_ERROR::of(fault == Fault::PageWalk) | status::PERMISSION_FAULTS::of(denied) |
                           status::CID::of(id) | status::RW::of(stores(access)) | status::ATOMIC::of(access == Access::Atomic) |
                           status::VMID::of(vmid);
    registers_.store(at_.VM_L2_PROTECTION_FAULT_STATUS, value);
    registers_.store(at_.VM_L2_PROTECTION_FAULT_ADDR_LO32, lo32(va >> 12));
    registers_.store(at_.VM_L2_PROTECTION_FAULT_ADDR_HI32,
                     field::VM_L2_PROTECTION_FAULT_ADDR_HI32::LOGICAL_PAGE_ADDR_HI4::of(hi32(va >> 12)));
}

}  // namespace lyra
