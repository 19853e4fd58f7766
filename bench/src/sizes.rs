//! How large everything is.

/// Sizes of one run of the benchmark.
#[derive(Debug, Clone, Copy)]
pub struct BenchSizes {
    /// Timed runs of each case.
    pub runs: usize,
    /// Steps of a short, a middling and a long thread.
    pub lengths: [usize; 3],
    /// Nodes of the store the long thread is in.
    pub nodes: usize,
    /// Active threads of the large index.
    pub active: usize,
    /// Threads that are stepped at the same time.
    pub steppers: usize,
    /// Steps each of them makes.
    pub steps_each: usize,
    /// Turns of an agent that is looked at while it works.
    pub turns: usize,
}

impl BenchSizes {
    /// The sizes the targets speak of.
    pub fn full(runs: usize) -> BenchSizes {
        let lengths = [10, 1_000, 10_000];
        BenchSizes { runs, lengths, nodes: 100_000, active: 10_000, steppers: 8, steps_each: 10, turns: 400 }
    }

    /// Just enough to see that everything runs; the figures mean nothing.
    pub fn quick() -> BenchSizes {
        BenchSizes { runs: 1, lengths: [3, 10, 30], nodes: 300, active: 250, steppers: 2, steps_each: 1, turns: 20 }
    }

    /// Steps of the long thread.
    pub fn long(&self) -> usize {
        self.lengths[2]
    }
}
