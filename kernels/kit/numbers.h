/* Small arithmetic without libm: roots, random numbers by index, random orders. */
#ifndef KIT_NUMBERS_H
#define KIT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* The square root, rounded down. */
static inline uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

/* Geometric mean of two positive numbers by the arithmetic-geometric step on the ratio (Newton's method for the root). */
static inline double geometric_mean(double a, double b)
{
    double root = (a + b) / 2;
    for (int i = 0; i < 64; i++)
        root = (root + a * b / root) / 2;
    return root;
}

/* The `degree`-th root of 2, by bisection of 1 .. 2. */
static inline double root_of_two(unsigned degree)
{
    double low = 1, high = 2;
    for (int i = 0; i < 64; i++) {
        double middle = (low + high) / 2, power = 1;
        for (unsigned k = 0; k < degree; k++)
            power *= middle;
        if (power < 2)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Sine of the fraction `part`, 0 to 1, of a right angle: its series, with an error below a millionth. */
static inline double sine_of_share(double part)
{
    double x = part * 1.5707963267948966, term = x, sum = x;
    for (int i = 1; i < 6; i++) {
        term *= -x * x / (2 * i * (2 * i + 1));
        sum += term;
    }
    return sum;
}

/* The `index`-th number of the stream `seed`: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) with random access, so that numbers
 * can be drawn again. */
static inline uint64_t random_at(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0xd1342543de82ef95u + index * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A random number mapped to 0 .. bound-1 (Lemire's multiplication; the bias is below bound / 2^64). */
static inline uint64_t random_below(uint64_t random, uint64_t bound)
{
    return (uint64_t)((unsigned __int128)random * bound >> 64);
}

/* Fills `order` with 0 .. count-1, in a random order that depends on `seed` (Fisher and Yates, in the form of Durstenfeld), or
 * ascending if `seed` is 0. */
static inline void random_order(size_t *order, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t left = count; seed != 0 && left > 1; left--) {
        size_t other = random_below(random_at(seed, left), left), moved = order[left - 1];
        order[left - 1] = order[other];
        order[other] = moved;
    }
}

#endif
