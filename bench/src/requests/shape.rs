//! How requests grow: a part that is there always and a part for each of something, found in two stores of different size.

use uwf_testing::bucket::BucketTraffic;

/// USD for a million PUT or LIST, and for a million GET or HEAD, by the public list of Amazon S3 Standard in us-east-1. A deletion
/// costs nothing.
pub const PRICES: (f64, f64) = (5.0, 0.4);

/// A number for each kind of request.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestNumbers {
    /// GET and HEAD.
    pub reads: f64,
    /// PUT.
    pub writes: f64,
    /// LIST.
    pub lists: f64,
}

impl RequestNumbers {
    /// Of what was counted.
    pub fn from_traffic(asked: &BucketTraffic) -> RequestNumbers {
        let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        RequestNumbers { reads: number(asked.get + asked.head), writes: number(asked.put), lists: number(asked.list) }
    }

    /// At list prices.
    pub fn usd(&self) -> f64 {
        let (dear, cheap) = PRICES;
        ((self.writes + self.lists) * dear + self.reads * cheap) / 1e6
    }

    fn each(self, other: RequestNumbers, of: impl Fn(f64, f64) -> f64) -> RequestNumbers {
        RequestNumbers {
            reads: of(self.reads, other.reads),
            writes: of(self.writes, other.writes),
            lists: of(self.lists, other.lists),
        }
    }
}

/// A straight line.
#[derive(Debug, Clone, Copy)]
pub struct StraightLine {
    /// Whatever the size.
    pub always: RequestNumbers,
    /// For each one more.
    pub each: RequestNumbers,
}

impl StraightLine {
    /// Through two points.
    pub fn through((less, few): (f64, RequestNumbers), (more, many): (f64, RequestNumbers)) -> StraightLine {
        let each = many.each(few, |many, few| (many - few) / (more - less));
        StraightLine { always: few.each(each, |few, each| (few - each * less).max(0.0)), each }
    }

    /// Its value for so many.
    pub fn value_at(&self, size: f64) -> RequestNumbers {
        self.always.each(self.each, |always, each| always + each * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_as_it_began() {
        let few = RequestNumbers { reads: 12.0, writes: 9.0, lists: 1.0 };
        let many = RequestNumbers { reads: 102.0, writes: 9.0, lists: 1.0 };
        let at = StraightLine::through((10.0, few), (100.0, many)).value_at(1_000.0);
        assert_eq!((at.reads, at.writes, at.lists), (1_002.0, 9.0, 1.0));
        assert!((at.usd() - (10.0 * 5.0 + 1_002.0 * 0.4) / 1e6).abs() < 1e-12);
    }
}
