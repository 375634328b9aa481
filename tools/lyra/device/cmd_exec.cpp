// SPDX-License-Identifier: MIT
// lyra exec: one kernel on the device core in this process, through a real AQL queue and doorbell.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tools/inproc/aql_queue.h"
#include "tools/inproc/code_object.h"
#include "tools/inproc/kernarg.h"
#include "tools/lyra/cli/chip_option.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/device/exec_argument.h"
#include "tools/lyra/device/histogram.h"

namespace lyra::cli {

namespace {

using namespace lyra::inproc;

struct Options {
    std::string file, kernel, trace, record, commit_log, chip, fp_exceptions = "auto";
    std::vector<uint32_t> grid, block{1, 1, 1}, threads;
    std::vector<std::string> arguments;
    uint32_t lds_bytes = 0, compute_units = 8, host_threads = 1;
    uint64_t vram_bytes = uint64_t{1} << 30;
    double timeout_s = 60;
    std::vector<std::string> timing;
    bool stats = false, json = false, deterministic = false, histogram = false, poison = false, no_jit = false;
};

struct Buffer {
    const ExecArgument* argument;
    GpuBuffer memory;
};

LaunchShape launch_shape(const Options& options) {
    LaunchShape shape;
    if (options.grid.empty() == options.threads.empty()) {
        throw UserError("give the size either by --grid (work-groups) or by --threads (work-items)");
    }
    const std::vector<uint32_t>& size = options.grid.empty() ? options.threads : options.grid;
    shape.dimensions = static_cast<uint32_t>(std::max(size.size(), options.block.size()));
    for (unsigned axis = 0; axis < 3; ++axis) {
        shape.block[axis] = axis < options.block.size() ? options.block[axis] : 1;
        const uint64_t units = axis < size.size() ? size[axis] : 1;
        const uint64_t items = options.grid.empty() ? units : units * shape.block[axis];
        if (items == 0 || items > 0xffffffff || shape.block[axis] == 0 || shape.block[axis] > 1024) {
            throw UserError("sizes of grid and block are at least 1, of a block at most 1024, of a whole grid below 2^32");
        }
        shape.grid[axis] = static_cast<uint32_t>(items);
    }
    const uint64_t items = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    if (items > 1024) throw UserError(fmt::format("a block of {} work-items is too large, 1024 is the limit", items));
    return shape;
}

// Check what the user gave against what the metadata says, before anything is started.
void check_arguments(const KernelInfo& kernel, const std::vector<ExecArgument>& arguments) {
    std::vector<const KernelArgument*> wanted;
    for (const KernelArgument& each : kernel.arguments) {
        if (!each.hidden()) wanted.push_back(&each);
    }
    if (wanted.size() != arguments.size()) {
        std::string list;
        for (const KernelArgument* each : wanted) {
            list += fmt::format("\n  {} {} ({} bytes)", each->value_kind, each->name.empty() ? "-" : each->name, each->size);
        }
        throw UserError(fmt::format("kernel {} takes {} arguments, {} --arg given; they are:{}", kernel.name, wanted.size(),
                                    arguments.size(), list));
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
        const ExecArgument& given = arguments[i];
        const bool is_lds = wanted[i]->value_kind == "dynamic_shared_pointer";
        const bool is_value = wanted[i]->value_kind == "by_value";
        if (is_lds != (given.kind == ExecArgument::Kind::Lds)) {
            throw UserError(fmt::format("--arg {}: argument {} {}", given.text, i,
                                        is_lds ? "points to LDS: use lds:BYTES" : "does not point to LDS"));
        }
        if (given.kind == ExecArgument::Kind::Buffer && wanted[i]->size != 8) {
            throw UserError(
                fmt::format("--arg {}: argument {} is a value of {} bytes, not a pointer", given.text, i, wanted[i]->size));
        }
        if (given.kind == ExecArgument::Kind::Value && given.bytes.size() != wanted[i]->size) {
            throw UserError(fmt::format("--arg {}: argument {} is {} of {} bytes, not of {}", given.text, i,
                                        is_value ? "a value" : "a pointer", wanted[i]->size, given.bytes.size()));
        }
    }
}

std::vector<uint8_t> bytes_of(uint64_t value, size_t size) {
    std::vector<uint8_t> bytes(size);
    std::memcpy(bytes.data(), &value, std::min<size_t>(size, 8));
    return bytes;
}

/// One run, from the file to the result.
class Execution {
public:
    explicit Execution(const Options& options) : options_(options) {}

    int run() {
        prepare();
        const auto start = Clock::now();
        bring_up();
        const auto ready = Clock::now();
        outcome_ = dispatch();
        const auto end = Clock::now();
        setup_ms_ = milliseconds(ready - start);
        run_ms_ = milliseconds(end - ready);
        const int code = judge();
        if (code == kOk) write_files();
        if (options_.json)
            print_json(code);
        else if (code == kOk)
            print_text();
        if (options_.histogram && !options_.json) print_histogram(stderr, histogram_of(device_->handle()));
        if (options_.stats) print_stats();
        queue_.reset();  // which a recording has, so the hash is that of its end
        if (options_.deterministic || !options_.record.empty())
            talk(trace_summary(device_->stat("trace_hash"), device_->stat("trace_events"), device_->stat("virtual_ns"),
                               options_.deterministic));
        return code;
    }

private:
    using Clock = std::chrono::steady_clock;
    static double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

    // Everything that can be wrong with what the user gave.
    void prepare() {
        std::string error;
        shape_ = launch_shape(options_);
        if (!code_.parse(read_code_object(options_.file, options_.chip), options_.chip, error))
            throw UserError(fmt::format("{}: {}", options_.file, error));
        kernel_ = code_.find(options_.kernel, error);
        if (!kernel_) throw UserError(fmt::format("{}: {}", options_.file, error));
        for (const std::string& text : options_.arguments) arguments_.push_back(parse_exec_argument(text));
        check_arguments(*kernel_, arguments_);
        const uint64_t items = uint64_t{shape_.block[0]} * shape_.block[1] * shape_.block[2];
        if (kernel_->max_workgroup && items > kernel_->max_workgroup) {
            throw UserError(fmt::format("kernel {} was compiled for work-groups of {} work-items at most, {} asked for",
                                        kernel_->name, kernel_->max_workgroup, items));
        }
    }

    void bring_up() {
        std::string error;
        InProcessOptions options;
        options.chip = options_.chip;
        options.vram_bytes = options_.vram_bytes;
        options.compute_units = options_.compute_units;
        options.threads = options_.host_threads;
        options.fp_exceptions = options_.fp_exceptions;
        options.poison = options_.poison;
        options.jit = !options_.no_jit;
        options.trace_path = options_.trace;
        options.record_path = options_.record;
        options.commit_log_path = options_.commit_log == "-" ? "/dev/stdout" : options_.commit_log;
        options.histogram = options_.histogram;
        options.virtual_time = options_.deterministic;
        options.repeatable = !options_.record.empty();
        for (const std::string& word : options_.timing) options.timing += (options.timing.empty() ? "" : ",") + word;
        options.log = [](lyra_log_level level, const char* text) {
            if (level < LYRA_LOG_INFO || verbosity > 0) talk(text);
        };
        device_ = InProcessDevice::create(options, error);
        if (!device_) throw UserError(error);
        queue_ = std::make_unique<AqlQueue>(*device_);
        if (!queue_->ok()) throw EnvironmentError("no memory for the queue");
        if (!code_.load(*device_, error)) throw UserError(fmt::format("{}: {}", options_.file, error));
        // Kernels with a dynamic stack do not say how much they need.
        private_bytes_ = kernel_->private_bytes + (kernel_->dynamic_stack ? 16384 : 0);
        if (!queue_->set_scratch(private_bytes_)) throw UserError("no room for scratch: use a larger --vram");
    }

    // Put the arguments into memory; LDS pointers come after what the kernel itself uses.
    std::vector<ArgumentBytes> place_arguments() {
        std::vector<ArgumentBytes> values;
        uint32_t lds = kernel_->group_bytes;
        size_t next = 0;
        for (const KernelArgument& wanted : kernel_->arguments) {
            if (wanted.hidden()) continue;
            const ExecArgument& given = arguments_[next++];
            if (given.kind == ExecArgument::Kind::Value) {
                values.push_back(given.bytes);
            } else if (given.kind == ExecArgument::Kind::Lds) {
                const uint32_t align = std::max(wanted.pointee_align, 4u);
                lds = (lds + align - 1) / align * align;
                values.push_back(bytes_of(lds, wanted.size));
                lds += given.lds_bytes;
            } else {
                const GpuBuffer memory = device_->allocate(given.buffer_bytes);
                if (!memory) throw UserError(fmt::format("--arg {}: VRAM is full, use a larger --vram", given.text));
                if (given.fill) given.fill(memory.host);
                values.push_back(bytes_of(memory.va, wanted.size));
                buffers_.push_back({&given, memory});
            }
        }
        shape_.dynamic_group_bytes = lds - kernel_->group_bytes + options_.lds_bytes;
        constexpr uint32_t kLdsBytes = same_for_all_chips(&ChipFacts::lds_bytes);
        if (kernel_->group_bytes + shape_.dynamic_group_bytes > kLdsBytes)
            throw UserError(fmt::format("more than {} bytes of LDS are needed", kLdsBytes));
        return values;
    }

    RunOutcome dispatch() {
        std::string error;
        std::vector<std::string> unfilled;
        const std::vector<ArgumentBytes> values = place_arguments();
        const std::vector<uint8_t> kernarg = build_kernarg(*kernel_, shape_, values, queue_->record_va(), unfilled, error);
        if (kernarg.empty()) throw UserError(fmt::format("{}: {}", options_.file, error));
        if (verbosity > 0) {
            for (const std::string& name : unfilled)
                talk(fmt::format("{} is 0: printf and malloc of kernels do not work here", name));
        }
        const GpuBuffer segment = device_->allocate(kernarg.size(), Domain::System);
        if (!segment) throw EnvironmentError("no memory for the arguments");
        std::memcpy(segment.host, kernarg.data(), kernarg.size());

        AqlDispatch packet;
        packet.setup = static_cast<uint16_t>(shape_.dimensions);
        for (unsigned axis = 0; axis < 3; ++axis) {
            packet.workgroup[axis] = static_cast<uint16_t>(shape_.block[axis]);
            packet.grid[axis] = shape_.grid[axis];
        }
        packet.private_bytes = private_bytes_;
        packet.group_bytes = kernel_->group_bytes + shape_.dynamic_group_bytes;
        packet.kernel_object = code_.descriptor_va(*kernel_);
        packet.kernarg = segment.va;
        packet.completion_signal = queue_->make_signal(1);
        RunLimits limits;
        limits.seconds = options_.timeout_s;
        limits.stop = &interrupted;
        queue_->submit(&packet);
        return queue_->wait(packet.completion_signal, limits);
    }

    // What happened, in words, and the exit code.
    int judge() {
        VmFault fault;
        const bool page_fault = device_->vm_fault(fault);
        if (page_fault) {
            complain(fmt::format("memory access fault: {} of page {:#x}: {}", fault.write ? "write" : "read", fault.va,
                                 fault.permission ? "access not allowed" : "page not present"));
        }
        switch (outcome_) {
            case RunOutcome::Done: return page_fault ? kGuestFault : kOk;
            case RunOutcome::QueueError:
                complain(fmt::format("the dispatch was refused: {}", AqlQueue::error_text(queue_->error_code())));
                return kGuestFault;
            case RunOutcome::Stuck:
                complain("the kernel did not end, and nothing runs any more");
                for (const auto& [name, count] : device_->stats("fault-")) complain(fmt::format("  {}: {}", name, count));
                return kGuestFault;
            case RunOutcome::OutOfBudget:
            case RunOutcome::OutOfTime:
                complain(fmt::format("the kernel did not end within {} s (--timeout)", options_.timeout_s));
                return kTimedOut;
            case RunOutcome::Stopped: return kInterrupted;
        }
        return kOurBug;
    }

    void write_files() {
        for (const Buffer& buffer : buffers_) {
            const std::string& to = buffer.argument->destination;
            if (!to.empty() && to != "-") write_file(to, buffer.memory.host, buffer.memory.bytes);
        }
    }

    template <typename Visit>
    static void each_value(const Buffer& buffer, Visit visit) {
        const ElementType& type = *buffer.argument->type;
        for (uint64_t at = 0; at < buffer.memory.bytes; at += type.bytes) visit(type.format(buffer.memory.host + at));
    }

    void print_text() {
        for (const Buffer& buffer : buffers_) {
            if (buffer.argument->destination == "-")
                each_value(buffer, [](const std::string& text) { fmt::print("{}\n", text); });
        }
    }

    void print_json(int code) {
        nlohmann::json result{{"kernel", kernel_->name}, {"exit", code}, {"setup_ms", setup_ms_}, {"run_ms", run_ms_}};
        for (const auto& [name, count] : device_->stats()) result["counters"][name] = count;
        if (options_.histogram) result["histogram"] = histogram_json(histogram_of(device_->handle()));
        // The buffers are printed as they are read: as a tree they would take many times the room that they have in VRAM.
        std::string text = result.dump(2);
        text.resize(text.size() - 2);  // without "\n}"
        fmt::print("{}", text);
        if (code == kOk) print_json_buffers();
        fmt::print("\n}}\n");
    }
    void print_json_buffers() {
        const char* separator = ",\n  \"buffers\": [";
        bool any = false;
        for (const Buffer& buffer : buffers_) {
            if (buffer.argument->destination != "-") continue;
            fmt::print("{}\n    {{\n      \"arg\": {},\n      \"type\": \"{}\",\n      \"values\": [", separator,
                       nlohmann::json(buffer.argument->text).dump(), buffer.argument->type->name);
            const char* comma = "";
            each_value(buffer, [&](const std::string& value) {
                // Through text, so that a float is printed as short as it was meant; NaN and infinity stay text.
                const char* quote = nlohmann::json::accept(value) ? "" : "\"";
                fmt::print("{}{}{}{}", comma, quote, value, quote);
                comma = ", ";
            });
            fmt::print("]\n    }}");
            separator = ",";
            any = true;
        }
        if (any) fmt::print("\n  ]");
    }

    void print_stats() {
        fmt::print(stderr, "{:<24}{:.2f} ms\n{:<24}{:.2f} ms\n", "setup", setup_ms_, "run", run_ms_);
        for (const auto& [name, count] : device_->stats()) fmt::print(stderr, "{:<24}{}\n", name, count);
    }

    const Options& options_;
    LaunchShape shape_;
    CodeObject code_;
    const KernelInfo* kernel_ = nullptr;
    std::vector<ExecArgument> arguments_;
    std::unique_ptr<InProcessDevice> device_;
    std::unique_ptr<AqlQueue> queue_;
    std::vector<Buffer> buffers_;
    uint32_t private_bytes_ = 0;
    RunOutcome outcome_ = RunOutcome::Stuck;
    double setup_ms_ = 0, run_ms_ = 0;
};

}  // namespace

std::function<int()> set_up_exec(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("file", options->file, "code object, offload bundle, or HIP program with GPU code")
        ->required()
        ->type_name("FILE.co");
    app.add_option("--kernel", options->kernel, "kernel to run; not needed when the file has one")->type_name("NAME");
    add_chip_option(app, options->chip);
    app.add_option("--grid", options->grid, "number of work-groups")
        ->delimiter(',')
        ->expected(1, 3)
        ->allow_extra_args(false)
        ->type_name("X[,Y[,Z]]");
    app.add_option("--threads", options->threads, "number of work-items instead; the last work-groups may be partial")
        ->delimiter(',')
        ->expected(1, 3)
        ->allow_extra_args(false)
        ->type_name("X[,Y[,Z]]");
    app.add_option("--block", options->block, "work-items of a work-group")
        ->delimiter(',')
        ->expected(1, 3)
        ->allow_extra_args(false)
        ->type_name("X[,Y[,Z]]");
    app.add_option("--arg", options->arguments, "argument of the kernel, see below; once for each")
        ->allow_extra_args(false)
        ->type_name("SPEC");
    app.add_option("--lds", options->lds_bytes, "dynamic LDS in bytes (third launch parameter of HIP)")
        ->check(CLI::Range(0, 65536))
        ->type_name("BYTES");
    app.add_option("--vram", options->vram_bytes, "size of VRAM, a power of two, such as 1G")
        ->transform(CLI::AsSizeValue(false))
        ->type_name("SIZE");
    app.add_option("--cus", options->compute_units, "number of compute units")
        ->check(CLI::Validator(check_compute_units, ""))
        ->type_name("N");
    app.add_option("--host-threads", options->host_threads,
                   "threads that run the waves (default 1); 0: as many as there are processors")
        ->check(CLI::Range(0, 64))
        ->type_name("N");
    app.add_option("--fp-exceptions", options->fp_exceptions,
                   "floating-point exceptions in TRAPSTS: auto, of waves that can tell, or always")
        ->check(CLI::IsMember({"auto", "always"}))
        ->capture_default_str()
        ->type_name("WHEN");
    app.add_flag("--poison", options->poison, "uninitialized registers and LDS hold a pattern, not 0");
    app.add_flag("--no-jit", options->no_jit, "interpret the waves; without it generated code runs them where the host can");
    app.add_option("--timeout", options->timeout_s, "give up after S seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->type_name("S");
    app.add_option("--trace", options->trace, "write a Perfetto trace")->type_name("FILE.pftrace");
    CLI::Option* deterministic = app.add_flag(
        "--deterministic", options->deterministic,
        "virtual time: the same events at the same device times in every run; prints a hash of them on standard error");
    app.add_option("--record", options->record, "write a recording for lyra replay")->type_name("FILE");
    app.add_option("--timing", options->timing, "a timing parameter of virtual time (docs/design/timing.md)")
        ->needs(deterministic)
        ->allow_extra_args(false)
        ->type_name("NAME=VALUE");
    app.add_option("--log-commits", options->commit_log,
                   "write a line for every wave instruction, with all that it changed; - is standard output")
        ->type_name("FILE");
    app.add_flag("--histogram", options->histogram,
                 "count the executed wave instructions by operation and encoding; printed on standard error");
    app.add_flag("--stats", options->stats, "print times and counters on standard error");
    app.add_flag("--json", options->json, "print the result as JSON");
    app.footer(exec_argument_help());
    return [options] {
        catch_signals();
        return Execution(*options).run();
    };
}

}  // namespace lyra::cli
