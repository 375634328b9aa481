// SPDX-License-Identifier: MIT
// State of the device as a stream of bytes. Each block has one visit(), which names its values; what is done with them is the
// visitor's: they are saved, loaded, compared with a stream, or printed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lyra {

class StateVisitor;

template <class T>
concept VisitedState = requires(T& state, StateVisitor& visitor) { state.visit(visitor); };

/// A loader trusts nothing that it reads. After the first value that cannot be, every further one is 0 and every container
/// empty, so that a visit ends soon; what has been loaded until then is of no use.
class StateVisitor {
public:
    virtual ~StateVisitor() = default;

    /// The visited values are replaced.
    virtual bool loads() const { return false; }
    /// What is wrong with what was read; empty while nothing is.
    const std::string& error() const { return error_; }
    bool ok() const { return error_.empty(); }
    /// The values that were loaded cannot be together.
    void refuse(std::string_view why);
    void require(bool right, std::string_view why) {
        if (!right) refuse(why);
    }

    /// A number, a bool, an array, or a struct that has visit().
    template <class T>
    void operator()(const char* name, T& value) {
        if constexpr (VisitedState<T>) {
            begin(name);
            value.visit(*this);
            end();
        } else if constexpr (std::is_same_v<T, bool>) {
            number(name, value, 1);
        } else {
            static_assert(std::is_integral_v<T>, "an enum needs its largest value, a container list() or fixed()");
            number(name, value, static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(~T{0})));
        }
    }
    /// The same with the largest value that it may have. Of an enum that is its last one.
    template <class T, std::convertible_to<T> Most>
        requires std::is_integral_v<T> || std::is_enum_v<T>
    void operator()(const char* name, T& value, Most most) {
        number(name, value, static_cast<uint64_t>(static_cast<T>(most)));
    }
    template <class T, size_t N>
    void operator()(const char* name, std::array<T, N>& values) {
        elements(name, values);
    }

    /// A vector or a deque of a length that the device's shape decides.
    template <class C>
    void fixed(const char* name, C& values) {
        require(length(name, values.size(), values.size()) == values.size() || !loads(), "a list has another length");
        elements(name, values);
    }
    /// One with any number of elements up to `most`.
    template <class C>
    void list(const char* name, C& values, size_t most) {
        const size_t size = length(name, values.size(), most);
        if (loads()) {
            values.clear();
            values.resize(size);
        }
        elements(name, values);
    }
    /// A map from a number, in the order of its keys.
    template <class M>
    void map(const char* name, M& values, size_t most);

    /// Memory without a type.
    void plain_memory(const char* name, void* data, size_t bytes) { plain(name, data, bytes); }
    /// Memory that is mostly 0, a multiple of kSparseBytes.
    virtual void sparse(const char* name, void* data, size_t bytes) = 0;
    static constexpr size_t kSparseBytes = 4096;

    /// Values between these belong to `name`.
    void begin(const char* name);
    void begin(const char* name, size_t index) {
        begin(name);
        path_.back().index = index;
    }
    void end();

protected:
    /// "dispatcher/queue[3]/", of the value that is visited now.
    std::string path(const char* name) const;
    /// Of all values of the block until now.
    uint64_t mark() const { return mark_; }
    void note(const char* name, uint64_t bytes);

    virtual void opened(const char*) {}  ///< a block
    virtual void closed() {}
    virtual void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) = 0;
    virtual void plain(const char* name, void* data, size_t bytes) = 0;
    /// @return what the container shall have
    virtual size_t length(const char* name, size_t size, size_t most) = 0;

private:
    struct Step {
        const char* name;
        size_t index;
    };
    static constexpr size_t kNoIndex = ~size_t{0};
    /// Values until the next one are of this element of a list.
    void element(size_t index) { path_.back().index = index; }
    template <class T>
    void number(const char* name, T& value, uint64_t most) {
        uint64_t bits;
        if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>)
            bits = static_cast<uint64_t>(value);
        else
            bits = static_cast<std::make_unsigned_t<T>>(value);
        word(name, bits, sizeof(T), most);
        if (loads()) value = static_cast<T>(bits);
    }
    template <class C>
    void elements(const char* name, C& values) {
        using T = typename C::value_type;
        static_assert(std::endian::native == std::endian::little, "the stream has the bytes of numbers as they lie in memory");
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::contiguous_iterator<typename C::iterator>) {
            plain(name, values.data(), values.size() * sizeof(T));
        } else {
            begin(name);
            size_t index = 0;
            for (auto&& value : values) {
                if (!ok()) break;
                element(index++);
                if constexpr (std::is_same_v<T, bool>) {
                    bool copy = value;
                    (*this)("", copy);
                    if (loads()) value = copy;
                } else {
                    (*this)("", value);
                }
            }
            end();
        }
    }

    std::string error_;
    std::vector<Step> path_;
    uint64_t mark_ = 0;
};

template <class M>
void StateVisitor::map(const char* name, M& values, size_t most) {
    using Key = typename M::key_type;
    std::vector<Key> keys;
    keys.reserve(values.size());
    for (const auto& entry : values) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    const size_t size = length(name, values.size(), most);
    if (loads()) {
        values.clear();
        keys.assign(size, Key{});
    }
    begin(name);
    for (size_t index = 0; index < size && ok(); ++index) {
        element(index);
        (*this)("key", keys[index]);
        if (loads() && index > 0) require(keys[index - 1] < keys[index], "keys that are not in order");
        (*this)("value", values[keys[index]]);
    }
    end();
}

/// The stream: blocks, which are what begins at the outermost level. Each has its name, its values without gaps or types, and a
/// mark at its end that is made of the names and sizes of the values, so that a device that has other ones refuses it.
class StateWriter : public StateVisitor {
public:
    std::vector<uint8_t> take() { return std::move(bytes_); }
    void sparse(const char* name, void* data, size_t bytes) override;

protected:
    void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) override;
    size_t length(const char* name, size_t size, size_t most) override;
    size_t written() const { return bytes_.size(); }

private:
    void opened(const char* name) override;
    void closed() override;
    void plain(const char* name, void* data, size_t bytes) override;
    void put(const void* data, size_t bytes);

    std::vector<uint8_t> bytes_;
};

/// What reads a stream that somebody else may have written.
class StateReader : public StateVisitor {
public:
    explicit StateReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
    /// After the last block: nothing may follow.
    void finish() { require(rest_.empty() || !ok(), "something follows its end"); }

protected:
    void opened(const char* name) override;
    void closed() override;
    size_t length(const char* name, size_t size, size_t most) override;
    uint64_t take_word(const char* name, unsigned bytes, uint64_t most);
    /// Zeros when it has ended.
    void take(void* data, size_t bytes);
    /// visit(offset, page): nullptr for one of zeros.
    template <class Visit>
    void take_pages(const char* name, size_t bytes, Visit visit);

private:
    std::span<const uint8_t> rest_;
};

class StateLoader final : public StateReader {
public:
    using StateReader::StateReader;
    bool loads() const override { return true; }
    void sparse(const char* name, void* data, size_t bytes) override;

private:
    void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) override;
    void plain(const char* name, void* data, size_t bytes) override;
};

/// Says where a device differs from a stream.
class StateComparer final : public StateReader {
public:
    using StateReader::StateReader;
    /// "cu[2]/wave[0]/pc: 0x1000, in the stream 0x1004": the first ones.
    const std::vector<std::string>& differences() const { return differences_; }
    void sparse(const char* name, void* data, size_t bytes) override;

private:
    void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) override;
    void plain(const char* name, void* data, size_t bytes) override;
    size_t length(const char* name, size_t size, size_t most) override;
    void differ(const char* name, const std::string& what);

    std::vector<std::string> differences_;
};

/// A line for each value that is not 0.
class StatePrinter final : public StateVisitor {
public:
    const std::string& text() const { return text_; }
    void sparse(const char* name, void* data, size_t bytes) override;

private:
    void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) override;
    void plain(const char* name, void* data, size_t bytes) override;
    size_t length(const char* name, size_t size, size_t most) override;

    std::string text_;
};

}  // namespace lyra
